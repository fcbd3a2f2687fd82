// The ripple as a map: a row for each token, a column for each step, in the order of computing.

const maps = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".ripple");
  if (!maps.has(root)) maps.set(root, new RippleMap(root));
  maps.get(root).draw(data, setTriggerValue);
}

class RippleMap {
  constructor(root) {
    this.scroll = make("div", "scroll", root);
    const foot = make("div", "foot", root);
    this.readout = make("p", "readout hint", foot);
    this.readout.setAttribute("aria-live", "polite");
    this.legend = make("div", "legend", foot);
    this.listen();
  }

  draw(data, send) {
    this.send = send;
    const written = JSON.stringify(data);
    if (written === this.written) return;
    const cells = JSON.stringify([data.kinds, data.strengths]);
    this.travels = cells !== this.cells;
    [this.written, this.cells, this.data] = [written, cells, data];
    this.at = [0, 0];
    this.scroll.replaceChildren(this.table());
    this.cellAt(...this.at).tabIndex = 0;
    this.read(null);
    this.drawLegend();
  }

  table() {
    const table = make("table", this.travels ? "travels" : "");
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", this.data.label);
    table.style.setProperty("--columns", this.data.columns.length);
    const head = make("thead", "", table);
    this.drawGroups(make("tr", "", head));
    this.drawSteps(make("tr", "", head));
    const body = make("tbody", "", table);
    this.cells = [];
    this.data.rows.forEach((row, i) => this.drawRow(make("tr", "", body), row, i));
    return table;
  }

  drawGroups(line) {
    const corner = make("th", "corner", line, this.data.corner);
    corner.rowSpan = 2;
    for (const group of this.data.groups) {
      const head = make("th", group.here ? "group here" : "group", line);
      head.colSpan = group.span;
      const narrow = group.span < 4 && group.block !== null;
      if (group.block === null) head.textContent = group.text;
      else {
        const button = make("button", "", head, narrow ? group.short : group.text);
        button.type = "button";
        button.dataset.block = group.block;
        button.setAttribute("aria-label", group.text);
        button.setAttribute("aria-pressed", String(group.here));
      }
    }
  }

  drawSteps(line) {
    const { columns, rows, kinds } = this.data;
    this.steps = columns.map(({ text, says }, j) => {
      const lit = rows.some((_, i) => kinds[i * columns.length + j] !== "same");
      const head = make("th", lit ? "step lit" : "step", line);
      head.scope = "col";
      head.title = says;
      make("span", "", head, text);
      return head;
    });
  }

  drawRow(line, row, i) {
    const { columns, kinds, strengths } = this.data;
    const head = make("th", "row", line);
    head.scope = "row";
    head.title = row.says;
    if (row.colour) head.style.setProperty("--token", row.colour);
    if (row.mark) make("b", "", head, row.mark);
    head.append(row.text);
    if (row.index) make("small", "", head, row.index);
    columns.forEach((_, j) => {
      const k = i * columns.length + j;
      const cell = make("td", kinds[k], line);
      cell.setAttribute("role", "gridcell");
      cell.style.setProperty("--strength", strengths[k]);
      cell.style.setProperty("--i", j);
      cell.tabIndex = -1;
      cell.dataset.k = k;
      cell.setAttribute("aria-label", this.words(k));
    });
  }

  drawLegend() {
    const scale = make("div", "scale");
    make("div", "bar", scale);
    const ends = make("div", "ends", scale);
    for (const end of ["0", "25 %", "≥ 100 %"]) make("span", "", ends, end);
    this.legend.replaceChildren(scale, make("span", "", null, this.data.legend));
  }

  words(k) {
    const { columns, rows, kinds, sizes, shares, words } = this.data;
    const row = rows[Math.floor(k / columns.length)];
    const values = { token: row.says, step: columns[k % columns.length].says, size: sizes[k], share: shares[k] };
    return words[kinds[k]].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  cellAt(i, j) {
    return this.scroll.querySelector(`[data-k="${i * this.data.columns.length + j}"]`);
  }

  // What a cell says is written beneath, and its row and column stand out.
  read(k) {
    const none = k === null;
    this.readout.textContent = none ? this.data.hint : this.words(k);
    this.readout.classList.toggle("hint", none);
    const n = this.data.columns.length;
    this.steps.forEach((head, j) => head.classList.toggle("at", !none && j === k % n));
    this.scroll.querySelectorAll("th.row").forEach((head, i) => head.classList.toggle("at", !none && i === Math.floor(k / n)));
  }

  indexOf(event) {
    const k = event.target.closest?.("td[data-k]")?.dataset.k;
    return k === undefined ? null : Number(k);
  }

  listen() {
    this.scroll.addEventListener("pointerover", (event) => this.read(this.indexOf(event)));
    this.scroll.addEventListener("pointerleave", () => this.read(null));
    this.scroll.addEventListener("focusin", (event) => this.indexOf(event) !== null && this.read(this.indexOf(event)));
    this.scroll.addEventListener("click", (event) => this.go(event));
    this.scroll.addEventListener("keydown", (event) => this.press(event));
  }

  go(event) {
    const block = event.target.closest?.("[data-block]")?.dataset.block;
    const k = this.indexOf(event);
    if (block !== undefined) this.send("go", { block: Number(block) });
    else if (k !== null) this.open(k);
  }

  open(k) {
    const n = this.data.columns.length;
    this.send("go", { row: Math.floor(k / n), column: k % n });
  }

  press(event) {
    const k = this.indexOf(event);
    if (k === null) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.open(k);
      return;
    }
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const n = this.data.columns.length;
    this.cellAt(...this.at).tabIndex = -1;
    const [i, j] = [Math.floor(k / n), k % n];
    this.at = [clamp(i + step[0], 0, this.data.rows.length - 1), clamp(j + step[1], 0, n - 1)];
    const cell = this.cellAt(...this.at);
    cell.tabIndex = 0;
    cell.focus();
  }
}
