// Two vectors on a plane, to drag or to move with the arrow keys, and the cosine between them.
//
// Streamlit calls the default export again after every rerun. The plane lives on its element, so
// a drag that is going on is never interrupted; what was set is sent when the hand lets go.

const planes = new WeakMap();
const SVG = "http://www.w3.org/2000/svg";
const NAMES = ["a", "b"];
const LINGER = 400; // ms after the last key before the new place is sent

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".vectors");
  if (!planes.has(root)) planes.set(root, new Plane(root));
  planes.get(root).draw(data, setTriggerValue);
}

function shape(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
}

// As short as it is exact: 0.8, 1.6055; never 1 for what is only nearly 1.
function plain(value, digits = 5) {
  return signed(String(Number(value.toFixed(digits)) + 0));
}

function factor(value) {
  return value < 0 ? `(${plain(value)})` : plain(value);
}

class Plane {
  constructor(root) {
    this.root = root;
    this.at = [];
    const board = make("div", "plane", root);
    this.svg = shape("svg", { viewBox: "-122 -122 244 244", role: "group" }, board);
    this.ground();
    this.arc = shape("path", { class: "arc" }, this.svg);
    this.angle = shape("text", { class: "angle" }, this.svg);
    this.arrows = NAMES.map((name, which) => this.arrow(name, which));
    this.side();
    this.listen();
  }

  ground() {
    for (let i = -10; i <= 10; i += 2) {
      const cls = i ? "grid" : "axis";
      shape("line", { x1: i * 10, x2: i * 10, y1: -108, y2: 108, class: cls }, this.svg);
      shape("line", { y1: i * 10, y2: i * 10, x1: -108, x2: 108, class: cls }, this.svg);
    }
    shape("circle", { r: 100, class: "circle" }, this.svg);
    for (const [x, y, text] of [[114, 4, "1"], [-116, 4, "−1"], [0, -112, "1"], [0, 120, "−1"]]) {
      shape("text", { x, y, class: "tick" }, this.svg).textContent = text;
    }
  }

  arrow(name, which) {
    const group = shape("g", { class: `vector ${name}`, tabindex: 0, role: "slider" }, this.svg);
    group.dataset.which = which;
    const line = shape("line", { x1: 0, y1: 0 }, group);
    const head = shape("path", {}, group);
    const handle = shape("circle", { r: 22, class: "handle" }, group);
    const knob = shape("circle", { r: 9.5, class: "knob" }, group);
    const label = shape("text", { class: "name" }, group);
    label.textContent = name;
    return { group, line, head, handle, knob, label };
  }

  side() {
    const side = make("div", "side", this.root);
    this.sums = make("div", "sums", side);
    this.dot = make("p", "", this.sums);
    this.lengths = NAMES.map(() => make("p", "", this.sums));
    this.cosine = make("p", "cosine", this.sums);
    const gauge = make("div", "gauge", side);
    this.needle = make("i", "", make("div", "rail", gauge));
    this.ends = make("div", "ends", gauge);
    this.verdict = make("p", "verdict", side);
    this.verdict.setAttribute("aria-live", "polite");
    this.buttons = make("div", "presets", side);
    this.hint = make("p", "hint", side);
  }

  listen() {
    this.svg.addEventListener("pointerdown", (event) => this.grab(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) {
      this.svg.addEventListener(name, () => this.drop());
    }
    this.svg.addEventListener("keydown", (event) => this.press(event));
    this.buttons.addEventListener("click", (event) => {
      const at = event.target.closest?.("[data-at]")?.dataset.at;
      if (at) this.set(at.split("_").map(Number), 0);
    });
  }

  draw(data, send) {
    this.send = send;
    this.words = data.words;
    this.svg.setAttribute("aria-label", data.words.label);
    this.hint.textContent = data.words.hint;
    this.ends.replaceChildren(...data.words.ends.map((text) => make("span", "", null, text)));
    this.buttons.replaceChildren(...data.presets.map(({ text, at }) => {
      const button = make("button", "", null, text);
      button.type = "button";
      button.dataset.at = at;
      return button;
    }));
    const mine = this.held !== undefined || this.timer;
    // What the page says counts, except where it has not heard of the last move yet.
    if (!mine && data.at !== this.heard) this.at = data.at.split("_").map(Number);
    this.heard = data.at;
    this.show();
  }

  // Coordinates are whole tenths, so that a right angle is exactly a right angle.
  move(which, x, y) {
    const [tenX, tenY] = [x, y].map((value) => clamp(Math.round(value), -10, 10));
    if (!tenX && !tenY) return; // no length, no direction
    this.at.splice(2 * which, 2, tenX, tenY);
    this.show();
  }

  set(at, linger) {
    this.at = at;
    this.show();
    this.later(linger);
  }

  later(linger) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.heard = this.at.join("_");
      this.send("at", this.heard);
    }, linger);
  }

  place(event) {
    const box = this.svg.getBoundingClientRect();
    const unit = 244 / box.width;
    return [(event.clientX - box.left) * unit - 122, 122 - (event.clientY - box.top) * unit];
  }

  // The nearer tip is meant, wherever on the plane one presses near it.
  grab(event) {
    const [x, y] = this.place(event);
    const far = NAMES.map((_, i) => Math.hypot(x - 10 * this.at[2 * i], y - 10 * this.at[2 * i + 1]));
    const own = event.target.closest?.(".vector")?.dataset.which;
    const which = far[0] === far[1] && own ? Number(own) : far[1] <= far[0] ? 1 : 0;
    if (far[which] > 30) return;
    event.preventDefault();
    this.held = which;
    this.svg.setPointerCapture(event.pointerId);
    this.arrows[which].group.focus();
  }

  drag(event) {
    if (this.held === undefined) return;
    const [x, y] = this.place(event);
    this.move(this.held, x / 10, y / 10);
  }

  drop() {
    if (this.held === undefined) return;
    this.held = undefined;
    this.later(0);
  }

  press(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const step = steps[event.key];
    const which = event.target.closest?.("[data-which]")?.dataset.which;
    if (!step || which === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const i = 2 * Number(which);
    let [x, y] = [this.at[i] + step[0], this.at[i + 1] + step[1]];
    if (!x && !y) [x, y] = step; // over the middle, where a vector has no direction
    this.move(Number(which), x, y);
    this.later(LINGER);
  }

  show() {
    const [ax, ay, bx, by] = this.at.map((tenths) => tenths / 10);
    const dot = (this.at[0] * this.at[2] + this.at[1] * this.at[3]) / 100;
    const squares = [this.at[0] ** 2 + this.at[1] ** 2, this.at[2] ** 2 + this.at[3] ** 2];
    const lengths = squares.map((square) => Math.sqrt(square) / 10);
    const cos = (100 * dot) / Math.sqrt(squares[0] * squares[1]);
    const degrees = (Math.acos(clamp(cos, -1, 1)) * 180) / Math.PI;
    this.arrows.forEach((arrow, which) => this.showArrow(arrow, which, cos));
    this.showArc([ax, ay], [bx, by], degrees);
    this.dot.textContent = `a·b = ${plain(ax)}·${factor(bx)} + ${factor(ay)}·${factor(by)} = ${plain(dot)}`;
    [[ax, ay], [bx, by]].forEach(([x, y], i) => {
      this.lengths[i].textContent =
        `|${NAMES[i]}| = √(${factor(x)}² + ${factor(y)}²) = ${plain(lengths[i], 4)}`;
    });
    this.cosine.replaceChildren(
      `cos = a·b / (|a|·|b|) = ${plain(dot)} / (${plain(lengths[0], 4)}·${plain(lengths[1], 4)}) = `
    );
    make("b", "", this.cosine, plain(cos));
    this.needle.style.left = `${50 + 50 * cos}%`;
    this.verdict.textContent = this.verdictOn(cos);
  }

  // The verdicts come with the least cosine that each takes, the largest first.
  verdictOn(cos) {
    const exact = Number(cos.toFixed(9));
    return this.words.verdicts.find(({ least }) => exact >= least).text;
  }

  showArrow({ group, line, head, handle, knob, label }, which, cos) {
    const [x, y] = [10 * this.at[2 * which], -10 * this.at[2 * which + 1]];
    const length = Math.hypot(x, y);
    const [ux, uy] = [x / length, y / length];
    const [tipX, tipY] = [x - ux * 9, y - uy * 9];
    line.setAttribute("x2", tipX - ux * 6);
    line.setAttribute("y2", tipY - uy * 6);
    const wing = (side) => `${tipX - ux * 10 - side * uy * 5.5} ${tipY - uy * 10 + side * ux * 5.5}`;
    head.setAttribute("d", `M ${tipX} ${tipY} L ${wing(1)} L ${wing(-1)} Z`);
    for (const circle of [handle, knob]) {
      circle.setAttribute("cx", x);
      circle.setAttribute("cy", y);
    }
    label.setAttribute("x", x);
    label.setAttribute("y", y + 4);
    const [tenX, tenY] = this.at.slice(2 * which, 2 * which + 2);
    const says = this.words.value.replace("{x}", plain(tenX / 10)).replace("{y}", plain(tenY / 10));
    group.setAttribute("aria-label", this.words.vector.replace("{name}", NAMES[which]));
    group.setAttribute("aria-valuemin", -1);
    group.setAttribute("aria-valuemax", 1);
    group.setAttribute("aria-valuenow", tenX / 10);
    group.setAttribute("aria-valuetext", says.replace("{cos}", plain(cos)));
  }

  // From a to b the short way round.
  showArc([ax, ay], [bx, by], degrees) {
    const [from, to] = [Math.atan2(ay, ax), Math.atan2(by, bx)];
    const turn = ((to - from + 3 * Math.PI) % (2 * Math.PI)) - Math.PI;
    const radius = 26;
    const point = (angle, r) => `${r * Math.cos(angle)} ${-r * Math.sin(angle)}`;
    const sweep = turn > 0 ? 0 : 1;
    this.arc.setAttribute("d",
      `M ${point(from, radius)} A ${radius} ${radius} 0 0 ${sweep} ${point(from + turn, radius)}`);
    this.angle.textContent = `${plain(degrees, 1)}°`;
    const [x, y] = point(from + turn / 2, 44).split(" ");
    this.angle.setAttribute("x", x);
    this.angle.setAttribute("y", Number(y) + 4);
  }
}
