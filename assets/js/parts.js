// What draws our elements, see part.js. A page keeps what it was brought first: that one knows
// what it has drawn.

function bring(name, css, part) {
  const waiting = (window.rippleParts ??= {})[name] ??= Promise.withResolvers();
  if (waiting.brought) return;
  const style = new CSSStyleSheet();
  style.replaceSync(css);
  waiting.brought = { style, draw: part() };
  waiting.resolve();
}

export default function () {}
