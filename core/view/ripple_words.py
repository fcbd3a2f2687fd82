"""How much a step changed, in the few characters and in the words that people see."""

from __future__ import annotations

import math

from core.graph import StepDiff
from core.view import elements
from core.view.html import number
from core.view.texts import Text

NEXT_TO_NOTHING = 0.001
WORDS = ("new", "gone", "reshaped", "added")  # kinds of change that have no size
MANY_TIMES = 10  # from which a change is so many times what was there, not so many per cent


def size(value: float) -> str:
    """A difference in few characters: 0.003, 0.04, 0.31, 12.5, 130; ≈ 0 for less."""
    if not math.isfinite(value):
        return "∞"
    if 0 < value < NEXT_TO_NOTHING:
        return "≈ 0"
    digits = next(
        d for least, d in ((99.95, 0), (9.995, 1), (0.00995, 2), (0, 3)) if value >= least
    )
    return number(value, digits)


def share(part: float) -> str:
    """A relative difference in few characters: 0.4 %, 12 %, ×15; ≈ 0 % for less."""
    if not math.isfinite(part):
        return "∞"
    if part >= MANY_TIMES:
        return f"×{part:.0f}" if part < 10**4 else "×9999+"
    if 0 < part < NEXT_TO_NOTHING:
        return "≈ 0 %"
    return f"{part:.1%}"[:-1] + " %" if part < 0.0995 else f"{part:.0%}"[:-1] + " %"


def strength(part: float) -> float:
    """How far a bar rises, or how strong a cell is: the root, so that small changes show too."""
    return math.sqrt(min(part, 1.0))


def step_name(t: Text, name: str) -> str:
    """A step in a word or two: `query`, and in which block."""
    short = t(f"opened.role.{elements.role(name)}.short")
    block = elements.block(name)
    return short if block is None else t("ripple.step", step=short, i=str(block))


def kind(diff: StepDiff) -> str:
    """How a change is told: by its size, or because one side has nothing to compare with."""
    old, new = diff.shapes
    if old is None or new is None or old != new:
        return "new" if old is None else "gone" if new is None else "reshaped"
    if not diff.largest:
        return "added"  # only tokens that are new differ
    if not math.isfinite(diff.largest):
        return "infinite"
    return "some" if math.isfinite(diff.relative) else "from_zero"


def pair(t: Text, diff: StepDiff) -> tuple[str, str]:
    """Largest and relative change in few characters, or a word instead."""
    found = kind(diff)
    if found in WORDS:
        return t(f"ripple.short.{found}"), ""
    return size(diff.largest), share(diff.relative)


def amount(t: Text, diff: StepDiff) -> str:
    """How much a step changed, in a sentence's words."""
    values = {"size": size(diff.largest), "share": share(diff.relative)}
    return t(f"ripple.amount.{kind(diff)}", **values)
