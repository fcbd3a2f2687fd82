"""What is drawn about where a norm stands: before a part, or after the addition."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from core.analysis import norm
from core.analysis.residual import lens_top
from core.models import gpt
from core.models.model import Candidate, PromptTrace
from core.view.html import div, esc, number, percent, shown, tag
from core.view.look import Look

WAYS = ("pre", "post")
GUESSES = 3


@dataclass(frozen=True)
class Measured:
    """One way of placing the norms: the rows' lengths [place, pos], and what comes next."""

    lengths: list[list[float]]
    next: list[Candidate]


_known: WeakKeyDictionary[PromptTrace, tuple[Measured, ...]] = WeakKeyDictionary()


def _both(trace: PromptTrace) -> tuple[Measured, ...]:
    """The model with its norms before, and after; computed once for a trace."""
    if trace not in _known:
        own = trace.model.config.norm_placement
        ways = (trace if own == kind else trace.switch(norm_placement=kind) for kind in WAYS)
        _known[trace] = tuple(map(_measured, ways))
    return _known[trace]


def _measured(trace: PromptTrace) -> Measured:
    """Only the last row is read out: the logits of all of them would take as long as the rest."""
    likeliest = lens_top(trace, norm.end_of_stream(trace), -1, GUESSES)
    return Measured(norm.lengths(trace).tolist(), likeliest)


def placements(look: Look) -> str:
    """The same model with its norms before and after: how long the row gets, what it predicts."""
    t, both = look.t, _both(look.trace)
    head = (tag("th", esc(t(f"norm.placement.{key}")), scope="col") for key in ("where", *WAYS))
    labels = [t("norm.placement.start")]
    labels += [t("norm.placement.after", i=str(i)) for i in range(look.n_layers)]
    rows = [
        _compared(label, [number(way.lengths[i][look.token]) for way in both])
        for i, label in enumerate(labels)
    ]
    guesses = ["".join(map(_guess, way.next)) for way in both]
    rows.append(_compared(t("norm.placement.next"), guesses))
    return div("scroll", tag("table", tag("tr", *head), *rows, cls="plain compared"))


def _guess(candidate: Candidate) -> str:
    share = tag("b", esc(percent(candidate.prob)))
    return tag("span", esc(shown(candidate.text)), " ", share, cls="guess")


def _compared(label: str, cells: Iterable[str]) -> str:
    return tag("tr", tag("th", esc(label), scope="row"), *(tag("td", cell) for cell in cells))


def diagram(look: Look) -> str:
    """Where the norm stands: before the part, or after the addition."""
    t = look.t
    part = t("norm.diagram.part")
    return div(
        "beside-each-other",
        _way(t("norm.placement.pre"), ("x", "Norm", part, "+"), t("norm.diagram.pre")),
        _way(t("norm.placement.post"), ("x", part, "+", "Norm"), t("norm.diagram.post")),
    )


def _way(title: str, stops: tuple[str, ...], says: str) -> str:
    """Stops in a line, and the shortcut from the first to the addition above them."""
    plus = stops.index("+")
    boxes = [
        tag(
            "span",
            esc(stop),
            cls="plus" if stop == "+" else "norm-box" if stop == "Norm" else None,
            style=f"grid-column:{2 * i + 1}",
        )
        for i, stop in enumerate(stops)
    ]
    arrows = [
        tag("i", "→", style=f"grid-column:{2 * i}", aria_hidden="true")
        for i in range(1, len(stops) + 1)
    ]
    shortcut = tag("b", style=f"grid-column:1 / {2 * plus + 2}", aria_hidden="true")
    return tag(
        "figure",
        tag("figcaption", esc(title)),
        div("way", shortcut, *boxes, *arrows),
        tag("p", esc(says), cls="says"),
        cls="one",
    )


def block_code() -> str:
    """The block as this program's own model has it."""
    return inspect.getsource(gpt.block)


def has_both(look: Look) -> bool:
    """Whether this model has a norm that could stand before a part or after it."""
    config = look.trace.model.config
    return bool(config.n_layers and config.norm != "none" and {"ln_1", "ln_2"} & {*config.norms})
