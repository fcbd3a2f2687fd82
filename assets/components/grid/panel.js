// One matrix of a board: its table, and what of it is focused and selected.

class Panel {
  constructor(board) {
    this.board = board;
    this.box = make("section", "panel", board.holder);
    this.title = make("h4", "title", this.box);
    this.note = make("div", "note", this.box);
    this.scroll = make("div", "scroll", this.box);
    board.fits.observe(this.scroll);
    this.at = [0, 0];
    listen(this);
  }

  draw(panel) {
    const shape = [panel.mode, panel.rows.length, panel.columns.length];
    this.panel = panel;
    this.changed = new Set(panel.changed);
    setText(this.title, panel.title);
    setText(this.note, panel.note);
    this.title.hidden = !panel.title;
    this.note.hidden = !panel.note;
    const anew = String(shape) !== this.shape;
    const focused = anew && this.shape && this.scroll.contains(this.active());
    if (anew) this.build(String(shape));
    this.table.setAttribute("aria-label", panel.label);
    setText(this.words.column, panel.words.column && `${panel.words.column} →`);
    setText(this.words.row, panel.words.row && `${panel.words.row} ↓`);
    this.heads.forEach((head, i) => this.drawHead(head, panel.columns[i], "column"));
    this.lines.forEach((line, i) => this.drawHead(line.head, panel.rows[i], "row", line.row));
    this.table.setAttribute("aria-readonly", String(!panel.editable));
    this.redraw();
    this.keepFocusable();
    if (anew) this.show(focused);
  }

  // A table costs less to fill before the browser knows of it.
  show(focused) {
    this.scroll.replaceChildren(this.table);
    this.board.fits.observe(this.table);
    if (focused) this.focus(...this.at);
  }

  redraw() {
    this.lines.forEach((line, r) => line.cells.forEach((cell, c) => drawCell(this, cell, r, c)));
  }

  redrawAt(r, c) {
    const cell = this.cell(r, c);
    if (cell) drawCell(this, cell, r, c);
  }

  // Of these elements of steps and weights the ones that it shows.
  redrawOf(elements) {
    const { panel, board } = this;
    const [rows, columns] = panel.axes;
    const place = (side, i) => i === undefined ? 0 : side.findIndex(({ at }) => at === i);
    for (const { of, name, index } of elements) {
      if (name !== panel.name || of !== board.data.of) continue;
      const [r, c] = [place(panel.rows, index[rows]), place(panel.columns, index[columns])];
      if (this.cell(r, c) && String(addressOf(panel, r, c)) === String(index)) this.redrawAt(r, c);
    }
  }

  build(shape) {
    const { mode, rows, columns } = this.panel;
    this.shape = shape;
    this.board.planned = null; // its place among the others goes with its classes
    this.box.className = `panel ${mode}${columns.length > 1 ? "" : " narrow"}`;
    this.box.style.setProperty("--columns", columns.length);
    this.table = make("table");
    this.table.setAttribute("role", "grid");
    this.table.setAttribute("aria-multiselectable", "true");
    this.table.setAttribute("aria-describedby", this.board.keys.id);
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.table.setAttribute("aria-colcount", columns.length + 1);
    const top = make("tr", "", make("thead", "", this.table));
    top.setAttribute("aria-rowindex", 1);
    const corner = make("td", "corner", top);
    this.words = { column: make("span", "", corner), row: make("span", "", corner) };
    this.heads = columns.map((_, c) => this.makeHead(top, "col", -1, c));
    const body = make("tbody", "", this.table);
    this.lines = rows.map((_, r) => {
      const row = make("tr", "", body);
      row.setAttribute("aria-rowindex", r + 2);
      const head = this.makeHead(row, "row", r, -1);
      return { row, head, cells: columns.map((_, c) => makeCell(row, r, c, mode === "numbers")) };
    });
    this.at = [Math.min(this.at[0], rows.length - 1), Math.min(this.at[1], columns.length - 1)];
  }

  makeHead(row, scope, r, c) {
    const element = make("th", scope, row);
    element.scope = scope;
    element.tabIndex = -1;
    Object.assign(element.dataset, { r, c });
    element.setAttribute("aria-colindex", c + 2);
    return { element, text: make("span", "text", element), index: make("small", "", element), drawn: "" };
  }

  drawHead(head, label, side, row) {
    const { element, text, index } = head;
    const here = side === "row" && this.panel.follow === Number(element.dataset.r);
    const drawn = JSON.stringify([label, here, this.panel.picks[side]]);
    if (drawn === head.drawn) return;
    head.drawn = drawn;
    text.textContent = label.text;
    index.textContent = label.index;
    element.style.setProperty("--token", label.colour || "transparent");
    element.classList.toggle("pick", Boolean(this.panel.picks[side]));
    element.classList.toggle("token", Boolean(label.index));
    element.classList.toggle("skip", Boolean(label.skip));
    element.setAttribute("aria-label", label.spoken);
    element.title = label.spoken;
    row?.classList.toggle("follow", here);
    row?.style.setProperty("--token", label.colour || "var(--st-text-color)");
  }

  // There is more to the right: it fades there.
  fade() {
    this.scroll.classList.toggle("wide", this.scroll.scrollWidth > this.scroll.clientWidth + 1);
  }

  // What its place among the others depends on.
  widths() {
    const { mode, rows, columns } = this.panel;
    return [rows.map(({ text, index }) => [text, index]), columns.length, mode === "numbers" && this.longest()];
  }

  // How much room the labels of the rows need.
  labelWidth() {
    const heads = this.lines.map(({ head }) => head.text.offsetWidth + head.index.offsetWidth);
    const words = Object.values(this.words).map((word) => word.offsetWidth);
    return Math.max(...heads, ...words) + 24;
  }

  // How many characters its longest number has.
  longest() {
    return Math.max(...this.lines.flatMap(({ cells }) => cells.map(({ number }) => number.textContent.length)));
  }

  cell(r, c) {
    return this.lines[r]?.cells[c];
  }

  elementAt(r, c) {
    if (r < 0) return this.heads[c]?.element;
    return c < 0 ? this.lines[r]?.head.element : this.cell(r, c)?.element;
  }

  active() {
    return this.box.getRootNode().activeElement;
  }

  // Exactly one element of a matrix can be reached with Tab: the one where the walk goes on.
  keepFocusable() {
    const wanted = this.elementAt(...this.at) ?? this.elementAt(0, 0);
    if (wanted === this.tabbed) return; // setting it again costs a layout
    if (this.tabbed) this.tabbed.tabIndex = -1;
    this.tabbed = wanted;
    wanted.tabIndex = 0;
  }

  focus(r, c, anchor = null) {
    const wide = this.anchor || anchor;
    Object.assign(this, { at: [r, c], anchor });
    if (wide) this.redraw();
    this.keepFocusable();
    this.tabbed.focus();
    this.tabbed.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // The focus came here by itself: with the pointer, or by a screen reader.
  arrive(r, c) {
    if (String(this.at) !== String([r, c])) this.focus(r, c);
    this.board.say(this.cell(r, c)?.label);
  }

  // Select everything from where the selection began.
  extend(r, c) {
    this.focus(r, c, this.anchor ?? this.at);
  }

  selects(r, c) {
    if (!this.anchor) return false;
    const { rows, columns } = selection(this);
    return r >= rows[0] && r <= rows[1] && c >= columns[0] && c <= columns[1];
  }

  // What an edit of a cell is an edit of.
  target(r, c) {
    return { of: this.board.data.of, name: this.panel.name, index: addressOf(this.panel, r, c) };
  }
}
