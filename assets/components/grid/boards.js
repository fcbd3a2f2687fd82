// What one element draws: boards under each other, each beside or below the picture on which it is
// a window, where it shows a part of a large matrix.
//
// Streamlit calls the default export again after every rerun. What is drawn lives on its element, so
// the cells, the focus and the scroll position stay, and only what differs is drawn anew. Whatever a
// person typed arrives in `data` and is only ever set as textContent or as an attribute's value.

const elements = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".boards");
  if (!elements.has(root)) elements.set(root, new Boards(root));
  const boards = elements.get(root);
  boards.draw(data, setStateValue, setTriggerValue);
  return () => boards.leave();
}

class Boards {
  constructor(root) {
    this.root = root;
    this.places = [];
  }

  leave() {
    journal.leave(this);
    this.places.forEach((place) => place.leave());
  }

  draw({ boards, ack, ...shared }, setState, setTrigger) {
    Object.assign(this, { setState, setTrigger });
    this.unseen = null; // what was clicked since the last redraw
    journal.acknowledge(ack);
    while (this.places.length > boards.length) this.places.pop().remove();
    while (this.places.length < boards.length) this.places.push(new Place(this, this.places.length));
    boards.forEach((board, i) => this.places[i].draw({ ...shared, ...board }));
    journal.join(this);
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
    for (const { board } of this.places) board.edited(cells);
  }

  // A window was moved.
  ask() {
    this.setState("corners", this.places.map(({ picture }) => picture?.asked ?? null));
  }
}

// Where one board is drawn, with its picture if it has one.
class Place {
  constructor(boards, number) {
    this.boards = boards;
    this.box = make("div", "place", boards.root);
    this.board = new Board(make("div", "board", this.box), (...said) => boards.send(...said), number);
  }

  draw({ picture, ...board }) {
    if (!picture && this.picture) this.picture.root.remove();
    this.picture = picture && (this.picture ?? new Picture(this.box, () => this.boards.ask()));
    if (picture) this.picture.asked ??= picture.asked;
    this.box.classList.toggle("beside", Boolean(picture?.beside));
    inTurn(this.box, () => {
      this.picture?.draw(picture);
      this.board.draw(board);
      this.box.classList.add("drawn");
    });
  }

  leave() {
    leaveTurn(this.box);
    this.board.leave();
  }

  remove() {
    this.leave();
    this.box.remove();
  }
}
