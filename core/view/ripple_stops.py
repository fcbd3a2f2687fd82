"""The ripple along the path strip: how much the steps of every stop changed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from core.changes import Ripple
from core.graph import StepDiff
from core.view import elements
from core.view.compare import Comparison
from core.view.html import esc, tag
from core.view.overview_path import stop_of
from core.view.ripple_words import amount, pair, step_name, strength
from core.view.texts import Text

LOWEST = 0.1  # of what changed at all
TYPED = ("text", "tokens")  # stops before the first step that is computed


@dataclass(frozen=True)
class Shift:
    """How much changed at one stop. Of nothing there is none.

    rises: from 0 to 1, how high a bar each of its blocks has, or its only one. most: the step
    with the largest relative change, of those where it is finite. typed, of: how many tokens of
    the text changed, of how many. rounded: whether all of it is rounding alone; then no bar rises.
    """

    rises: tuple[float, ...]
    most: StepDiff | None = None
    typed: int = 0
    of: int = 0
    rounded: bool = False


def shifts(compared: Comparison) -> dict[str, Shift]:
    """The stops where something changed."""
    found: dict[str, list[StepDiff]] = defaultdict(list)
    for diff in compared.ripple.diffs:
        found[stop_of(elements.within(diff.name))].append(diff)
    moved = {
        stop: _shift(compared.ripple, diffs)
        for stop, diffs in found.items()
        if any(diff.changed for diff in diffs)
    }
    if compared.before.ids != compared.after.ids:
        moved |= dict.fromkeys(TYPED, _typed(compared))
    return moved


def _shift(ripple: Ripple, diffs: Sequence[StepDiff]) -> Shift:
    changed = [diff for diff in diffs if diff.changed]
    most = max(changed, key=_weight)
    if all(map(ripple.is_rounded, changed)):
        return Shift((0.0,), most, rounded=True)
    return Shift(_rises(diffs), most)


def _typed(compared: Comparison) -> Shift:
    """How much of the text is not what or where it was; what is gone counts too."""
    rows, ids, old = compared.rows, compared.after.ids, compared.before.ids
    kept = sum(row == i and old[row] == ids[i] for i, row in enumerate(rows))
    total = len(ids) + len(old) - sum(row is not None for row in rows)
    return Shift((1 - kept / total,), None, total - kept, total)


def _weight(diff: StepDiff) -> tuple[bool, float]:
    return math.isfinite(diff.relative), diff.relative


def _rises(diffs: Sequence[StepDiff]) -> tuple[float, ...]:
    """The highest of each block."""
    highest: dict[int | None, float] = {}
    for diff in diffs:
        block = elements.block(diff.name)
        part = max(strength(diff.relative), LOWEST) if diff.changed else 0.0
        highest[block] = max(highest.get(block, 0.0), part)
    return tuple(highest.values())


def bars(shift: Shift | None) -> str:
    """One bar for each block, as high as what changed there."""
    heights = () if shift is None else shift.rises
    return tag("span", *(_bar(height) for height in heights), cls="rise")


def _bar(height: float) -> str:
    return tag("i", style=f"height:{height:.0%}" if height else "height:0")


def written(t: Text, shift: Shift | None) -> str:
    """The two numbers under a stop."""
    if shift is None:
        texts = "–", ""
    elif shift.rounded:
        texts = "≈", ""
    elif shift.most is None:
        texts = f"{shift.typed} / {shift.of}", t("ripple.typed", n=shift.of)
    else:
        texts = pair(t, shift.most)
    return tag("span", *(tag("span", esc(text)) for text in texts), cls="much")


def says(t: Text, stop: str, shift: Shift | None) -> str:
    """The same in words."""
    name = t(f"stops.{stop}")
    if shift is None:
        return t("ripple.stop.same", stop=name)
    if shift.most is None:
        return t("ripple.stop.typed", stop=name, n=shift.typed, total=shift.of)
    if shift.rounded:
        return t("ripple.stop.rounded", stop=name)
    step = step_name(t, shift.most.name)
    return t("ripple.stop.moved", stop=name, step=step, amount=amount(t, shift.most))
