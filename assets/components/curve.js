// An activation as a curve, its slope below it, and one token's own numbers on both.
//
// Pointing reads any place, or the nearest of the token's numbers; arrow keys walk from number to
// number, and a click or Enter opens the one that is marked.

const charts = new WeakMap();
const SVG = "http://www.w3.org/2000/svg";
const ROWS = [["value", 270], ["slope", 210]]; // each with its height, its title included
const [LEFT, RIGHT, TITLE, BOTTOM, GAP] = [46, 14, 34, 30, 18];
const NEAR = 9; // pixels from a number within which it is meant
const NARROW = 200; // pixels to the left of the flat place in which its name has no room
const TICKS = { x: 12, y: 5 }; // at most

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".curve");
  if (!charts.has(root)) charts.set(root, new Chart(root));
  const chart = charts.get(root);
  chart.draw(data, setTriggerValue);
  return () => chart.resized.disconnect();
}

function shape(name, attributes, parent, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  parent?.append(element);
  return element;
}

// 1, 2 or 5 times a power of ten, so that at most `most` of them fit.
function stepFor(span, most) {
  const power = 10 ** Math.floor(Math.log10(span / most));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => span / step <= most);
}

function ticks([low, high], most) {
  const step = stepFor(high - low, most);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(6)));
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

class Chart {
  constructor(root) {
    this.root = root;
    this.frame = make("div", "frame", root);
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "application");
    this.readout = make("p", "readout", root);
    this.readout.setAttribute("aria-live", "polite");
    this.resized = new ResizeObserver(() => this.frame.clientWidth !== this.width && this.lay());
    this.listen();
  }

  draw(data, send) {
    this.send = send;
    this.resized.observe(this.frame);
    const written = JSON.stringify(data);
    if (written === this.written) return;
    Object.assign(this, { written, data, at: null });
    this.frame.setAttribute("aria-label", data.words.label);
    // From left to right: the way the arrow keys walk.
    this.order = data.points.z.map((_, i) => i).sort((a, b) => data.points.z[a] - data.points.z[b]);
    this.lay();
  }

  // Everything anew, in the width that there is.
  lay() {
    this.width = this.frame.clientWidth;
    if (!this.width || !this.data) return;
    const height = ROWS.reduce((sum, [, tall]) => sum + tall + GAP, BOTTOM + 14);
    this.svg = shape("svg", { viewBox: `0 0 ${this.width} ${height}`, "aria-hidden": "true" });
    let top = 0;
    this.rows = ROWS.map(([key, tall]) => {
      const row = this.layRow(key, top + TITLE, top + tall);
      top += tall + GAP;
      return row;
    });
    const under = top - GAP + 18;
    for (const z of ticks(this.data.range, TICKS.x)) {
      shape("text", { x: this.x(z), y: under, class: "tick" }, this.svg, signed(String(z)));
    }
    shape("text", { x: this.width - RIGHT, y: under + 24, class: "name end" }, this.svg, this.data.words.z);
    this.flat();
    this.cursor = shape("line", { class: "cursor", y1: TITLE, y2: top - GAP, visibility: "hidden" }, this.svg);
    this.marks = this.rows.map(() => shape("circle", { r: 9, class: "mark", visibility: "hidden" }, this.svg));
    this.frame.replaceChildren(this.svg);
    this.say();
  }

  layRow(key, top, bottom) {
    const { data, svg } = this;
    const all = [...data.curves.flatMap((curve) => curve[key]), ...data.points[key]];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const room = 0.06 * (high - low);
    const range = [low - room, high + room];
    const y = (value) => bottom - (value - range[0]) / (range[1] - range[0]) * (bottom - top);
    shape("text", { x: 0, y: top - 14, class: "name" }, svg, data.words[key]);
    for (const value of ticks(range, TICKS.y)) {
      shape("line", { x1: LEFT, x2: this.width - RIGHT, y1: y(value), y2: y(value), class: value ? "grid" : "axis" }, svg);
      shape("text", { x: LEFT - 8, y: y(value) + 5, class: "tick end" }, svg, signed(String(value)));
    }
    for (const z of ticks(data.range, TICKS.x)) {
      shape("line", { x1: this.x(z), x2: this.x(z), y1: top, y2: bottom, class: z ? "grid" : "axis" }, svg);
    }
    for (const { colour, width, dash, [key]: values } of data.curves) {
      const path = values.map((value, i) => `${this.x(data.z[i]).toFixed(1)},${y(value).toFixed(1)}`);
      shape("polyline", { points: path.join(" "), stroke: colour, "stroke-width": width, "stroke-dasharray": dash, class: "line" }, svg);
    }
    this.dots(key, y);
    return { key, y };
  }

  // A few numbers are dots; of many each is a tick, so that one sees where they crowd.
  dots(key, y) {
    const { z, [key]: values, colour, many } = this.data.points;
    const places = z.map((one, i) => [this.x(one).toFixed(1), y(values[i]).toFixed(1)]);
    if (many) {
      const d = places.map(([left, top]) => `M${left},${top - 6}v12`).join("");
      shape("path", { d, stroke: colour, class: "ticks" }, this.svg);
    } else {
      places.forEach(([cx, cy]) => shape("circle", { cx, cy, r: 6.5, fill: colour, class: "dot" }, this.svg));
    }
  }

  flat() {
    const { z, text } = this.data.flat;
    const [x, y] = [this.x(z), this.rows[1].y(0)];
    shape("path", { d: `M${x},${y - 7}l7,7l-7,7l-7,-7z`, class: "flat" }, this.svg);
    const [at, high, cls] = x < NARROW
      ? [LEFT, this.rows[1].y(1) - 10, "flat-name start"] // above the curves, which it would cross
      : [x - 10, y - 12, "flat-name end"];
    shape("text", { x: at, y: high, class: cls }, this.svg, text);
  }

  x(z) {
    const [low, high] = this.data.range;
    return LEFT + (z - low) / (high - low) * (this.width - LEFT - RIGHT);
  }

  // Mark one of the token's numbers, or only a place; nothing of both.
  show(point, z) {
    const { points, words } = this.data;
    this.at = point;
    if (point !== null) {
      const [at, value, slope] = ["z", "value", "slope"].map((key) => points[key][point]);
      this.move(at, [value, slope]);
      this.say(filled(words.point, { i: point, z: short(at, 2), value: short(value, 3), slope: short(slope, 3) }));
      return;
    }
    const nearest = Math.round((z - this.data.z[0]) / (this.data.z[1] - this.data.z[0]));
    const i = clamp(nearest, 0, this.data.z.length - 1);
    this.move(this.data.z[i]);
    const each = this.data.curves.map((curve) =>
      filled(words.each, { name: curve.name, value: short(curve.value[i], 3), slope: short(curve.slope[i], 3) }));
    this.say([`z = ${short(this.data.z[i], 2)}`, ...each].join("  ·  "));
  }

  move(z, values) {
    const x = this.x(z);
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, x);
    this.cursor.setAttribute("visibility", "visible");
    this.marks.forEach((mark, i) => {
      mark.setAttribute("visibility", values ? "visible" : "hidden");
      if (!values) return;
      mark.setAttribute("cx", x);
      mark.setAttribute("cy", this.rows[i].y(values[i]));
    });
    this.frame.classList.toggle("opens", Boolean(values));
  }

  leave() {
    this.at = null;
    for (const mark of [this.cursor, ...this.marks]) mark.setAttribute("visibility", "hidden");
    this.say();
  }

  say(text = "") {
    this.readout.textContent = text || this.data.words.hint;
    this.readout.classList.toggle("hint", !text);
  }

  under(event) {
    const box = this.frame.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { points, range } = this.data;
    const far = points.z.map((z, i) =>
      Math.min(...this.rows.map((row) => Math.hypot(this.x(z) - x, row.y(points[row.key][i]) - y))));
    const nearest = far.indexOf(Math.min(...far));
    if (far[nearest] <= NEAR) return this.show(nearest);
    const z = range[0] + (x - LEFT) / (this.width - LEFT - RIGHT) * (range[1] - range[0]);
    return this.show(null, clamp(z, ...range));
  }

  open() {
    if (this.at !== null) this.send("open", `${this.data.points.name}-${this.at}`);
  }

  listen() {
    const { frame } = this;
    frame.addEventListener("pointermove", (event) => this.under(event));
    frame.addEventListener("pointerleave", () => this.leave());
    frame.addEventListener("click", (event) => {
      this.under(event);
      this.open();
    });
    frame.addEventListener("focus", () => frame.matches(":focus-visible") && this.walk(0));
    frame.addEventListener("blur", () => this.leave());
    frame.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") this.open();
    else if (event.key === "Home") this.walk(-Infinity);
    else if (event.key === "End") this.walk(Infinity);
    else if (event.key === "ArrowLeft") this.walk(-1);
    else if (event.key === "ArrowRight") this.walk(1);
    else return;
    event.preventDefault();
  }

  walk(steps) {
    const from = Math.max(0, this.order.indexOf(this.at));
    this.show(this.order[clamp(from + steps, 0, this.order.length - 1)]);
  }
}
