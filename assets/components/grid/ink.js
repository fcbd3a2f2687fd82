// The colour of a cell on this page's background, and the ink that can be read on it.

const LEVELS = 250; // shades of a colour; more than an eye can tell apart

class Ink {
  constructor(colours) {
    const style = getComputedStyle(document.querySelector(".stApp"));
    this.colours = colours;
    this.page = rgbOf(style.backgroundColor);
    this.text = rgbOf(style.color);
    this.name = `${this.page} ${this.text}`;
    this.known = new Map();
  }

  // The colour grows with a root of the value where `degree` says so, as `Root` in figures.py.
  cell({ kind, limit, degree }, value) {
    if (kind === "plain" || typeof value !== "number") return ["", ""];
    const level = Math.round(LEVELS * clamp(Math.abs(value) / limit, 0, 1) ** (1 / degree));
    const colour = kind === "share" ? this.colours.share : value < 0 ? this.colours.negative : this.colours.positive;
    const key = colour + level;
    if (!this.known.has(key)) this.known.set(key, this.mixed(rgbOf(colour), level / LEVELS));
    return this.known.get(key);
  }

  mixed(colour, strength) {
    const over = colour.map((part, i) => part * strength + this.page[i] * (1 - strength));
    const background = `rgb(${colour.join(" ")} / ${strength.toFixed(3)})`;
    if (contrast(over, this.text) >= 4.5) return [background, ""];
    return [background, contrast(over, [0, 0, 0]) > contrast(over, [255, 255, 255]) ? "#000" : "#fff"];
  }
}

// The page is asked for its colours once in a frame: after each component that was drawn the browser
// would work out every style anew.
let latest = null;
let asked = false;
function inkNow(colours) {
  if (asked) return latest;
  asked = true;
  requestAnimationFrame(() => { asked = false; });
  const ink = new Ink(colours);
  if (ink.name !== latest?.name) latest = ink;
  return latest;
}
