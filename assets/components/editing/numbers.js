// Numbers as people type them and as spreadsheets copy them, and what is wrong with the others.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
// What may stand between the cells of a pasted line, the surest first. A comma comes late: most
// often it is a decimal comma.
const SEPARATORS = ["\t", ";", ",", /\s+/];

// { value } or { problem }, the name of what is wrong. `largest` is the end of the type's range.
function parseNumber(text, largest = Number.MAX_VALUE) {
  const typed = text.trim().replace(/[−–]/g, "-");
  if (!typed) return { problem: "empty" };
  const parts = typed.split("/").map((part) => part.trim());
  if (parts.length > 2) return { problem: "nonsense" };
  const [over, under = 1] = parts.map(plainNumber);
  if (Number.isNaN(over) || Number.isNaN(under)) return { problem: "nonsense" };
  if (under === 0) return { problem: "zero" };
  const value = over / under;
  return Math.abs(value) <= largest ? { value } : { problem: "range" };
}

// NaN for everything that is not digits with a point or one comma, a sign and an exponent.
function plainNumber(text) {
  const pointed = text.includes(".") ? text : text.replace(",", ".");
  return NUMBER.test(pointed) ? Number(pointed) : NaN;
}

// A pasted block as rows of texts, not yet numbers. A single number is one cell, so `0,5` stays.
function splitBlock(text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
  const whole = lines.every((line) => !Number.isNaN(plainNumber(line.trim().replace(/[−–]/g, "-"))));
  const separator = SEPARATORS.find((one) => lines.some((line) => line.trim().split(one).length > 1));
  if (separator === undefined || (whole && separator === ",")) return lines.map((line) => [line]);
  return lines.map((line) => (separator instanceof RegExp ? line.trim() : line).split(separator));
}

// All digits that tell a number from its neighbours, with a plain minus; −∞ as people write it.
function allDigits(value) {
  return typeof value === "number" ? String(value) : special(value);
}

// For a field: as many digits as one can type, with a true minus.
function fewDigits(value) {
  return typeof value === "number" ? signed(String(Number(value.toPrecision(10)))) : special(value);
}
