// The colour of a cell on this page's background, and the ink that can be read on it.

const LEVELS = 250; // shades of a colour; more than an eye can tell apart

class Ink {
  constructor(style, colours) {
    this.colours = colours;
    this.page = rgbOf(style.getPropertyValue("--st-background-color").trim() || "#ffffff");
    this.text = rgbOf(style.getPropertyValue("--st-text-color").trim() || "#1c2430");
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
