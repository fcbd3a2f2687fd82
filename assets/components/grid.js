// A board of matrices: colour and number in each cell, walked with the keyboard, opened with a click.
//
// Streamlit calls the default export again after every rerun. A board lives on its element, so the
// cells, the focus and the scroll position stay, and only what differs is drawn anew. Whatever a
// person typed arrives in `data` and is only ever set as textContent or as an attribute's value.

const boards = new WeakMap();
const PAGE = 5;
// Of matrices in line: a cell at most, and the gap, in rem; rows without labels, in pixels.
const [WIDEST, GAP, BARE] = [6, 1.4, 10];
const [SMALLEST, LARGEST, DIGIT] = [0.89, 1.125, 0.65]; // numbers, in rem; a digit's width in em
const LEVELS = 250; // shades of a colour; more than an eye can tell apart

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
    // Of all boards of a page, the one where a number was opened last takes the focus back.
    this.remember = ({ detail }) => (this.last = this.panels.includes(detail) ? detail : null);
    this.back = () => this.last?.focus(...this.last.at);
    this.resized = new ResizeObserver(() => this.arrange());
    this.resized.observe(root);
    window.addEventListener("ripple:opened", this.remember);
    window.addEventListener("ripple:back", this.back);
  }

  leave() {
    this.resized.disconnect();
    window.removeEventListener("ripple:opened", this.remember);
    window.removeEventListener("ripple:back", this.back);
  }

  draw(data, send) {
    this.data = data;
    this.send = send;
    const ink = new Ink(getComputedStyle(this.root), data.colours);
    if (ink.name !== this.ink?.name) this.ink = ink;
    while (this.panels.length > data.panels.length) this.panels.pop().box.remove();
    while (this.panels.length < data.panels.length) this.panels.push(new Panel(this));
    data.panels.forEach((panel, i) => this.panels[i].draw(panel));
    this.legends.replaceChildren(...data.legends.map((legend) => legendOf(legend, data.colours)));
    this.say("");
    this.arrange();
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

  // The cell under the pointer is marked in every matrix, for they often have the same rows.
  twin(row, column, on) {
    for (const element of this.root.querySelectorAll(".twin")) element.classList.remove("twin");
    if (!on || this.panels.length < 2) return;
    for (const panel of this.panels) panel.cell(row, column)?.element.classList.add("twin");
  }
}

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
    const was = panel.before ? panel.before[at] : value;
    const changed = was !== value;
    const opened = panel.open?.[0] === r && panel.open?.[1] === c;
    const part = panel.parts.includes(at);
    const drawn = [value, was, masked, opened, part, panel.limit, panel.digits, panel.columns[c].spoken,
      panel.rows[r].spoken, panel.label, board.ink.name].join("|");
    if (drawn === cell.drawn) return;
    cell.drawn = drawn;
    const { element } = cell;
    element.className = [masked && "masked", changed && "changed", opened && "opened", part && "part"]
      .filter(Boolean).join(" ");
    const [background, ink] = masked ? ["", ""] : board.ink.cell(panel.kind, value, panel.limit);
    element.style.background = background;
    element.style.color = ink;
    if (cell.number) cell.number.textContent = masked && value === 0 ? "0" : short(value, panel.digits);
    if (cell.was) cell.was.textContent = changed ? short(was, panel.digits) : "";
    const { words } = board.data;
    const notes = [masked && words.masked, changed && `${words.was} ${exact(was)}`, opened && words.opened];
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

// What two matrices share that can stand in line, row by row.
function likeness({ mode, rows, columns }) {
  return mode === "numbers" && JSON.stringify([columns.length, rows.map((row) => row.spoken)]);
}

// The colour of a cell on this page's background, and the ink that can be read on it.
class Ink {
  constructor(style, colours) {
    this.colours = colours;
    this.page = rgbOf(style.getPropertyValue("--st-background-color").trim() || "#ffffff");
    this.text = rgbOf(style.getPropertyValue("--st-text-color").trim() || "#1c2430");
    this.name = `${this.page} ${this.text}`;
    this.known = new Map();
  }

  cell(kind, value, limit) {
    if (kind === "plain" || typeof value !== "number") return ["", ""];
    const level = Math.round(LEVELS * clamp(Math.abs(value) / limit, 0, 1));
    const colour = kind === "share" ? this.colours.share : value < 0 ? this.colours.negative : this.colours.positive;
    const key = colour + level;
    if (!this.known.has(key)) this.known.set(key, this.mixed(rgbOf(colour), level / LEVELS));
    return this.known.get(key);
  }

  mixed(colour, strength) {
    const over = colour.map((part, i) => part * strength + this.page[i] * (1 - strength));
    const background = `rgb(${colour.join(" ")} / ${strength.toFixed(3)})`;
    if (contrast(over, this.text) >= 4.5) return [background, ""];
    return [background, contrast(over, [0, 0, 0]) > contrast(over, [255, 255, 255]) ? "#000" : "#fff"];
  }
}
