// In sight first: a board that is out of sight is drawn when the browser has nothing else to do, or
// when it comes near.

const PATIENCE = 150; // ms without a new one until those that are out of sight have their turn
const near = new WeakMap(); // place: whether it is in sight, or almost
const waiting = new Map(); // place: how it is drawn
let patience = 0;

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    near.set(target, isIntersecting);
    if (isIntersecting) takeTurn(target);
  }
}, { scrollMargin: "50%" });

function inTurn(place, draw) {
  waiting.set(place, draw);
  if (near.get(place)) return takeTurn(place);
  sight.observe(place);
  clearTimeout(patience);
  patience = setTimeout(whenIdle, PATIENCE);
}

function takeTurn(place) {
  const draw = waiting.get(place);
  waiting.delete(place);
  draw?.();
}

// One at a time, so that whatever a person does meanwhile comes first.
function whenIdle() {
  requestIdleCallback(() => {
    const [place] = waiting.keys();
    if (!place) return;
    takeTurn(place);
    whenIdle();
  });
}

function leaveTurn(place) {
  sight.unobserve(place);
  waiting.delete(place);
}
