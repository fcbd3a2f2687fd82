"""The path strip: the whole way from text to text, and where on it one is."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from core.view import elements, ripple_stops
from core.view.html import div, esc, tag
from core.view.overview_path import stop_of
from core.view.ripple_stops import Shift
from core.view.state import State
from core.view.texts import Text

OVERVIEW, EXPERIMENTS, SIZES = "overview", "experiments", "sizes"
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
    "write",
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
    "sample": "sampling",
    "write": "generation",
}
WITHIN = {"wo", "norm"}  # stops that are a place further down on their page
# A page beside the way, and the stop where it branches off.
BESIDE = {"stream": "residual"}
FILES = {p: f"pages/{p}.py" for p in (OVERVIEW, EXPERIMENTS, SIZES, *PAGES.values(), *BESIDE)}


def target(stop: str) -> tuple[str, str]:
    """The page that a stop leads to, and the place on it."""
    if stop in PAGES:
        return PAGES[stop], f"stop-{stop}" if stop in WITHIN else ""
    return OVERVIEW, f"stop-{stop}"


def strip(t: Text, state: State, page: str, shifts: Mapping[str, Shift] | None = None) -> str:
    """The strip as a list of links that keep everything; `page` is where we are.

    shifts: what changed at the stops; None where nobody changed anything.
    """
    query = state.address()
    home = _link(query, t("strip.overview"), OVERVIEW, "", page == OVERVIEW, "home")
    stops = [_stop(t, query, stop, page, shifts) for stop in STOPS]
    try_it = _link(query, t("strip.experiments"), EXPERIMENTS, "", page == EXPERIMENTS, "try-it")
    cost = _link(query, t("strip.sizes"), SIZES, "", page == SIZES, "try-it")
    cls = "strip" if shifts is None else "strip rippled"
    off_way, way = div("off-way", home, try_it, cost), tag("ol", *stops)
    return tag("nav", off_way, way, cls=cls, aria_label=t("strip.label"))


def page_link(state: State, label: str, page: str) -> str:
    """A link to a page that is no stop of the strip."""
    return div("try", _link(state.address(), label, page, "", False, "pill"))


def step_place(name: str) -> tuple[str, str]:
    """The page that teaches a step, and the place on it."""
    stop = stop_of(elements.within(name))
    return target("logits" if stop == "sample" else stop)


def step_goal(state: State, name: str, **where: int) -> dict[str, object]:
    """Attributes of a link to the page that teaches a step, at its block; `where` is looked at."""
    page, anchor = step_place(name)
    if (block := elements.block(name)) is not None:
        where["layer"] = block
    return {
        "href": page + state.address(**where) + (f"#{anchor}" if anchor else ""),
        "data_page": page,
        "data_anchor": anchor or None,
        "data_set": urlencode(where) or None,
    }


def _stop(t: Text, query: str, stop: str, page: str, shifts: Mapping[str, Shift] | None) -> str:
    to, anchor = target(stop)
    here = page != OVERVIEW and (to == page or BESIDE.get(page) == stop)
    name, place = t(f"stops.{stop}"), (to, anchor, here)
    if shifts is None:
        return tag("li", _link(query, name, *place, "stop"))
    shift = shifts.get("sample" if stop == "write" else stop)  # what is drawn is written
    says = ripple_stops.says(t, stop, shift)
    cls = "stop" if shift and not shift.rounded else "stop same"
    around = ripple_stops.bars(shift), ripple_stops.written(t, shift)
    return tag("li", _link(query, name, *place, cls, around, says))


def _link(
    query: str,
    label: str,
    page: str,
    anchor: str,
    here: bool,
    cls: str,
    around: tuple[str, str] = ("", ""),
    says: str | None = None,
) -> str:
    """around: HTML before and after the label. says: what it is called instead of that."""
    path = "./" if page == OVERVIEW else page
    before, after = around
    return tag(
        "a",
        before,
        tag("span", esc(label)),
        after,
        cls=f"{cls} here" if here else cls,
        href=path + query + (f"#{anchor}" if anchor else ""),
        data_page=page,
        data_anchor=anchor or None,
        aria_current="page" if here else None,
        aria_label=says,
        title=says,
    )
