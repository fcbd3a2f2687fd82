// The field in a cell where a number is typed.

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Begin to edit a cell. `typed`: the character that began it; without one the old number is there
// to be changed, and `whole` says whether it is selected.
function edit(view, r, c, { typed, whole = false } = {}) {
  const { board } = view;
  if (board.editor) return board.editor.input.focus(); // what is wrong there comes first
  if (!view.panel.editable) return board.complain(view.cell(r, c).element, view.panel.readonly);
  board.editor = new Editor(view, r, c, typed);
  board.editor.open(whole);
}

class Editor {
  constructor(view, r, c, typed) {
    Object.assign(this, { view, r, c, board: view.board, walks: typed !== undefined });
    this.target = view.target(r, c);
    this.old = contentOf(view, r, c).value;
    this.initial = this.walks ? null : allDigits(this.old);
    this.input = make("input", "editor");
    const { label } = view.cell(r, c);
    // No `inputmode`: keypads of digits lack the minus, the slash or the e of some numbers.
    const attributes = {
      type: "text", size: 9, enterkeyhint: "done", autocomplete: "off", spellcheck: "false",
      "aria-label": label, "aria-describedby": view.board.complaint.id,
    };
    for (const [name, value] of Object.entries(attributes)) this.input.setAttribute(name, value);
    this.input.value = typed ?? this.initial;
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("input", () => this.board.hush());
    this.input.addEventListener("blur", () => document.hasFocus() && !this.moving && this.commit());
  }

  isAt(view, r, c) {
    return this.view === view && this.r === r && this.c === c;
  }

  open(whole) {
    window.rippleEditing = true; // the opened number does not scroll away from it
    this.attach();
    if (whole) this.input.select();
  }

  attach() {
    this.moving = true;
    this.view.cell(this.r, this.c).element.append(this.input);
    this.input.focus({ preventScroll: this.view.panel.mode === "colours" });
    this.moving = false;
    this.view.redrawAt(this.r, this.c);
  }

  // After a redraw: the field stays with its element. Where that is no longer shown, what was
  // typed still belongs to it.
  follow() {
    const there = this.view.board === this.board && this.view.box.isConnected && this.view.cell(this.r, this.c);
    if (there && sameTarget(this.view.target(this.r, this.c), this.target)) {
      if (!there.element.contains(this.input)) this.attach();
    } else if (!this.commit()) {
      this.close();
    }
  }

  press(event) {
    event.stopPropagation();
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const back = event.shiftKey ? -1 : 1;
    const step = { Enter: [back, 0], ...(this.walks && !event.shiftKey && MOVES) }[event.key];
    if (event.key === "Escape") this.leave(0, 0);
    else if (event.key === "Tab") { if (this.commit() && !this.tab(back)) return; }
    else if (!step) return;
    else if (this.commit()) this.leave(...step);
    event.preventDefault();
  }

  // To the next cell, or to the beginning of the next row; false at the end of the matrix.
  tab(step) {
    const columns = this.view.panel.columns.length;
    const next = this.r * columns + this.c + step;
    const [r, c] = [Math.floor(next / columns), ((next % columns) + columns) % columns];
    if (this.view.cell(r, c)) this.view.focus(r, c);
    return Boolean(this.view.cell(r, c));
  }

  leave(down, right) {
    this.close();
    const { rows, columns } = this.view.panel;
    this.view.focus(clamp(this.r + down, 0, rows.length - 1), clamp(this.c + right, 0, columns.length - 1));
  }

  // Whether the text was taken. If not it stays, and the cell says what is wrong with it.
  commit() {
    if (this.board.editor !== this) return true;
    const text = this.input.value;
    if (text !== this.initial) {
      const { value, problem } = parseNumber(text, this.view.panel.largest);
      if (problem) return this.refuse(problem);
      if (value !== this.old) write([[this.target, value]]);
    }
    this.close();
    return true;
  }

  refuse(problem) {
    this.input.setAttribute("aria-invalid", "true");
    this.board.complain(this.input, this.board.data.words.problems[problem]);
    return false;
  }

  close() {
    if (this.board.editor !== this) return;
    this.board.editor = null;
    window.rippleEditing = false;
    this.board.hush();
    this.moving = true;
    this.input.remove();
    this.view.redrawAt(this.r, this.c);
  }
}

// One entry of the journal: cells of one step or weight, and their new values or null.
function write(cells) {
  const [{ of, name }] = cells[0];
  journal.add({ of, name, cells: cells.map(([{ index }, value]) => [index, value]) });
}

function sameTarget(one, other) {
  return cellKey(one.of, one.name, one.index) === cellKey(other.of, other.name, other.index);
}
