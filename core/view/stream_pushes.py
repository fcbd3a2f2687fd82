"""Who pushed a logit: one bar per part, each beginning where the one before ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis import residual
from core.models.model import Candidate
from core.view import elements
from core.view.html import div, esc, picks, shown, tag
from core.view.look import Look
from core.view.sketch import block_name
from core.view.vector import signed

AGAINST = "against"  # the state: the candidate to compare with, or none
NONE = "none"


@dataclass(frozen=True)
class Pushes:
    """What each part adds to a logit, or to the difference of two.

    parts: (step, value) in order; the step is empty for β of the final norm. total: their sum as
    the model itself has it. error: how far the sum of the parts is from it. kinds: the sums of the
    start, all attention, all MLPs, the rest. blocks: the sum of each block.
    """

    parts: tuple[tuple[str, float], ...]
    total: float
    error: float
    kinds: dict[str, float]
    blocks: tuple[float, ...]


def compared(look: Look, found: list[Candidate], rank: int) -> int | None:
    """The other candidate, if one is to be compared with."""
    ranks = [str(i) for i in range(len(found))]
    asked = look.state.choice(AGAINST, [NONE, *ranks], NONE)
    return None if asked == NONE or int(asked) == rank else int(asked)


def pushes(look: Look, one: Candidate, other: Candidate | None) -> Pushes:
    """Raises NotDefined."""
    found = residual.attribution(look.trace, one.id, look.token)
    values = [push.value for push in found.pushes]
    constant, total = found.constant, found.logit
    if other is not None:
        less = residual.attribution(look.trace, other.id, look.token)
        values = [a - push.value for a, push in zip(values, less.pushes, strict=True)]
        constant, total = constant - less.constant, total - less.logit
    kinds = {"start": 0.0, "attn": 0.0, "mlp": 0.0, "constant": constant}
    parts, blocks = [], [0.0] * look.n_layers
    for push, value in zip(found.pushes, values, strict=True):
        kinds[_kind(push.step)] += value
        if (block := elements.block(push.step)) is not None:
            blocks[block] += value
        parts.append((push.step, value))
    if constant:
        parts.append(("", constant))
    error = abs(sum(values) + constant - total)
    return Pushes(tuple(parts), total, error, kinds, tuple(blocks))


def _kind(step: str) -> str:
    return "start" if step.startswith("embed") else step.split(".")[2]


def _name(look: Look, step: str) -> str:
    """What a bar is called; a link to the block where it belongs to one."""
    if (block := elements.block(step)) is None:
        return esc(look.t(f"stream.part.{step.partition('.')[2] or 'constant'}"))
    return block_name(look, block, esc(f" {look.t(f'stream.part.{_kind(step)}')}"))


def waterfall(look: Look, found: Pushes) -> str:
    """The bars; the last one is the logit itself."""
    ends, at = [0.0], 0.0
    for _, value in found.parts:
        at += value
        ends.append(at)
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = (high - low) or 1.0
    zero = f"{100 * -low / span:.2f}%"
    rows, at = [], 0.0
    for step, value in found.parts:
        start, end = (at - low) / span, (at + value - low) / span
        rows.append(_bar(_name(look, step), start, end, value, zero))
        at += value
    total = esc(look.t("stream.pushes.total"))
    rows.append(_bar(total, -low / span, (found.total - low) / span, found.total, zero, "total"))
    return div("waterfall", *rows)


def _bar(name: str, start: float, end: float, value: float, zero: str, cls: str = "") -> str:
    left, width = min(start, end), abs(end - start)
    sign = "negative" if value < 0 else "positive"
    style = f"left:{100 * left:.2f}%;width:{100 * width:.2f}%"
    track = tag("span", tag("i", style=style, cls=sign), cls="track", style=f"--zero:{zero}")
    parts = tag("span", name), track, tag("span", signed(value), cls="value")
    return div(f"fall {cls}".strip(), *parts)


def kinds(look: Look, found: Pushes) -> str:
    """The same, summed by kind of part."""
    parts = [
        tag(
            "span",
            esc(look.t(f"stream.kinds.{key}")),
            " ",
            tag("b", signed(value)),
        )
        for key, value in found.kinds.items()
        if value
    ]
    return div("kinds", *parts)


def halves(look: Look, found: Pushes) -> str:
    """What the first half of the blocks and the second half pushed together; empty for few."""
    if look.n_layers < 4:
        return ""
    middle = look.n_layers // 2
    values = {"last": middle - 1, "next": middle, "end": look.n_layers - 1}
    early = sum(found.blocks[:middle])
    sums = {"early": signed(early), "late": signed(sum(found.blocks[middle:]))}
    return look.t("stream.pushes.halves", **values, **sums)


def choice(look: Look, found: Sequence[Candidate], rank: int, here: int | None) -> str:
    """The candidates to compare with, or none."""
    options = [(NONE, look.t("stream.pushes.alone"), here is None)]
    options += [
        (str(i), shown(candidate.text, 14), i == here)
        for i, candidate in enumerate(found)
        if i != rank
    ]
    links = ((text, on, look.state.link(**{AGAINST: value})) for value, text, on in options)
    return picks(look.t("stream.pushes.against"), links)


def times(one: Candidate, other: Candidate) -> str:
    """How many times as likely one is."""
    return f"{one.prob / other.prob:.3g}"
