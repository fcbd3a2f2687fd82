"""The path strip: the whole way from text to text, and where on it one is."""

from __future__ import annotations

from core.view.html import div, esc, tag
from core.view.state import State
from core.view.texts import Text

OVERVIEW = "overview"
# Every stop and the page that opens it. A stop without a page of its own is a place on the
# Overview; give it a page by adding a line to PAGES.
STOPS = (
    "text",
    "tokens",
    "embedding",
    "position",
    "qkv",
    "scores",
    "heads",
    "wo",
    "residual",
    "norm",
    "mlp",
    "logits",
    "sample",
)
PAGES = {
    "tokens": "tokens",
    "embedding": "embedding",
    "position": "position",
    "qkv": "qkv",
    "scores": "scores",
    "heads": "heads",
    "wo": "heads",
    "residual": "norm",
    "norm": "norm",
    "mlp": "mlp",
    "logits": "logits",
}
WITHIN = {"wo", "norm"}  # stops that are a place further down on their page
# A page beside the way, and the stop where it branches off.
BESIDE = {"stream": "residual"}
FILES = {page: f"pages/{page}.py" for page in (OVERVIEW, *PAGES.values(), *BESIDE)}


def target(stop: str) -> tuple[str, str]:
    """The page that a stop leads to, and the place on it."""
    if stop in PAGES:
        return PAGES[stop], f"stop-{stop}" if stop in WITHIN else ""
    return OVERVIEW, f"stop-{stop}"


def strip(t: Text, state: State, page: str) -> str:
    """The strip as a list of links that keep everything; `page` is where we are."""
    query = state.address()
    home = _link(query, t("strip.overview"), OVERVIEW, "", page == OVERVIEW, "home")
    stops = [_stop(t, query, stop, page) for stop in STOPS]
    return tag("nav", home, tag("ol", *stops), cls="strip", aria_label=t("strip.label"))


def page_link(state: State, label: str, page: str) -> str:
    """A link to a page that is no stop of the strip."""
    return div("try", _link(state.address(), label, page, "", False, "pill"))


def _stop(t: Text, query: str, stop: str, page: str) -> str:
    to, anchor = target(stop)
    here = page != OVERVIEW and (to == page or BESIDE.get(page) == stop)
    return tag("li", _link(query, t(f"stops.{stop}"), to, anchor, here, "stop"))


def _link(query: str, label: str, page: str, anchor: str, here: bool, cls: str) -> str:
    path = "./" if page == OVERVIEW else page
    return tag(
        "a",
        tag("span", esc(label)),
        cls=f"{cls} here" if here else cls,
        href=path + query + (f"#{anchor}" if anchor else ""),
        data_page=page,
        data_anchor=anchor or None,
        aria_current="page" if here else None,
    )
