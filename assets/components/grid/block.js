// Several cells at once: what is selected, copied out, pasted in, and restored.

// The selected rectangle: first and last row, first and last column. Always one cell at least.
function selection({ at, anchor }) {
  const [one, other] = [at, anchor ?? at].map(([r, c]) => [Math.max(0, r), Math.max(0, c)]);
  const [r, c] = [0, 1].map((i) => [Math.min(one[i], other[i]), Math.max(one[i], other[i])]);
  return { rows: r, columns: c };
}

function between([first, last]) {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function selectedCells(view) {
  const { rows, columns } = selection(view);
  return between(rows).flatMap((r) => between(columns).map((c) => [r, c]));
}

// Tab-separated, every number with all its digits, so that pasting it back changes nothing.
function copyBlock(view, clipboard) {
  const { rows, columns } = selection(view);
  const line = (r) => between(columns).map((c) => allDigits(contentOf(view, r, c).value)).join("\t");
  clipboard.setData("text/plain", between(rows).map(line).join("\n"));
}

// All of the block or nothing of it. Returns what is wrong, "" if nothing.
function pasteBlock(view, text) {
  const { panel, board } = view;
  const { words } = board.data;
  const { rows: [top], columns: [left] } = selection(view);
  const block = splitBlock(text);
  const widest = Math.max(...block.map((line) => line.length));
  const room = [panel.rows.length - top, panel.columns.length - left];
  if (block.length > room[0] || widest > room[1]) {
    return filled(words.unfit, { rows: block.length, columns: widest, down: room[0], right: room[1] });
  }
  const cells = [];
  for (const [i, line] of block.entries()) {
    for (const [j, written] of line.entries()) {
      const here = contentOf(view, top + i, left + j).value;
      if (written.trim() === allDigits(here)) continue;
      const { value, problem } = parseNumber(written, panel.largest);
      if (problem) {
        const what = { row: i + 1, column: j + 1, text: written.trim().slice(0, 20), problem: words.problems[problem] };
        return filled(words.bad_cell, what);
      }
      if (value !== here) cells.push([view.target(top + i, left + j), value]);
    }
  }
  if (cells.length) write(cells);
  view.focus(top, left);
  view.extend(top + block.length - 1, left + widest - 1);
  return "";
}

// Back to what they are without having been edited.
function restoreCells(view) {
  const changed = selectedCells(view).filter(([r, c]) => contentOf(view, r, c).changed);
  if (changed.length) write(changed.map(([r, c]) => [view.target(r, c), null]));
}

// A sentence with its {places} filled in.
function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
