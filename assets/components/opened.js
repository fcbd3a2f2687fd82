// The opened number: its arithmetic, each operand a button; the trail back; what it means.
//
// Texts arrive in `data` and are only ever set as textContent or as an attribute's value.

const panels = new WeakMap();
const JUST_NOW = 3000; // ms since a cell was clicked
const DOUBLE_CLICK = 450; // ms
const SETTLING = 2500; // ms in which a page that was just opened finds its size
const MARGIN = 60; // px at the top of the page that the path strip covers
const ACTIONS = ["wheel", "pointerdown", "keydown", "touchstart"];

// Whether the address with which this document was opened asks for this link; once.
function arrivedFor(link) {
  if (window.rippleArrived || window.location.hash) return false;
  window.rippleArrived = true;
  const [arrival] = performance.getEntriesByType("navigation");
  return new URL(arrival?.name ?? window.location.href).searchParams.get("open") === link;
}


export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".opened-box");
  if (!panels.has(root)) panels.set(root, new Opened(root));
  const panel = panels.get(root);
  panel.draw(data, setTriggerValue);
  return () => panel.leave();
}

class Opened {
  constructor(root) {
    this.root = root;
    this.status = make("p", "unseen", root);
    this.status.setAttribute("aria-live", "polite");
    this.body = make("div", "body", root);
    this.read = () => this.heading?.focus();
    window.addEventListener("ripple:read", this.read);
    root.addEventListener("click", (event) => this.click(event.target.closest?.("[data-to], [data-all]")));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") window.dispatchEvent(new Event("ripple:back"));
    });
    this.editor = new ChangeForm((asked) => this.send("change", { link: this.link, ...asked }));
  }

  leave() {
    window.removeEventListener("ripple:read", this.read);
  }

  click(button) {
    if (!button) return;
    this.moves = true;
    if ("all" in button.dataset) this.send("all", button.dataset.all === "true");
    else this.send("go", button.dataset.to);
  }

  draw(data, send) {
    this.send = send;
    const drawn = JSON.stringify(data);
    if (drawn === this.drawn) return;
    const other = data.link !== this.link;
    // What was open before this page is neither announced nor scrolled to.
    const asked = this.drawn !== undefined || Date.now() - (window.rippleOpened ?? 0) < JUST_NOW;
    Object.assign(this, { drawn, link: data.link, heading: null });
    this.editor.keep(() => this.body.replaceChildren(...this.content(data)), other);
    if (asked) this.announce(data, other);
    else if (arrivedFor(data.link) && this.heading) this.show();
    this.moves = false;
  }

  // The address that somebody came with opens it: the page is scrolled to it while everything above
  // still finds its size, until the visitor does something. Whoever was faster keeps the focus.
  show() {
    const until = Date.now() + SETTLING;
    const done = () => {
      clearInterval(timer);
      for (const name of ACTIONS) window.removeEventListener(name, done, true);
    };
    const step = () => {
      if (Date.now() > until || !this.heading?.isConnected) return done();
      const { top, bottom } = this.body.getBoundingClientRect();
      const fits = bottom - top < window.innerHeight - 2 * MARGIN; // a taller one shows its beginning
      const low = fits ? bottom > window.innerHeight : top > 2 * MARGIN;
      if (top < MARGIN || low) this.body.scrollIntoView({ block: fits ? "center" : "start" });
      if ([null, document.body].includes(document.activeElement)) this.heading.focus({ preventScroll: true });
    };
    const timer = setInterval(step, 200);
    for (const name of ACTIONS) window.addEventListener(name, done, true);
  }

  announce(data, other) {
    const said = data.notice ?? (data.name ? `${data.words.heading}: ${data.name}` : "");
    // A screen reader hears only what changes after it has seen the empty element.
    setTimeout(() => (this.status.textContent = said), 50);
    if (this.moves) this.heading?.focus({ preventScroll: true });
    if (other && data.name) this.reveal();
  }

  // Not before the second click of a double click, which edits: its cell must not scroll away.
  reveal() {
    const wait = DOUBLE_CLICK - (Date.now() - (window.rippleOpened ?? 0));
    const show = () => window.rippleEditing || this.body.scrollIntoView({ block: "nearest" });
    setTimeout(show, Math.max(0, wait));
  }

  content(data) {
    if (data.notice) return [this.notice(data)];
    if (!data.name) return [];
    const parts = [this.top(data), this.title(data), this.sum(data)];
    parts.push(make("p", "says", null, data.says));
    for (const text of [data.where, data.passed]) if (text) parts.push(make("p", "where", null, text));
    if (data.change) parts.push(this.editor.draw(data.change));
    return parts;
  }

  notice({ notice, words }) {
    const box = make("div", "notice");
    make("p", "", box, notice);
    this.button(box, { text: words.close, to: "" }, "quiet");
    return box;
  }

  top({ trail, words }) {
    const top = make("div", "top");
    const nav = make("nav", "", top);
    nav.setAttribute("aria-label", words.trail);
    const list = make("ol", "", nav);
    make("li", "lead", list, `${words.heading}:`);
    trail.forEach((stop, i) => {
      const item = make("li", "", list);
      if (i < trail.length - 1) this.button(item, stop, "stop");
      else make("b", "", item, stop.text).setAttribute("aria-current", "step");
    });
    this.button(top, { text: words.close, to: "" }, "quiet");
    return top;
  }

  title({ name, place, masked }) {
    this.heading = make("h3", "", null, name);
    this.heading.tabIndex = -1;
    if (place) make("small", "", this.heading, place);
    if (masked) make("small", "masked", this.heading, masked);
    return this.heading;
  }

  sum(data) {
    const box = make("div", "sum");
    if (data.left) make("span", "left", box, data.terms.length || data.value ? `${data.left} = ` : data.left);
    for (const term of data.terms) this.term(box, term);
    if (data.rest) {
      const rest = make("span", "term rest", box, ` ${data.rest.sign} `);
      make("span", "", rest, data.rest.value);
      make("small", "", rest, ` ${data.rest.text}`);
    }
    const result = make("span", "result", box, data.terms.length ? data.joint ?? " = " : "");
    make("b", "", result, data.value);
    if (data.exact) make("small", "", result, ` (${data.exact})`);
    if (data.rest || data.everything) {
      const more = make("button", "quiet", box, data.everything ? data.words.fewer : data.words.all);
      more.type = "button";
      more.dataset.all = String(!data.everything);
    }
    return box;
  }

  term(box, pieces) {
    const term = make("span", "term", box);
    for (const piece of pieces) {
      if (piece.to) this.button(term, piece, `operand ${piece.kind}`);
      else term.append(piece.text);
    }
  }

  button(parent, { text, to, label, colour }, cls) {
    const button = make("button", cls, parent, text);
    button.type = "button";
    button.dataset.to = to;
    if (label) {
      button.setAttribute("aria-label", label);
      button.title = label;
    }
    if (colour) button.style.setProperty("--token", colour);
    return button;
  }
}

// Another value for the opened number, larger interventions, and its row from another text.
class ChangeForm {
  constructor(send) {
    this.send = send;
    this.drafts = {}; // what was typed and not yet sent, by field
  }

  // Redraws, and gives back what was being typed and the focus, unless another number is opened.
  keep(redraw, other) {
    if (other) this.drafts = {};
    const focused = this.box?.getRootNode().activeElement?.dataset?.field;
    redraw();
    if (!other && focused) this.box?.querySelector(`[data-field="${focused}"]`)?.focus({ preventScroll: true });
  }

  draw({ value, words, notes, restore, larger = [], take, problems, largest }) {
    this.box = make("div", "change");
    if (words) {
      const row = make("div", "fields", this.box);
      this.number(row, { value, words, problems, largest });
      if (restore) this.act(row, restore[0], restore[1], "restore");
    }
    for (const note of notes) make("p", "where", this.box, note);
    if (larger.length) {
      const row = make("div", "larger", this.box);
      make("span", "", row, words.larger);
      for (const { text, on, do: asked } of larger) this.act(row, text, asked, on ? "on" : "");
    }
    if (take) this.take(take);
    return this.box;
  }

  number(row, { value, words, problems, largest }) {
    const written = fewDigits(value);
    const field = this.field(row, "put", words.label, written, words.set, (text) => {
      if (text === written) return "";
      const { value: typed, problem } = parseNumber(text, largest);
      if (!problem) this.send({ put: typed });
      return problem ? problems[problem] : "";
    });
    field.inputMode = "decimal";
    field.addEventListener("focus", () => field.select());
  }

  take({ label, set, hint, says, said }) {
    const field = this.field(this.box, "take", label, "", set, (text) => {
      this.send({ take: text });
      return "";
    });
    field.placeholder = hint;
    field.title = says;
    if (said) this.refuse(field, said);
  }

  // A labelled field with its button and its message. `submit` returns what is wrong, or nothing.
  field(parent, name, label, value, button, submit) {
    const form = make("form", "field", parent);
    const labelled = make("label", "", form, label);
    const field = make("input", name, labelled);
    Object.assign(field, { type: "text", autocomplete: "off", spellcheck: false });
    field.dataset.field = name;
    field.value = this.drafts[name] ?? value;
    const sends = make("button", "set", form, button);
    sends.type = "submit";
    const message = make("p", "refused", form);
    message.id = `refused-${name}`;
    message.setAttribute("role", "alert");
    field.addEventListener("input", () => (this.drafts[name] = field.value));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      delete this.drafts[name];
      field.value = value;
      this.refuse(field, "");
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const problem = submit(field.value);
      if (!problem) delete this.drafts[name];
      this.refuse(field, problem);
    });
    return field;
  }

  refuse(field, problem) {
    const message = field.form.querySelector(".refused");
    message.textContent = problem;
    field.setAttribute("aria-invalid", String(Boolean(problem)));
    if (problem) field.setAttribute("aria-describedby", message.id);
    else field.removeAttribute("aria-describedby");
  }

  act(parent, text, asked, cls) {
    const button = make("button", `quiet ${cls}`.trim(), parent, text);
    button.type = "button";
    button.addEventListener("click", () => this.send({ do: asked }));
  }
}
