// All heads of a step as small pictures beside each other; one of them is where we look.

const rows = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".heads");
  if (!rows.has(root)) rows.set(root, new Heads(root));
  rows.get(root).draw(data, setTriggerValue);
}

class Heads {
  constructor(root) {
    this.root = root;
    this.buttons = [];
    root.setAttribute("role", "radiogroup");
    root.addEventListener("click", (event) => this.choose(this.indexOf(event)));
    root.addEventListener("keydown", (event) => this.press(event));
  }

  draw(data, send) {
    this.send = send;
    this.root.setAttribute("aria-label", data.label);
    while (this.buttons.length > data.heads.length) this.buttons.pop().button.remove();
    while (this.buttons.length < data.heads.length) this.buttons.push(this.make());
    data.heads.forEach((head, i) => {
      const { button, picture, text } = this.buttons[i];
      if (picture.src !== head.picture) picture.src = head.picture;
      text.textContent = head.text;
      button.setAttribute("aria-label", [head.label, head.changed].filter(Boolean).join(", "));
      button.classList.toggle("changed", Boolean(head.changed));
      button.title = head.changed;
    });
    this.mark(data.current);
  }

  make() {
    const button = make("button", "head", this.root);
    button.type = "button";
    button.setAttribute("role", "radio");
    button.dataset.head = this.buttons.length;
    const picture = make("img", "", button);
    picture.alt = "";
    return { button, picture, text: make("span", "", button) };
  }

  mark(current) {
    this.current = current;
    this.buttons.forEach(({ button }, i) => {
      button.setAttribute("aria-checked", String(i === current));
      button.tabIndex = i === current ? 0 : -1;
    });
  }

  indexOf(event) {
    return Number(event.target.closest?.("[data-head]")?.dataset.head ?? -1);
  }

  press(event) {
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    const last = this.buttons.length - 1;
    const next = event.key === "Home" ? 0 : event.key === "End" ? last : this.current + (steps[event.key] ?? NaN);
    if (Number.isNaN(next)) return;
    event.preventDefault();
    const head = (next + last + 1) % (last + 1);
    this.choose(head);
    this.buttons[head].button.focus();
  }

  // Marked at once; what is shown of the head follows with the next run.
  choose(head) {
    if (head < 0 || head === this.current) return;
    this.mark(head);
    this.send("pick", { what: "head", index: head });
  }
}
