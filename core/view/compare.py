"""Before and after: the unedited trace beside the one with a visitor's changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from core.changes import Applied, Ripple, ripple, shared
from core.changes.align import Rows
from core.models.model import PromptTrace
from core.view import elements
from core.view.cut import Cut, Part, as_matrix, take

SIDES = ("after", "before", "difference")


@dataclass(frozen=True)
class Comparison:
    """Two traces, and which token of the second is which of the first.

    applied: the second, with the changes that do not fit it.
    """

    before: PromptTrace
    applied: Applied
    rows: Rows

    @property
    def after(self) -> PromptTrace:
        return self.applied.trace

    @cached_property
    def ripple(self) -> Ripple:
        """What differs, in every step."""
        return ripple(self.before, self.after, self.rows)

    @property
    def is_compared(self) -> bool:
        """Whether `ripple` is at hand; to find it all steps are computed."""
        return "ripple" in vars(self)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The steps whose values are the very same tensors in both."""
        return shared(self.before, self.after, self.rows)

    def values_before(self, name: str, index: tuple[Part, ...]) -> np.ndarray | None:
        """What a slice of the second trace was in the first, NaN where it has no counterpart.

        None if the first has nothing of its shape.
        """
        if not self._alike(name):
            return None
        words, shape = elements.axes(self.after, name), self.after.shape(name)
        places: list[Part] = []
        new = np.zeros((), bool)
        for word, part, size in zip(words, index, shape, strict=True):
            rows = self._rows(part, size) if word in elements.TOKEN_AXES else None
            places.append(part if rows is None else [row or 0 for row in rows])
            lacks = np.zeros(_count(part, size), bool)
            if rows is not None:
                lacks = np.array([row is None for row in rows])
            new = new[..., None] | lacks
        kept = tuple(0 if isinstance(part, int) else slice(None) for part in index)
        words_kept = tuple(
            0 if isinstance(part, int) and isinstance(place, list) else slice(None)
            for part, place in zip(index, places, strict=True)
            if not isinstance(place, int)
        )
        values = take(self.before, name, tuple(places))[words_kept]
        return np.where(new[kept], np.nan, values.astype(np.float64))

    def _alike(self, name: str) -> bool:
        """Whether the first trace has it with the same axes, as long but for tokens."""
        before, after = self.before, self.after
        if name not in before and name not in before.weights:
            return False
        words = elements.axes(after, name)
        return words == elements.axes(before, name) and all(
            word in elements.TOKEN_AXES or old == new
            for word, old, new in zip(words, before.shape(name), after.shape(name), strict=True)
        )

    def _rows(self, part: Part, size: int) -> list[int | None]:
        wanted = range(size) if part is None else [part] if isinstance(part, int) else part
        return [self.rows[i] for i in wanted]


def _count(part: Part, size: int) -> int:
    return size if part is None else 1 if isinstance(part, int) else len(part)


def marked(cut: Cut, compared: Comparison | None, side: str) -> Cut:
    """The slice with its changed cells and their old values, or as the difference from those.

    One that is marked stays as it is, and so does a window of it.
    """
    if compared is None or side == "before" or not (cut.before is cut.changed is None):
        return cut
    before = compared.values_before(cut.name, cut.index)
    if before is None:
        return cut
    before = as_matrix(before, cut.axes)
    now = cut.values.astype(np.float64)
    changed = now != before
    if side == "difference":
        with np.errstate(invalid="ignore"):
            gap = np.where(changed, now - before, 0.0)
        kind = "signed" if cut.kind == "share" else cut.kind
        new = np.isnan(before) & ~np.isnan(now)
        return replace(cut, values=gap, changed=changed, new=new, kind=kind)
    return replace(cut, before=before if changed.any() else None, changed=changed)
