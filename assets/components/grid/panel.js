// One matrix of a board: its table, its cells, and the walk through them.

const PAGE = 5; // rows that PageUp and PageDown go

class Panel {
  constructor(board) {
    this.board = board;
    this.box = make("section", "panel", board.holder);
    this.title = make("h4", "title", this.box);
    this.note = make("div", "note", this.box);
    this.scroll = make("div", "scroll", this.box);
    this.at = [0, 0];
    this.listen();
  }

  draw(panel) {
    const shape = [panel.mode, panel.rows.length, panel.columns.length, Boolean(panel.before)];
    this.panel = panel;
    this.changed = new Set(panel.changed);
    this.title.textContent = panel.title;
    this.note.textContent = panel.note;
    this.title.hidden = !panel.title;
    this.note.hidden = !panel.note;
    if (String(shape) !== this.shape) this.build(String(shape));
    this.table.setAttribute("aria-label", panel.label);
    this.words.column.textContent = panel.words.column && `${panel.words.column} →`;
    this.words.row.textContent = panel.words.row && `${panel.words.row} ↓`;
    this.heads.forEach((head, i) => this.drawHead(head, panel.columns[i], "column"));
    this.lines.forEach((line, i) => this.drawHead(line.head, panel.rows[i], "row", line.row));
    this.lines.forEach((line, r) => line.cells.forEach((cell, c) => this.drawCell(cell, r, c)));
    this.keepFocusable();
  }

  build(shape) {
    const { mode, rows, columns } = this.panel;
    const focused = this.shape && this.scroll.contains(this.active());
    this.shape = shape;
    this.box.className = `panel ${mode}${columns.length > 1 ? "" : " narrow"}`;
    this.box.style.setProperty("--columns", columns.length);
    this.table = make("table");
    this.table.setAttribute("role", "grid");
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
      return { row, head, cells: columns.map((_, c) => this.makeCell(row, r, c)) };
    });
    this.at = [Math.min(this.at[0], rows.length - 1), Math.min(this.at[1], columns.length - 1)];
    this.scroll.replaceChildren(this.table);
    if (focused) this.focus(...this.at);
  }

  makeHead(row, scope, r, c) {
    const element = make("th", scope, row);
    element.scope = scope;
    Object.assign(element.dataset, { r, c });
    element.setAttribute("aria-colindex", c + 2);
    return { element, text: make("span", "text", element), index: make("small", "", element) };
  }

  makeCell(row, r, c) {
    const element = make("td", "", row);
    element.setAttribute("role", "gridcell");
    element.setAttribute("aria-colindex", c + 2);
    Object.assign(element.dataset, { r, c });
    const written = this.panel.mode === "numbers";
    const number = written ? make("span", "number", element) : null;
    const was = written && this.panel.before ? make("s", "was", element) : null;
    return { element, number, was, drawn: "" };
  }

  drawHead({ element, text, index }, label, side, row) {
    const here = side === "row" && this.panel.follow === Number(element.dataset.r);
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

  drawCell(cell, r, c) {
    const { panel, board } = this;
    const at = r * panel.columns.length + c;
    const value = panel.values[at];
    const masked = value === null || Boolean(panel.masked?.[at]);
    const changed = this.changed.has(at);
    const was = panel.before ? panel.before[at] : value;
    const opened = panel.open?.[0] === r && panel.open?.[1] === c;
    const part = panel.parts.includes(at);
    const drawn = [value, was, changed, masked, opened, part, panel.kind, panel.limit, panel.degree, panel.digits,
      panel.columns[c].spoken, panel.rows[r].spoken, panel.label, board.ink.name].join("|");
    if (drawn === cell.drawn) return;
    cell.drawn = drawn;
    const { element } = cell;
    element.className = [masked && "masked", changed && "changed", opened && "opened", part && "part"]
      .filter(Boolean).join(" ");
    const [background, ink] = masked ? ["", ""] : board.ink.cell(panel, value);
    element.style.background = background;
    element.style.color = ink;
    if (cell.number) cell.number.textContent = masked && value === 0 ? "0" : short(value, panel.digits);
    if (cell.was) cell.was.textContent = changed ? short(was, panel.digits) : "";
    const { words } = board.data;
    const notes = [masked && words.masked, changed && panel.before && `${words.was} ${exact(was)}`, opened && words.opened];
    const place = [panel.rows[r].spoken, panel.columns[c].spoken].filter(Boolean).join(", ");
    cell.label = [`${place}: ${exact(value)}`, ...notes.filter(Boolean)].join(", ");
    element.setAttribute("aria-label", cell.label);
    element.setAttribute("aria-selected", String(opened));
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
    if (this.tabbed !== wanted) this.tabbed?.removeAttribute("tabindex");
    this.tabbed = wanted;
    wanted.tabIndex = 0;
  }

  focus(r, c) {
    this.at = [r, c];
    this.keepFocusable();
    this.tabbed.focus();
    this.tabbed.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  listen() {
    const placeOf = (event) => {
      const element = event.target.closest?.("[data-r]");
      return element && [Number(element.dataset.r), Number(element.dataset.c)];
    };
    const on = (name, act) => this.scroll.addEventListener(name, (event) => {
      const place = placeOf(event);
      if (place) act(event, ...place);
    });
    on("click", (_, r, c) => {
      this.focus(r, c);
      this.choose(r, c);
    });

    on("keydown", (event, r, c) => this.press(event, r, c));
    on("focusin", (_, r, c) => this.board.say(this.cell(r, c)?.label));
    on("pointerover", (_, r, c) => this.hover(r, c, true));
    on("pointerout", (_, r, c) => this.hover(r, c, false));
  }

  hover(r, c, on) {
    if (r < 0 || c < 0) return;
    this.board.twin(r, c, on);
    this.board.say(on ? this.cell(r, c)?.label : "");
  }

  press(event, r, c) {
    if (event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const again = this.elementAt(r, c).classList.contains("opened");
      if (again) window.dispatchEvent(new Event("ripple:read"));
      else this.choose(r, c);
      return;
    }
    const lastRow = this.lines.length - 1;
    const lastColumn = this.heads.length - 1;
    const rowPicks = this.panel.picks.row ? -1 : 0;
    const columnPicks = this.panel.picks.column ? -1 : 0;
    const goes = {
      ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
      Home: [event.ctrlKey ? 0 : r, 0], End: [event.ctrlKey ? lastRow : r, lastColumn],
      PageUp: [r - PAGE, c], PageDown: [r + PAGE, c],
    }[event.key];
    if (!goes) return;
    event.preventDefault();
    const least = event.key === "PageUp" || c < 0 ? 0 : columnPicks;
    const row = clamp(goes[0], least, lastRow);
    this.focus(row, clamp(goes[1], row < 0 ? 0 : rowPicks, lastColumn));
  }

  choose(r, c) {
    const { panel, board } = this;
    if (r < 0 || c < 0) {
      const [side, label] = r < 0 ? ["column", panel.columns[c]] : ["row", panel.rows[r]];
      if (panel.picks[side]) board.send("pick", { what: panel.picks[side], index: label.at });
      return;
    }
    const index = [...panel.index];
    if (panel.axes[0] >= 0) index[panel.axes[0]] = panel.rows[r].at;
    if (panel.axes[1] >= 0) index[panel.axes[1]] = panel.columns[c].at;
    // Shown at once; what was computed follows with the next run.
    this.lines.forEach((line) => line.cells.forEach((cell) => cell.element.classList.remove("opened")));
    this.cell(r, c).element.classList.add("opened");
    this.cell(r, c).drawn = "";
    window.rippleOpened = Date.now();
    window.dispatchEvent(new CustomEvent("ripple:opened", { detail: this }));
    board.send("open", `${panel.name}~${index.join("-")}`);
  }
}
