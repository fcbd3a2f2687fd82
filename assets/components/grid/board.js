// A board of matrices: colour and number in each cell, walked with the keyboard, opened with a click.
//
// Streamlit calls the default export again after every rerun. A board lives on its element, so the
// cells, the focus and the scroll position stay, and only what differs is drawn anew. Whatever a
// person typed arrives in `data` and is only ever set as textContent or as an attribute's value.

const boards = new WeakMap();
// Of matrices in line: a cell at most, and the gap, in rem; rows without labels, in pixels.
const [WIDEST, GAP, BARE] = [6, 1.4, 10];
const [SMALLEST, LARGEST, DIGIT] = [0.89, 1.125, 0.65]; // numbers, in rem; a digit's width in em

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".board");
  if (!boards.has(root)) boards.set(root, new Board(root));
  const board = boards.get(root);
  board.draw(data, setTriggerValue);
  return () => board.leave();
}

class Board {
  constructor(root) {
    this.root = root;
    this.panels = [];
    this.holder = make("div", "panels", root);
    this.foot = make("div", "foot", root);
    this.readout = make("p", "readout", this.foot);
    this.legends = make("div", "legends", this.foot);
    this.keys = make("p", "", root); // says how to edit, to whoever cannot see the hint
    this.keys.hidden = true;
    this.keys.id = "keys";
    this.complaint = make("p", "complaint", root);
    this.complaint.id = "complaint";
    this.complaint.setAttribute("role", "alert");
    this.editor = null;
    // Of all boards of a page, the one where a number was opened last takes the focus back.
    this.remember = ({ detail }) => (this.last = this.panels.includes(detail) ? detail : null);
    this.back = () => this.last?.focus(...this.last.at);
    this.resized = new ResizeObserver(() => this.arrange());
    this.resized.observe(root);
    this.fits = new ResizeObserver(() => this.panels.forEach((panel) => panel.fade()));
    window.addEventListener("ripple:opened", this.remember);
    window.addEventListener("ripple:back", this.back);
  }

  leave() {
    journal.leave(this);
    this.resized.disconnect();
    this.fits.disconnect();
    window.removeEventListener("ripple:opened", this.remember);
    window.removeEventListener("ripple:back", this.back);
  }

  // Most reruns change nothing here, and touching the document costs a layout each time.
  draw(data, send) {
    this.setTrigger = send;
    this.unseen = null; // what was clicked since the last redraw
    const ink = new Ink(getComputedStyle(this.root), data.colours);
    if (ink.name !== this.ink?.name) this.ink = ink;
    const drawn = JSON.stringify([{ ...data, ack: null }, ink.name]);
    const same = drawn === this.drawn;
    Object.assign(this, { data, drawn });
    journal.acknowledge(data.ack);
    if (!same) this.drawAnew(data);
    this.editor?.follow();
    journal.join(this);
  }

  drawAnew(data) {
    this.keys.textContent = data.keys;
    while (this.panels.length > data.panels.length) this.panels.pop().box.remove();
    while (this.panels.length < data.panels.length) this.panels.push(new Panel(this));
    data.panels.forEach((panel, i) => this.panels[i].draw(panel));
    this.legends.replaceChildren(...data.legends.map((legend) => legendOf(legend, data.colours)));
    this.say("");
    const widths = JSON.stringify(this.panels.map((panel) => [likeness(panel.panel), panel.widths()]));
    if (widths !== this.arranged) this.arrange();
    this.arranged = widths;
  }

  // Of what is sent before a run begins Streamlit keeps the last: what was typed goes along again,
  // and so does a label that was clicked just before a cell, or the other way round.
  send(event, value) {
    if (event !== "edits") {
      const before = this.unseen;
      this.unseen = { event, value };
      if (before && before.event !== event) this.setTrigger(before.event, before.value);
    }
    this.setTrigger(event, value);
    if (event !== "edits" && journal.entries.length) journal.send();
  }

  // The journal changed: its cells show what was typed at once.
  edited(cells) {
    for (const panel of this.panels) panel.redrawOf(cells);
  }

  // Matrices with the same rows stand in line, as many in a row as fit, the same number in each.
  // Where there is little room only the first of a row has its labels.
  arrange() {
    const { panels, holder } = this;
    const [first, ...others] = this.data.panels;
    const alike = others.length > 0 && likeness(first) && others.every((panel) => likeness(panel) === likeness(first));
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const room = this.root.clientWidth;
    const label = alike && panels[0].labelWidth();
    const digits = Math.max(4, ...panels.map((panel) => alike ? panel.longest() : 0)) * DIGIT;
    const least = digits * SMALLEST + 0.2;
    const width = (per, labels, cell) => labels * label + (per - labels) * BARE
      + per * first.columns.length * (cell * rem + 3) + per * 10 + (per - 1) * GAP * rem;
    const counts = alike ? panels.map((_, i) => Math.ceil(panels.length / (i + 1))) : [];
    const per = counts.find((count) => count > 1 && width(count, 1, least) <= room) ?? 1;
    const bare = per > 1 && width(per, per, least) > room;
    const labels = bare ? 1 : per;
    holder.classList.toggle("aligned", per > 1);
    holder.classList.toggle("stacked", alike && per === 1);
    panels.forEach(({ box }, i) => box.classList.toggle("bare", bare && i % per > 0));
    holder.removeAttribute("style");
    if (per === 1) return;
    const most = Math.min(room, width(per, labels, WIDEST));
    const cell = (most - width(per, labels, 0)) / per / first.columns.length;
    const tracks = panels.slice(0, per).map((_, i) =>
      `${(bare && i ? BARE : label) + first.columns.length * (cell + 3) + 10}px`);
    holder.style.gridTemplateColumns = tracks.join(" ");
    holder.style.setProperty("--label", `${label}px`);
    holder.style.setProperty("--number", `${clamp((cell - 0.2 * rem) / digits, SMALLEST * rem, LARGEST * rem)}px`);
  }

  // What the pointer or the focus is on, with all its digits.
  say(text) {
    this.readout.textContent = text || this.data.hint;
    this.readout.classList.toggle("hint", !text);
  }

  // What is wrong, beneath the cell that it is about, until something is done about it.
  complain(element, text) {
    this.complaint.textContent = text;
    const cell = element.getBoundingClientRect();
    const root = this.root.getBoundingClientRect();
    const left = clamp(cell.left - root.left, 0, Math.max(0, root.width - this.complaint.offsetWidth));
    Object.assign(this.complaint.style, { left: `${left}px`, top: `${cell.bottom - root.top + 8}px` });
  }

  hush() {
    this.complaint.textContent = "";
  }

  // The cell under the pointer is marked in every matrix, for they often have the same rows.
  twin(row, column, on) {
    for (const element of this.root.querySelectorAll(".twin")) element.classList.remove("twin");
    if (!on || this.panels.length < 2) return;
    for (const panel of this.panels) panel.cell(row, column)?.element.classList.add("twin");
  }
}

// What two matrices share that can stand in line, row by row.
function likeness({ mode, rows, columns }) {
  return mode === "numbers" && JSON.stringify([columns.length, rows.map((row) => row.spoken)]);
}
