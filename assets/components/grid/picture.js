// A large matrix as a picture, and on it the window whose numbers are shown beside or below it.

class Picture {
  // ask: tells the server where the window is to be.
  constructor(box, ask) {
    this.ask = ask;
    this.root = make("div", "picture");
    box.prepend(this.root);
    this.title = make("h4", "title", this.root);
    this.note = make("div", "note", this.root);
    this.frame = make("div", "frame", this.root);
    this.image = make("img", "", this.frame);
    this.image.alt = "";
    this.image.draggable = false;
    this.window = make("div", "window", this.frame);
    this.size = make("p", "size", this.root);
    this.shown = make("p", "shown", this.root);
    this.shown.setAttribute("aria-live", "polite");
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "application");
    this.listen();
  }

  draw(data) {
    const drawn = JSON.stringify(data);
    if (drawn === this.drawn) return;
    Object.assign(this, { data, drawn });
    this.title.textContent = data.title;
    this.note.textContent = data.note;
    this.title.hidden = !data.title;
    this.note.hidden = !data.note;
    this.size.textContent = data.says;
    this.frame.setAttribute("aria-label", data.label);
    if (this.image.src !== data.image) this.image.src = data.image;
    const [rows, columns] = data.size;
    this.frame.style.setProperty("--ratio", clamp(columns / rows, 0.5, 8));
    this.frame.style.setProperty("--rows", rows); // few rows need not be high
    // It stays where it was put until the server has heard of it.
    const heard = JSON.stringify(this.asked) === JSON.stringify(data.asked);
    if (heard && !this.dragging && !this.waiting) this.move(data.corner);
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
    this.shown.textContent = this.data.place.replace("{rows}", shownRows).replace("{columns}", shownColumns);
  }

  // Where the pointer is, in cells, as the middle of the window.
  under(event) {
    const box = this.frame.getBoundingClientRect();
    const shares = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    return shares.map((share, i) => share * this.data.size[i] - this.data.window[i] / 2);
  }

  settle() {
    this.asked = { corner: this.corner, seen: this.data.seen };
    this.waiting = null;
    this.ask();
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
