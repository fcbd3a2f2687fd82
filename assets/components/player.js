// Plays: once what a run drew is here, asks for the next token after a pause. The button to stop
// stays in place meanwhile, and it stops at once, before the next run knows of it.

const players = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".player");
  if (!players.has(root)) players.set(root, new Player(root));
  const player = players.get(root);
  player.draw(data, setTriggerValue);
  return () => clearTimeout(player.timer);
}

class Player {
  constructor(root) {
    this.root = root;
    this.timer = 0;
    this.asked = this.stopped = "";
    this.button = make("button", "", root);
    this.button.type = "button";
    this.button.addEventListener("click", () => this.stop());
    this.fill = make("i", "", make("span", "progress", root));
    this.status = make("span", "", root);
    this.status.setAttribute("role", "status");
  }

  draw(data, send) {
    Object.assign(this, { data, send });
    const playing = data.playing && data.run !== this.stopped;
    this.root.hidden = !playing;
    this.button.textContent = data.stop;
    this.fill.style.width = `${100 * data.share}%`;
    this.status.textContent = data.says;
    clearTimeout(this.timer);
    // A turn is asked for once, however often the page is drawn meanwhile.
    if (playing && data.turn !== this.asked) this.timer = setTimeout(() => this.ask(), data.wait);
  }

  ask() {
    this.asked = this.data.turn;
    this.send("tick", this.data.turn);
  }

  stop() {
    clearTimeout(this.timer);
    this.stopped = this.data.run;
    this.root.hidden = true;
    this.send("pause", this.data.turn);
  }
}
