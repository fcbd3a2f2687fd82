// A board of matrices: colour and number in each cell, walked with the keyboard, opened with a click.

// Of matrices in line: a cell at most, and the gap, in rem; rows without labels, in pixels.
const [WIDEST, GAP, BARE] = [6, 1.4, 10];
const [SMALLEST, LARGEST, DIGIT] = [0.89, 1.125, 0.65]; // numbers, in rem; a digit's width in em

class Board {
  // send: says an event to the server; number: which of the element's boards it is.
  constructor(root, send, number) {
    Object.assign(this, { root, send });
    this.panels = [];
    this.holder = make("div", "panels", root);
    this.foot = make("div", "foot", root);
    this.readout = make("p", "readout", this.foot);
    this.legends = make("div", "legends", this.foot);
    this.keys = make("p", "", root); // says how to edit, to whoever cannot see the hint
    this.keys.hidden = true;
    this.keys.id = `keys${number}`;
    this.complaint = make("p", "complaint", root);
    this.complaint.id = `complaint${number}`;
    this.complaint.setAttribute("role", "alert");
    this.editor = null;
    // Of all boards of a page, the one where a number was opened last takes the focus back.
    this.remember = ({ detail }) => (this.last = this.panels.includes(detail) ? detail : null);
    this.back = () => this.last?.focus(...this.last.at);
    this.resized = new ResizeObserver(() => this.arrange());
    this.fits = new ResizeObserver(() => this.panels.forEach((panel) => panel.fade()));
    window.addEventListener("ripple:opened", this.remember);
    window.addEventListener("ripple:back", this.back);
  }

  leave() {
    this.resized.disconnect();
    this.fits.disconnect();
    window.removeEventListener("ripple:opened", this.remember);
    window.removeEventListener("ripple:back", this.back);
  }

  // Most reruns change nothing here, and touching the document costs a layout each time.
  draw(data) {
    this.ink = inkNow(data.colours);
    const drawn = JSON.stringify([data, this.ink.name]);
    const same = drawn === this.drawn;
    Object.assign(this, { data, drawn });
    if (!same) this.drawAnew(data);
    this.editor?.follow();
  }

  drawAnew(data) {
    setText(this.keys, data.keys);
    while (this.panels.length > data.panels.length) this.panels.pop().box.remove();
    while (this.panels.length < data.panels.length) this.panels.push(new Panel(this));
    data.panels.forEach((panel, i) => this.panels[i].draw(panel));
    const legends = JSON.stringify([data.legends, data.colours]);
    if (legends !== this.explained) this.legends.replaceChildren(...data.legends.map((legend) => legendOf(legend, data.colours)));
    this.explained = legends;
    this.say("");
    const widths = JSON.stringify(this.panels.map((panel) => [likeness(panel.panel), panel.widths()]));
    if (widths !== this.arranged) this.arrangeSoon();
    this.arranged = widths;
  }

  // Right after the browser's next layout, when asking for sizes does not cost one more.
  arrangeSoon() {
    this.resized.unobserve(this.root);
    this.resized.observe(this.root);
  }

  // The journal changed: its cells show what was typed at once.
  edited(cells) {
    for (const panel of this.panels) panel.redrawOf(cells);
  }

  // Often nothing is to be moved, and the browser takes even the same class for a change.
  arrange() {
    const plan = this.plan();
    const planned = JSON.stringify([plan, this.panels.length]);
    if (planned === this.planned) return;
    this.planned = planned;
    const { per, bare, style } = plan;
    this.holder.classList.toggle("stacked", per === 1);
    this.holder.classList.toggle("aligned", per > 1);
    this.panels.forEach(({ box }, i) => box.classList.toggle("bare", bare && i % per > 0));
    this.holder.removeAttribute("style");
    for (const [name, value] of Object.entries(style)) this.holder.style.setProperty(name, value);
  }

  // Matrices with the same rows stand in line, as many in a row as fit, the same number in each.
  // Where there is little room only the first of a row has its labels. per: how many, 0 where each
  // stands for itself.
  plan() {
    const { panels } = this;
    const [first, ...others] = this.data.panels;
    const alike = others.length > 0 && likeness(first) && others.every((panel) => likeness(panel) === likeness(first));
    if (!alike) return { per: 0, bare: false, style: {} };
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const room = this.root.clientWidth;
    const label = panels[0].labelWidth();
    const digits = Math.max(4, ...panels.map((panel) => panel.longest())) * DIGIT;
    const least = digits * SMALLEST + 0.2;
    const width = (per, labels, cell) => labels * label + (per - labels) * BARE
      + per * first.columns.length * (cell * rem + 3) + per * 10 + (per - 1) * GAP * rem;
    const counts = panels.map((_, i) => Math.ceil(panels.length / (i + 1)));
    const per = counts.find((count) => count > 1 && width(count, 1, least) <= room) ?? 1;
    if (per === 1) return { per, bare: false, style: {} };
    const bare = width(per, per, least) > room;
    const labels = bare ? 1 : per;
    const most = Math.min(room, width(per, labels, WIDEST));
    const cell = (most - width(per, labels, 0)) / per / first.columns.length;
    const tracks = panels.slice(0, per).map((_, i) =>
      `${(bare && i ? BARE : label) + first.columns.length * (cell + 3) + 10}px`);
    const number = clamp((cell - 0.2 * rem) / digits, SMALLEST * rem, LARGEST * rem);
    const style = { "grid-template-columns": tracks.join(" "), "--label": `${label}px`, "--number": `${number}px` };
    return { per, bare, style };
  }

  // What the pointer or the focus is on, with all its digits.
  say(text) {
    setText(this.readout, text || this.data.hint);
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
