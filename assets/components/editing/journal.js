// What was typed and is not yet known to have arrived. One journal for the whole document, so that
// nothing is lost with a matrix that is redrawn or left, and everything is applied in the order in
// which it was done.
//
// Every entry has a running number. All entries that are not yet acknowledged are sent together,
// again and again until they are; the server applies each number once. An entry is
// { n, of, name, cells: [[index, value], …] }, where null restores a cell, or { n, travel }.

const RETRIES = [4000, 8000, 16000, 30000]; // ms; ever rarer, since a retry restarts a slow run
const MOST_SENT = 500; // entries at once; what is left follows with the next

class Journal {
  constructor() {
    this.client = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 10)}`;
    this.last = 0;
    this.entries = [];
    this.pending = new Map();
    this.listeners = new Set();
  }

  // A component that can send to the server, and is told which cells wait for what.
  join(listener) {
    this.listeners.add(listener);
    if (this.entries.length) this.plan(0);
  }

  leave(listener) {
    this.listeners.delete(listener);
  }

  add(entry) {
    this.entries.push({ ...entry, n: ++this.last });
    this.send(); // first: the server computes while the cells are drawn
    this.changed();
  }

  // `ack` holds, for each client of this session, the last number that was applied.
  acknowledge(ack = {}) {
    const arrived = ack[this.client] ?? 0;
    const left = this.entries.filter(({ n }) => n > arrived);
    if (left.length === this.entries.length) return;
    const more = this.entries.length > MOST_SENT;
    this.entries = left;
    if (!left.length) clearTimeout(this.timer);
    this.changed();
    if (more && left.length) this.send();
  }

  send(retry = 0) {
    const sender = [...this.listeners].at(-1);
    sender?.send("edits", { client: this.client, list: this.entries.slice(0, MOST_SENT) });
    this.plan(retry);
  }

  plan(retry) {
    clearTimeout(this.timer);
    const wait = RETRIES[Math.min(retry, RETRIES.length - 1)];
    this.timer = setTimeout(() => this.entries.length && this.send(retry + 1), wait);
  }

  changed() {
    const before = this.pending;
    this.pending = this.settle();
    const cells = [...new Map([...before, ...this.pending]).values()];
    for (const listener of this.listeners) listener.edited(cells);
  }

  // What the cells will be once everything has arrived: name of a cell → the cell and its value,
  // null where it is restored.
  settle() {
    const done = [], undone = [];
    for (const entry of this.entries) {
      if (entry.travel === "undo") { if (done.length) undone.push(done.pop()); }
      else if (entry.travel === "redo") { if (undone.length) done.push(undone.pop()); }
      else { done.push(entry); undone.length = 0; }
    }
    const cells = new Map();
    for (const { of, name, cells: list } of done) {
      for (const [index, value] of list) cells.set(cellKey(of, name, index), { of, name, index, value });
    }
    return cells;
  }

  // The value that waits for a cell: a number, null for its unedited one, undefined for none.
  waiting(of, name, index) {
    return this.pending.get(cellKey(of, name, index))?.value;
  }
}

function cellKey(of, name, index) {
  return `${of}|${name}|${index}`;
}

const journal = (window.rippleJournal ??= new Journal());
