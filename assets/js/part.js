// One of our elements. What draws it is the same for all of its kind and comes once per page, in
// parts.js; this waits for it where it is not there yet.

const part = (window.rippleParts ??= {})["NAME"] ??= Promise.withResolvers();
const utf8 = new TextDecoder();
const drawn = new WeakMap(); // for each place: the bytes that came, as text, and how it is left

// Every run sends the bytes again. Where they say the same, nothing is drawn; the very same bytes
// come again when the theme changes.
export default function (component) {
  const { parentElement: place, data: bytes } = component;
  const text = utf8.decode(bytes);
  const last = drawn.get(place);
  const leave =
    last && last.text === text && last.bytes !== bytes
      ? last.leave
      : drawSoon({ ...component, data: JSON.parse(text) });
  drawn.set(place, { bytes, text, leave });
  return leave;
}

function drawSoon(component) {
  if (part.brought) return draw(component);
  let left = false;
  let leave = null;
  part.promise.then(() => {
    if (!left) leave = draw(component);
  });
  return () => {
    left = true;
    leave?.();
  };
}

function draw(component) {
  component.parentElement.adoptedStyleSheets = [part.brought.style];
  return part.brought.draw(component);
}
