// What the components share: elements without HTML, numbers as people write them, colours.

function make(name, cls = "", parent = null, text = "") {
  const element = document.createElement(name);
  if (cls) element.className = cls;
  if (text) element.textContent = text;
  parent?.append(element);
  return element;
}

// The same text again would be another text node, to be laid out and painted.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

function signed(written) {
  return written.replace("e+", "e").replaceAll("-", "−");
}

// 7e-5 as people write it: 7·10⁻⁵.
function tens(written) {
  const [digits, power] = written.split("e");
  if (power === undefined) return signed(digits);
  const raised = [...String(Number(power))].map((sign) => sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]);
  return `${signed(digits)}·10${raised.join("")}`;
}

// null is −∞: JSON has no infinity.
function special(value) {
  return value === null ? "−∞" : String(value);
}

// For a cell: `digits` after the point, and more for what would look like 0 without being it. Whole
// numbers, as those of tokens, are written out as far as people can read them.
function short(value, digits) {
  if (typeof value !== "number") return special(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= (digits ? 1e5 : 1e9)) return tens(value.toExponential(1));
  if (Number(size.toFixed(digits)) !== 0) return signed(value.toFixed(digits));
  return tens(size >= 0.0001 ? String(Number(value.toPrecision(1))) : value.toExponential(0));
}

// For reading out: seven significant digits.
function exact(value) {
  return typeof value === "number" ? tens(String(Number(value.toPrecision(7)))) : special(value);
}

function rgbOf(colour) {
  const hex = /^#([0-9a-f]{6})/i.exec(colour);
  if (hex) return [0, 2, 4].map((i) => parseInt(hex[1].slice(i, i + 2), 16));
  return (colour.match(/[\d.]+/g) ?? [255, 255, 255]).slice(0, 3).map(Number);
}

// WCAG 2: relative luminance and contrast.
function luminance(rgb) {
  const [r, g, b] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function legendOf({ kind, ends, says }, colours) {
  const box = make("div", `legend ${kind}`);
  const { negative, positive, share } = colours;
  if (kind === "signed" || kind === "share") {
    const scale = make("div", "scale", box);
    const bar = make("div", "bar", scale);
    bar.style.background = kind === "signed"
      ? `linear-gradient(90deg, ${negative}, transparent, ${positive})`
      : `linear-gradient(90deg, transparent, ${share})`;
    const marks = make("div", "ends", scale);
    for (const end of ends) make("span", "", marks, end);
  } else {
    make("span", `swatch ${kind}`, box);
  }
  make("span", "", box, says);
  return box;
}
