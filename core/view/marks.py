"""Which numbers of a drawing changed, and what they were: the same marks on every picture.

    found = marks(look, "blocks.0.attn.q", (0, look.token, None))
    cell("span", "0.31", found.was(2))          # framed, with "was 0.25" where it changed

Grids mark their own cells, see `compare.marked`. A drawing shows the trace of `look.trace`; also
where the grids show the difference, it stays with the numbers after the change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.graph import Ref
from core.view.cut import Part, take
from core.view.figures import svg
from core.view.html import number, tag
from core.view.look import Look
from core.view.texts import Text

MOST = 6  # digits after the point, to tell old and new apart
Place = int | tuple[int, ...]


@dataclass(frozen=True)
class Marks:
    """For each number of a slice whether it changed, what it is, and was: NaN if it is new."""

    t: Text
    before: np.ndarray
    now: np.ndarray
    changed: np.ndarray

    def part(self, at: slice | Place) -> Marks:
        return Marks(self.t, self.before[at], self.now[at], self.changed[at])

    def was(self, place: Place = ()) -> str:
        """What a number was, in words; empty if it did not change."""
        if not self.changed[place]:
            return ""
        old, new = float(self.before[place]), float(self.now[place])
        if np.isnan(old):
            return self.t("matrix.new")
        told = apart(old, new)
        if told is None:
            return f"{self.t('matrix.was')} {exact(old)}"
        return f"{self.t('matrix.was')} {told[0]}, {self.t('matrix.now')} {told[1]}"

    def some(self) -> str:
        """How many of the numbers changed, in words; empty if none did."""
        n, total = int(np.count_nonzero(self.changed)), self.changed.size
        return self.t("ripple.marks", n=n, total=total) if n else ""

    def rows(self) -> np.ndarray:
        """The rows in which anything changed."""
        return self.changed.reshape(len(self.changed), -1).any(axis=1)


def apart(old: float, new: float) -> tuple[str, str] | None:
    """Both with as few digits more as tell them apart, where they look alike; None elsewhere."""
    if number(old) != number(new):
        return None
    written = ((number(old, digits), number(new, digits)) for digits in range(3, MOST + 1))
    return next((pair for pair in written if pair[0] != pair[1]), None)


def exact(value: float) -> str:
    """An old value with enough digits to tell it from the new one, as far as that is short."""
    return number(value) if round(value, 2) == value else number(value, 4)


def marks(look: Look, name: str, index: tuple[Part, ...]) -> Marks:
    """The marks of a slice of a step or weight; `index` as in `cut`.

    None are set where nothing was changed, where the numbers from before are shown, and where
    those have nothing of this shape.
    """
    before = _before(look, name, index)
    if before is None:  # the step itself may be large, so it is not read
        shape = _shape(look, name, index)
        none = np.broadcast_to(0.0, shape)  # no memory: nothing is written there
        return Marks(look.t, none, none, np.broadcast_to(False, shape))
    now = take(look.trace, name, index).astype(np.float64)
    changed = (before != now) & ~(np.isnan(before) & np.isnan(now))
    return Marks(look.t, before, now, changed)


def _before(look: Look, name: str, index: tuple[Part, ...]) -> np.ndarray | None:
    compared = look.compared
    if compared is None or look.side == "before":
        return None
    if name in compared.shared:
        return None
    return compared.values_before(name, index)


def _shape(look: Look, name: str, index: tuple[Part, ...]) -> list[int]:
    sizes = look.trace.shape(name)
    parts = (*index, *[None] * (len(sizes) - len(index)))
    return [
        size if part is None else len(part)
        for part, size in zip(parts, sizes, strict=True)
        if not isinstance(part, int)
    ]


def was(look: Look, ref: Ref) -> str:
    """What one element was, in words; empty if it did not change."""
    return marks(look, ref.name, ref.index).was()


def beside(rows: np.ndarray) -> str:
    """A line along the side of a picture, drawn where a row changed; empty if none did."""
    if not rows.any():
        return ""
    blocks = [f'<rect width="1" height="1" y="{i}"/>' for i in np.flatnonzero(rows)]
    return tag("i", cls="changed-rows", style=f"mask-image:url({svg(1, len(rows), blocks)})")
