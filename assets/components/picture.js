// A large matrix as a picture, and a window on it whose numbers are shown below.

const pictures = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".picture");
  if (!pictures.has(root)) pictures.set(root, new Picture(root));
  pictures.get(root).draw(data, setStateValue);
}

class Picture {
  constructor(root) {
    this.title = make("h4", "title", root);
    this.note = make("div", "note", root);
    this.frame = make("div", "frame", root);
    this.image = make("img", "", this.frame);
    this.image.alt = "";
    this.image.draggable = false;
    this.window = make("div", "window", this.frame);
    this.says = make("p", "says", root);
    this.place = make("p", "place", root);
    this.place.setAttribute("aria-live", "polite");
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "application");
    this.asked = { corner: [0, 0] };
    this.listen();
  }

  draw(data, set) {
    this.set = set;
    const fresh = this.data && String(this.data.size) !== String(data.size);
    this.data = data;
    this.title.textContent = data.title;
    this.note.textContent = data.note;
    this.title.hidden = !data.title;
    this.note.hidden = !data.note;
    this.says.textContent = data.says;
    this.frame.setAttribute("aria-label", data.label);
    if (this.image.src !== data.picture) this.image.src = data.picture;
    const [rows, columns] = data.size;
    this.frame.style.setProperty("--ratio", clamp(columns / rows, 0.5, 8));
    this.frame.style.setProperty("--rows", rows); // few rows need not be high
    if (fresh) this.asked = { corner: [0, 0] };
    this.move(this.wanted());
  }

  // Where the window was put; where something else is to be seen since then, moved to show it.
  // A row is to be seen where it is largest, which begins at column `start`.
  // core/view/matrix.py finds the same.
  wanted() {
    const { data: { seen, start, window }, asked } = this;
    if (String(seen) === String(asked.seen)) return asked.corner;
    const [row, column] = asked.corner.map((place, i) =>
      seen[i] === null ? place : clamp(place, seen[i] - window[i] + 1, seen[i]));
    return [row, start ?? column];
  }

  move(corner) {
    const { size, window } = this.data;
    this.corner = corner.map((place, i) => clamp(Math.round(place), 0, size[i] - window[i]));
    const [top, left] = this.corner.map((place, i) => `${(100 * place) / size[i]}%`);
    const [height, width] = window.map((count, i) => `${(100 * count) / size[i]}%`);
    Object.assign(this.window.style, { top, left, height, width });
    const [shownRows, shownColumns] = this.corner.map((place, i) => {
      const start = place + this.data.first[i]; // a picture may show a part, as rows 896 to 1023
      return `${start}–${start + window[i] - 1}`;
    });
    this.place.textContent = this.data.place.replace("{rows}", shownRows).replace("{columns}", shownColumns);
  }

  // Where the pointer is, in cells, as the middle of the window.
  under(event) {
    const box = this.frame.getBoundingClientRect();
    const shares = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    return shares.map((share, i) => share * this.data.size[i] - this.data.window[i] / 2);
  }

  settle() {
    this.asked = { corner: this.corner, seen: this.data.seen };
    this.set("corner", this.asked);
  }

  listen() {
    this.frame.addEventListener("pointerdown", (event) => {
      this.frame.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.move(this.under(event));
    });
    this.frame.addEventListener("pointermove", (event) => this.dragging && this.move(this.under(event)));
    const end = () => {
      if (this.dragging) this.settle();
      this.dragging = false;
    };
    this.frame.addEventListener("pointerup", end);
    this.frame.addEventListener("pointercancel", end);
    this.frame.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const [rows, columns] = this.data.window;
    const far = event.shiftKey ? 1 : 0;
    const steps = {
      ArrowUp: [far ? -rows : -1, 0], ArrowDown: [far ? rows : 1, 0],
      ArrowLeft: [0, far ? -columns : -1], ArrowRight: [0, far ? columns : 1],
      PageUp: [-rows, 0], PageDown: [rows, 0], Home: [0, -Infinity], End: [0, Infinity],
    }[event.key];
    if (!steps) return;
    event.preventDefault();
    this.move(this.corner.map((place, i) => clamp(place + steps[i], 0, this.data.size[i])));
    // Once the key is let go or pauses; every single step would be a run of the page.
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.settle(), 150);
  }
}
