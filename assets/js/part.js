// One of our elements. What draws it is the same for all of its kind and comes once per page, in
// parts.js; this waits for it where it is not there yet.

const part = (window.rippleParts ??= {})["NAME"] ??= Promise.withResolvers();

function draw(component) {
  component.parentElement.adoptedStyleSheets = [part.brought.style];
  return part.brought.draw(component);
}

export default function (component) {
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
