// What the page's own HTML cannot do alone: follow its links without a reload, send the text with
// Enter, and scroll to a place. The listeners are set once and outlive every redraw.

const SETTLING = 500; // ms after a run until what it drew has its size
const TRIES = 4; // that a click is sent
const ripple = (window.ripple ??= { component: null, click: null, arrived: null, scrolled: 0, typed: false });
const folds = { open: {}, seen: new WeakSet() }; // parts that can be folded

function plainClick(event) {
  return !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
}

function linkOf(event) {
  return event.target.closest?.("a[data-set], a[data-page]");
}

// The address bar holds the whole state; a long text is missing from the links themselves.
function complete(event) {
  const link = linkOf(event);
  if (!link) return;
  const query = new URLSearchParams(window.location.search);
  const { set, page, anchor } = link.dataset;
  for (const [key, value] of new URLSearchParams(set ?? "")) query.set(key, value);
  const path = page ? link.getAttribute("href").split(/[?#]/)[0] : "";
  link.setAttribute("href", `${path}?${query}${anchor ? "#" + anchor : ""}`);
}

function follow(event) {
  const link = linkOf(event);
  if (!link || !plainClick(event)) return;
  event.preventDefault();
  const { set, page, anchor } = link.dataset;
  const here = ripple.component?.data.page;
  if (page && page === here && !set && !ripple.click) scrollTo(anchor || "top");
  else go({ set, page, anchor }, link.getAttribute("href").split(/[?#]/)[0]);
}

// A click on a page that is just being left may be lost with it: it is sent again by the next one,
// unless that says that it was heard.
function go(what, path) {
  ripple.click = { what: { ...what, n: performance.now() }, path, left: TRIES };
  if (ripple.component) tell();
}

function tell() {
  const { what, path } = ripple.click;
  ripple.click.left -= 1;
  const away = what.page && what.page !== ripple.component.data.page;
  if (away && !ripple.typed) travel(what, path);
  else ripple.component.setTriggerValue("go", what);
}

// To another page as the browser's Back does, which takes Streamlit one run instead of two. What
// is asked for stands in the address only while Streamlit reads it. Not while something is typed
// that Streamlit has yet to send: that would arrive later, from a page that was left.
function travel(what, path) {
  const { search } = window.location;
  const asked = `go=${encodeURIComponent(JSON.stringify(what))}`;
  const query = search ? `${search}&${asked}` : `?${asked}`;
  if (new URL(path, document.baseURI).pathname === window.location.pathname) {
    history.replaceState({}, "", query); // sent again
  } else history.pushState({}, "", path + query);
  window.dispatchEvent(new PopStateEvent("popstate"));
  history.replaceState({}, "", window.location.pathname + search);
}

function listen({ heard }) {
  if (!ripple.click) return;
  if (heard === ripple.click.what.n || !ripple.click.left) ripple.click = null;
  else tell();
}

// Enter sends, Shift + Enter starts a new line; while a syllable is being composed, neither.
function send(event) {
  const plain = event.key === "Enter" && !event.isComposing && plainClick(event);
  if (!plain || event.target.tagName !== "TEXTAREA") return;
  event.preventDefault();
  const init = { key: "Enter", code: "Enter", ctrlKey: true, bubbles: true };
  event.target.dispatchEvent(new KeyboardEvent("keydown", init));
}

// Half a surrogate pair is no character and cannot be sent; it becomes U+FFFD, as everywhere.
let mending = 0;
function mend(event) {
  const box = event.target;
  ripple.typed = true;
  if (box.tagName !== "TEXTAREA") return;
  clearTimeout(mending);
  mending = setTimeout(() => {
    if (box.value.isWellFormed?.() ?? true) return;
    const { set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value");
    set.call(box, box.value.toWellFormed());
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }, 150);
}

// Asking a page that is just being drawn how far it is scrolled would cost a layout.
function rememberScroll({ target }) {
  if (target.dataset?.testid === "stMain") ripple.scrolled = target.scrollTop;
}

function scrollTo(anchor) {
  if (anchor === "top") {
    if (ripple.scrolled) document.querySelector('[data-testid="stMain"]')?.scrollTo({ top: 0 });
    return true;
  }
  const place = document.getElementById(anchor);
  place?.closest("details")?.setAttribute("open", "");
  place?.scrollIntoView({ block: "start" });
  return Boolean(place);
}

// What is wider than its place can be scrolled with the arrow keys too, and only then is a stop of
// the Tab key. Pictures and tables find their size after the page was drawn.
function reachScrollers() {
  for (const box of document.querySelectorAll(".stMain .scroll")) {
    const wide = box.scrollWidth > box.clientWidth + 1;
    if (wide === box.hasAttribute("tabindex")) continue;
    if (wide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// On a small screen the strip is wider than the page: show the stop where we are.
function showStop() {
  const strip = document.querySelector(".strip");
  const here = strip?.querySelector(".here");
  if (here) strip.scrollLeft = here.offsetLeft - (strip.clientWidth - here.offsetWidth) / 2;
}

// What is looked at in a picture that is wider than its place is in sight.
function showChosen() {
  for (const chosen of document.querySelectorAll(".stMain .lens td a[aria-current]")) {
    const box = chosen.closest(".scroll");
    const [cell, place] = [chosen.getBoundingClientRect(), box.getBoundingClientRect()];
    if (cell.right > place.right || cell.left < place.left) {
      box.scrollLeft += cell.left - place.left - (place.width - cell.width) / 2;
    }
  }
}

function look() {
  showStop();
  reachScrollers();
}

// A part that somebody folded or opened stays so when it is drawn again.
function rememberFold({ target }) {
  if (target.dataset?.fold) folds.open[target.dataset.fold] = target.open;
}

function refold() {
  for (const part of document.querySelectorAll("details[data-fold]")) {
    if (!folds.seen.has(part)) part.open = folds.open[part.dataset.fold] ?? part.open;
    folds.seen.add(part);
  }
}

function arrive(data) {
  const anchor = data.arrival ? data.anchor : window.location.hash.slice(1);
  if (anchor && ripple.arrived !== data.arrival && scrollTo(anchor)) ripple.arrived = data.arrival;
}

if (!ripple.listening) {
  ripple.listening = true;
  const listeners = { click: follow, pointerdown: complete, focusin: complete, keydown: send, input: mend, scroll: rememberScroll, toggle: rememberFold };
  for (const [type, listener] of Object.entries(listeners)) {
    document.addEventListener(type, listener, true);
  }
  window.addEventListener("resize", reachScrollers);
  new MutationObserver(refold).observe(document.body, { childList: true, subtree: true });
}

export default function (component) {
  ripple.component = component;
  ripple.typed = false;
  document.body.dataset.ripplePage = component.data.page;
  document.documentElement.lang = component.data.language;
  requestAnimationFrame(() => setTimeout(look)); // after a layout, which asking costs otherwise
  setTimeout(reachScrollers, SETTLING);
  setTimeout(showChosen, SETTLING);
  arrive(component.data);
  listen(component.data);
  return () => {
    if (ripple.component === component) ripple.component = null;
  };
}
