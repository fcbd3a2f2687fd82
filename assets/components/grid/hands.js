// What pointer, keyboard and clipboard do in a matrix.

const PAGE = 5; // rows that PageUp and PageDown go
const DOUBLE = 350; // ms between the taps of a double tap

// Events in the field of a cell are its own.
function listen(view) {
  const on = (name, act) => view.scroll.addEventListener(name, (event) => {
    const element = event.target.closest?.("[data-r]");
    if (!element || event.target.closest("input")) return;
    act(event, Number(element.dataset.r), Number(element.dataset.c));
  });
  on("mousedown", (event) => event.shiftKey && event.preventDefault());
  on("click", (event, r, c) => click(view, event, r, c));
  on("dblclick", (_, r, c) => r >= 0 && c >= 0 && edit(view, r, c, { whole: true }));
  on("keydown", (event, r, c) => press(view, event, r, c));
  on("focusin", (_, r, c) => view.arrive(r, c));
  on("pointerover", (_, r, c) => hover(view, r, c, true));
  on("pointerout", (_, r, c) => hover(view, r, c, false));
  on("copy", (event) => {
    copyBlock(view, event.clipboardData);
    event.preventDefault();
  });
  on("paste", (event, r, c) => {
    event.preventDefault();
    const { words } = view.board.data;
    const text = event.clipboardData.getData("text");
    const problem = view.panel.editable ? pasteBlock(view, text) : view.panel.readonly;
    if (problem) view.board.complain(view.elementAt(r, c), problem);
  });
}

function click(view, event, r, c) {
  if (event.shiftKey && r >= 0 && c >= 0) return view.extend(r, c);
  // A second tap soon after the first: on some screens that is no double click.
  const again = event.pointerType === "touch" && event.timeStamp - view.tapped?.time < DOUBLE
    && String(view.tapped.place) === String([r, c]);
  view.tapped = { time: event.timeStamp, place: [r, c] };
  if (again && r >= 0 && c >= 0) return edit(view, r, c, { whole: true });
  if (event.detail > 1) return;
  view.focus(r, c);
  choose(view, r, c);
}

function hover(view, r, c, on) {
  if (r < 0 || c < 0) return;
  view.board.twin(r, c, on);
  view.board.say(on ? view.cell(r, c)?.label : "");
}

function press(view, event, r, c) {
  view.board.hush();
  const act = action(view, event, r, c);
  if (act) {
    event.preventDefault();
    event.stopPropagation(); // Streamlit has shortcuts of single letters
    act();
  } else if (!event.altKey && !event.metaKey) {
    walk(view, event, r, c);
  }
}

// What a key does, but for those that walk.
function action(view, event, r, c) {
  const { key, shiftKey } = event;
  if (event.altKey) return null;
  if (event.ctrlKey || event.metaKey) {
    const last = [view.lines.length - 1, view.heads.length - 1];
    return {
      z: () => journal.add({ travel: shiftKey ? "redo" : "undo" }),
      y: () => journal.add({ travel: "redo" }),
      a: () => view.focus(...last, [0, 0]),
    }[key.toLowerCase()];
  }
  if (key === "Enter" || key === " ") return () => open(view, r, c);
  if (r < 0 || c < 0) return null;
  if (key === "F2") return () => edit(view, r, c);
  if (key === "Delete" || key === "Backspace") return () => view.panel.editable && restoreCells(view);
  const begins = key.length === 1 && !event.isComposing && (view.panel.editable || /\d/.test(key));
  return begins ? () => edit(view, r, c, { typed: key }) : null;
}

function open(view, r, c) {
  const again = view.elementAt(r, c).classList.contains("opened");
  if (again) window.dispatchEvent(new Event("ripple:read"));
  else choose(view, r, c);
}

function walk(view, event, r, c) {
  const lastRow = view.lines.length - 1;
  const lastColumn = view.heads.length - 1;
  const rowPicks = view.panel.picks.row ? -1 : 0;
  const columnPicks = view.panel.picks.column ? -1 : 0;
  const goes = {
    ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
    Home: [event.ctrlKey ? 0 : r, 0], End: [event.ctrlKey ? lastRow : r, lastColumn],
    PageUp: [r - PAGE, c], PageDown: [r + PAGE, c],
  }[event.key];
  if (!goes) return;
  event.preventDefault();
  if (event.shiftKey) return view.extend(clamp(goes[0], 0, lastRow), clamp(goes[1], 0, lastColumn));
  const least = event.key === "PageUp" || c < 0 ? 0 : columnPicks;
  const row = clamp(goes[0], least, lastRow);
  view.focus(row, clamp(goes[1], row < 0 ? 0 : rowPicks, lastColumn));
}

function choose(view, r, c) {
  const { panel, board } = view;
  if (r < 0 || c < 0) {
    const [side, label] = r < 0 ? ["column", panel.columns[c]] : ["row", panel.rows[r]];
    if (panel.picks[side]) board.send("pick", { what: panel.picks[side], index: label.at });
    return;
  }
  // Shown at once; what was computed follows with the next run.
  view.lines.forEach((line) => line.cells.forEach((cell) => cell.element.classList.remove("opened")));
  view.cell(r, c).element.classList.add("opened");
  view.cell(r, c).drawn = "";
  window.rippleOpened = Date.now();
  window.dispatchEvent(new CustomEvent("ripple:opened", { detail: view }));
  board.send("open", `${panel.name}~${addressOf(panel, r, c).join("-")}`);
}
