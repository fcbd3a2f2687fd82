"""How long a change takes to be on screen: `python -m tools.bench.redraw`, in Chromium.

Starts the app on this machine, opens a prompt of 32 tokens with the bundled model, and measures
from a click to the last change of what is in sight; then from Enter in an edited cell, for the
worked example and the bundled model.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PROMPT = (
    "In the beginning God created the heavens and the earth. The earth was without form, and "
    "darkness was on the face of the deep. And God said, Let there"
)
PAGES = ("tokens", "embedding", "position", "qkv", "scores", "heads", "norm", "mlp", "logits")
EDITED = ("qkv", "scores", "heads", "norm", "mlp")  # pages on which a cell is changed
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
# Notes when anything in sight changed last, also within components. What is out of sight is drawn
# later, or drawn and not laid out. An element that comes is in sight once a layout says so.
WATCH = """
window.lastChange = performance.now();
const changes = {subtree: true, childList: true, attributes: true, characterData: true};
const BOXES = ".stElementContainer, .place";
const seen = new WeakMap();
const note = () => { window.lastChange = performance.now(); };
const sight = new IntersectionObserver(entries => {
    for (const {target, isIntersecting} of entries) seen.set(target, isIntersecting);
    if (entries.some(({isIntersecting}) => isIntersecting)) note();
});
// In sight are the nearest box and that of the component; what is in no box holds boxes.
function isSeen({target, removedNodes}, host) {
    const element = target.closest ? target : target.parentElement;
    const boxes = [element, host].map(it => it?.closest(BOXES)).filter(Boolean);
    if (boxes.length) return boxes.every(box => seen.get(box));
    return [...removedNodes].some(node => seen.get(node));
}
function watch(root, host) {
    new MutationObserver(records => {
        for (const {addedNodes} of records) {
            for (const node of addedNodes) {
                if (node.matches?.(BOXES)) sight.observe(node);
                for (const box of node.querySelectorAll?.(BOXES) ?? []) sight.observe(box);
            }
        }
        if (window.anywhere || records.some(record => isSeen(record, host))) note();
    }).observe(root, changes);
}
watch(document, null);
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (init) {
    const root = attach.call(this, init);
    watch(root, this);
    return root;
};
"""
QUIET_MS = 400


@contextmanager
def app(port: int) -> Iterator[str]:
    """The app on a port of this machine, ended afterwards."""
    address = f"http://127.0.0.1:{port}"
    options = ["--server.port", str(port), "--server.address", "127.0.0.1"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"{address}/_stcore/health")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_for(url: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"{url} did not answer within {seconds} s")


def settle(page: Page, since: float = 0) -> float:
    """Wait until something changed and nothing does any more; return when that was, in ms."""
    page.wait_for_function(
        f"""since => window.lastChange > since
        && performance.now() - window.lastChange > {QUIET_MS}
        && document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')""",
        arg=since,
        timeout=60_000,
    )
    return page.evaluate("window.lastChange")


def click(page: Page, selector: str) -> float:
    """Milliseconds from a click to the last change."""
    start = page.evaluate(
        "selector => { const t = performance.now(); document.querySelector(selector).click(); "
        "return t; }",
        selector,
    )
    return settle(page, start) - start


def press(page: Page, slider: int, key: str) -> float:
    """Milliseconds from a key on a sidebar slider to the last change."""
    page.locator("[data-testid=stSidebar] input[type=range]").nth(slider).focus()
    start = page.evaluate("performance.now()")
    page.keyboard.press(key)
    return settle(page, start) - start


def measure(page: Page, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"page": []}
    for name in PAGES:
        click(page, f'.strip a[data-page="{name}"]')  # the first visit computes
    for _ in range(rounds):
        for name in PAGES:
            time_taken = click(page, f'.strip a[data-page="{name}"]')
            found["page"].append(time_taken)
            found.setdefault(f"page {name}", []).append(time_taken)
    for name in PAGES[1:]:
        click(page, f'.strip a[data-page="{name}"]')
        for slider, what in enumerate(("block", "head", "token")):
            # To and fro: at the end of a slider a key changes nothing.
            keys = ("ArrowLeft", "ArrowRight") if what == "token" else ("ArrowRight", "ArrowLeft")
            times = [press(page, slider, key) for _ in range(rounds) for key in keys]
            found.setdefault(what, []).extend(times)
            found[f"{what} on {name}"] = times
    return found


def enter(page: Page, value: str) -> float:
    """Milliseconds from Enter in the first cell that can be changed to the last change."""
    # Others may be folded away, or computed from weights and not to be changed.
    cell = page.locator("td[role=gridcell][aria-readonly=false]:visible").first
    cell.focus()
    page.keyboard.type(value)
    start = page.evaluate("performance.now()")
    page.keyboard.press("Enter")
    return settle(page, start) - start


def edits(page: Page, rounds: int) -> dict[str, list[float]]:
    """Every value is new, so each is a change; the first one on a page is not counted."""
    found: dict[str, list[float]] = {"edit": []}
    for name in EDITED:
        click(page, f'.strip a[data-page="{name}"]')
        times = [enter(page, f"0.{i + 1}") for i in range(2 * rounds + 1)][1:]
        found["edit"] += times
        found[f"edit on {name}"] = times
    return found


def report(found: dict[str, list[float]], title: str = "") -> None:
    for what, times in found.items():
        middle, slowest = statistics.median(times), max(times)
        print(f"{title}{what:20} median {middle:5.0f} ms of {len(times)}, slowest {slowest:5.0f}")


def opened(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector(".strip", timeout=60_000)
    settle(page)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.redraw", description=__doc__)
    parser.add_argument("--port", type=int, default=8791)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--anywhere", action="store_true", help="count what is out of sight too")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with app(options.port) as address, sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=ARGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(f"window.anywhere = {str(options.anywhere).lower()};{WATCH}")
        prompt = PROMPT.replace(" ", "+")
        opened(page, f"{address}/?prompt={prompt}")
        report(measure(page, options.rounds))
        report(edits(page, options.rounds), "bundled: ")
        opened(page, f"{address}/?model=worked-example")
        report(edits(page, options.rounds), "worked example: ")
        browser.close()


if __name__ == "__main__":
    main()
