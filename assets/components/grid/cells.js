// One cell of a matrix: which element it shows, what it shows, and how it says so.

const MOST = 6; // digits after the point, to tell old and new apart

// The element's index in its step or weight.
function addressOf({ index, axes, rows, columns }, r, c) {
  const address = [...index];
  if (axes[0] >= 0) address[axes[0]] = rows[r].at;
  if (axes[1] >= 0) address[axes[1]] = columns[c].at;
  return address;
}

// What the cell holds: as computed, or as typed and not yet computed with.
function contentOf(view, r, c) {
  const { panel, changed } = view;
  const at = r * panel.columns.length + c;
  const value = panel.values[at];
  const before = panel.before ? panel.before[at] : value;
  const typed = panel.editable
    ? journal.waiting(view.board.data.of, panel.name, addressOf(panel, r, c)) : undefined;
  if (typed === undefined) return { at, value, before, changed: changed.has(at), pending: false };
  const next = typed ?? before;
  return { at, value: next, before, changed: next !== before, pending: true };
}

// A number and what it was: where they look alike, with as few digits more as tell them apart. What
// it was keeps two digits also where all numbers are whole now.
function apart(value, before, digits) {
  const least = Number.isInteger(before) ? digits : Math.max(digits, 2);
  const written = (n) => [short(value, n), short(before, Math.max(n, least))];
  for (let n = digits; n <= Math.max(MOST, digits); n++) {
    const [now, then] = written(n);
    if (now !== then) return [now, then];
  }
  return written(digits);
}

// A page has thousands of cells: copying one is cheaper than building each.
function blankCell(written) {
  const element = make("td");
  element.setAttribute("role", "gridcell");
  element.tabIndex = -1;
  if (written) make("span", "number", element);
  if (written) make("span", "was", element);
  return element;
}

const BLANK = { written: blankCell(true), coloured: blankCell(false) };

function makeCell(row, r, c, written) {
  const element = (written ? BLANK.written : BLANK.coloured).cloneNode(true);
  element.setAttribute("aria-colindex", c + 2);
  Object.assign(element.dataset, { r, c });
  row.append(element);
  const [number, was] = written ? element.children : [null, null];
  return { element, number, was, drawn: "" };
}

function drawCell(view, cell, r, c) {
  const { panel, board } = view;
  const { at, value, before, changed, pending } = contentOf(view, r, c);
  const masked = (value === null || Boolean(panel.masked?.[at])) && !pending;
  const struck = Boolean(panel.struck?.includes(at)) && !pending;
  const opened = panel.open?.[0] === r && panel.open?.[1] === c;
  const marks = {
    masked, struck, changed, pending, opened, part: panel.parts.includes(at),
    selected: view.selects(r, c), editing: board.editor?.isAt(view, r, c),
  };
  const classes = Object.keys(marks).filter((name) => marks[name]).join(" ");
  const drawn = [value, before, classes, panel.kind, panel.limit, panel.degree, panel.digits, panel.editable,
    panel.columns[c].spoken, panel.rows[r].spoken, panel.label, board.ink.name].join("|");
  if (drawn === cell.drawn) return;
  cell.drawn = drawn;
  const { element } = cell;
  element.className = classes;
  const [background, ink] = masked || struck ? ["", ""] : board.ink.cell(panel, value);
  element.style.backgroundColor = background;
  element.style.color = ink;
  const { words } = board.data;
  const old = changed && (panel.before || pending);
  const isNew = before === words.new; // nothing is struck through that never was
  if (cell.number) {
    const [now, then] = old ? apart(value, before, panel.digits) : [short(value, panel.digits)];
    cell.number.textContent = struck ? "✕ 0" : masked && value === 0 ? "0" : now;
    cell.was.replaceChildren(...(old ? [isNew ? before : make("s", "", null, then)] : []));
  }
  const notes = [masked && words.masked, struck && words.struck, old && (isNew ? before : `${words.was} ${exact(before)}`), pending && words.pending,
    opened && words.opened];
  const place = [panel.rows[r].spoken, panel.columns[c].spoken].filter(Boolean).join(", ");
  cell.label = [`${place}: ${exact(value)}`, ...notes.filter(Boolean)].join(", ");
  element.setAttribute("aria-label", cell.label);
  element.setAttribute("aria-selected", String(opened || marks.selected));
  element.setAttribute("aria-readonly", String(!panel.editable));
}
