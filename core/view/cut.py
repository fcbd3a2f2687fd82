"""A slice of a step or weight, ready to be drawn as rows and columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from core.graph import Ref
from core.models.model import PromptTrace
from core.view import elements, scale
from core.view.arrays import array

DIGITS = 2  # after the point, where the numbers are not all small
ENOUGH = 5000  # values that the number of digits is read from
KINDS = {
    "attn.weights": "share",
    "probs": "share",
    "embed.onehot": "share",
    "tokens.ids": "plain",
    "tokens.positions": "plain",
}
ARRAYS = ("values", "masked", "struck", "before", "changed", "new")  # one element for each cell
PICKS = {"pos": "token", "query": "token", "key": "token", "head": "head"}

Part = int | None | Sequence[int]


@dataclass(frozen=True)
class Side:
    """The rows or columns of a matrix: an axis word, and which of its indices are shown.

    labels: instead of those that follow from the axis; empty for those.
    """

    word: str
    at: tuple[int, ...]
    labels: tuple[str, ...] = ()

    def part(self, at: slice) -> Side:
        return replace(self, at=self.at[at], labels=self.labels[at])


@dataclass(frozen=True)
class Cut:
    """A slice of a step or weight, ready to be drawn.

    index: as it was asked for, None and sequences for the axes that are drawn; axes: which of
    them are the rows and the columns, -1 for none. kind: signed, share or plain.
    masked: True where a cell is hidden; struck: where dropout set it to 0. before: the old values,
    where something was changed, NaN for what is new; changed: True where they differ, by default
    wherever they do. new: True where a difference has nothing to be taken from, so that its value
    is NaN.
    picks: what a click on a row's or column's label chooses.
    """

    name: str
    index: tuple[Part, ...]
    axes: tuple[int, int]
    values: np.ndarray
    rows: Side
    columns: Side
    kind: str
    limit: float
    digits: int
    masked: np.ndarray | None = None
    struck: np.ndarray | None = None
    before: np.ndarray | None = None
    changed: np.ndarray | None = None
    new: np.ndarray | None = None
    title: str = ""
    note: str = ""
    picks: dict[str, str] = field(default_factory=dict)

    def place(self, ref: Ref) -> tuple[int, int] | None:
        """Row and column of an element, if it is part of this slice."""
        if ref.name != self.name:
            return None
        place = [0, 0]
        for axis, (part, i) in enumerate(zip(self.index, ref.index, strict=True)):
            if axis in self.axes:
                side = self.axes.index(axis)
                at = (self.rows, self.columns)[side].at
                if i not in at:
                    return None
                place[side] = at.index(i)
            elif part != i:
                return None
        return place[0], place[1]

    def window(self, corner: Sequence[int], size: Sequence[int]) -> Cut:
        """The part of it that lies in a window, with its own labels."""
        rows, columns = (slice(i, i + n) for i, n in zip(corner, size, strict=True))
        arrays = {key: getattr(self, key) for key in ARRAYS}
        parts = {key: None if a is None else a[rows, columns] for key, a in arrays.items()}
        sides = {"rows": self.rows.part(rows), "columns": self.columns.part(columns)}
        return replace(self, **parts, **sides, title="", note="")


def cut(
    trace: PromptTrace,
    name: str,
    index: tuple[Part, ...] | None = None,
    *,
    title: str = "",
    note: str = "",
    kind: str | None = None,
    limit: float | None = None,
    digits: int | None = None,
    transposed: bool = False,
    row_labels: Sequence[str] = (),
    column_labels: Sequence[str] = (),
    before: np.ndarray | None = None,
    picks: bool = True,
) -> Cut:
    """The slice of `name` at `index`: an integer fixes an axis, None shows it, a list some of it.

    One or two axes are shown; a single one is a column if it runs over tokens, else a row.
    kind: signed, share or plain. limit: where the colour scale ends, by default where it ends
    on every page; see `scale`. digits: after the point; by default as few as show every value
    exactly, or 2.
    transposed: columns become rows. before: old values, in the slice's own shape.
    Raises ValueError.
    """
    words = elements.axes(trace, name)
    index = index or (None,) * len(words)
    axes = _axes(name, words, index, transposed)
    values = as_matrix(take(trace, name, index), axes)
    if before is not None:
        before = as_matrix(np.asarray(before, np.float64), axes)
    rows = _side(trace, name, index, axes[0], row_labels)
    columns = _side(trace, name, index, axes[1], column_labels)
    chosen = {"row": PICKS.get(rows.word), "column": PICKS.get(columns.word)} if picks else {}
    return Cut(
        name,
        index,
        axes,
        values,
        rows,
        columns,
        kind=kind or KINDS.get(elements.role(name), "signed"),
        limit=limit or scale.end(trace, name),
        digits=digits_for(values, trace.model.dtype.itemsize) if digits is None else digits,
        masked=_masked(trace, name, index, axes, values),
        before=before,
        changed=None if before is None else before != values,
        title=title,
        note=note,
        picks={side: what for side, what in chosen.items() if what},
    )


def _axes(
    name: str, words: tuple[str, ...], index: tuple[Part, ...], transposed: bool
) -> tuple[int, int]:
    """Which axes are the rows and the columns."""
    drawn = [i for i, part in enumerate(index) if not isinstance(part, int)]
    if len(index) != len(words) or len(drawn) not in (1, 2):
        raise ValueError(f"{name} {words}: one or two of the axes can be drawn, not {index}")
    if len(drawn) == 1:
        drawn = [drawn[0], -1] if words[drawn[0]] in elements.TOKEN_AXES else [-1, drawn[0]]
    return (drawn[1], drawn[0]) if transposed else (drawn[0], drawn[1])


def as_matrix(values: np.ndarray, axes: tuple[int, int]) -> np.ndarray:
    """The values of a slice as rows and columns."""
    if axes[1] < 0:
        return values.reshape(-1, 1)
    if axes[0] < 0:
        return values.reshape(1, -1)
    return values if axes[0] < axes[1] else values.T


def take(trace: PromptTrace, name: str, index: tuple[Part, ...]) -> np.ndarray:
    """The values at an index whose parts are integers, None or lists; shared, so read only."""
    if name in trace and trace.step(name).tile and index[0] is not None:
        # Of a step as wide as the vocabulary no more than these rows, which may be computed alone.
        first, *index = index
        if isinstance(first, int):
            value = trace.row(name, first)
        else:
            value, index = torch.stack([trace.row(name, row) for row in first]), [None, *index]
    else:
        value = trace.weights[name] if name in trace.weights else trace[name]
    for axis in reversed(range(len(index))):
        if isinstance(part := index[axis], int):
            value = value.select(axis, part)
    # Only now, for these copy: of one head, not of all.
    parts = [part for part in index if not isinstance(part, int)]
    for axis, part in enumerate(parts):
        if part is not None:
            value = value[(slice(None),) * axis + (_span(part),)]
    return array(value)


def _span(part: Sequence[int]) -> slice | list[int]:
    """Places from 0 up; as a slice where they follow each other, which takes no copy."""
    span = range(part[0], part[0] + len(part)) if part else range(0)
    return slice(span.start, span.stop) if list(part) == list(span) else list(part)


def _masked(
    trace: PromptTrace,
    name: str,
    index: tuple[Part, ...],
    axes: tuple[int, int],
    values: np.ndarray,
) -> np.ndarray | None:
    """Where a key is hidden: its score is −∞, and its share is 0 because of that."""
    if "key" not in elements.axes(trace, name):
        return None
    if name.endswith("attn.weights"):
        scores = name.removesuffix("weights") + "scores_masked"
        values = as_matrix(take(trace, scores, index), axes)
    hidden = np.isneginf(values)
    return hidden if hidden.any() else None


def _side(
    trace: PromptTrace, name: str, index: tuple[Part, ...], axis: int, labels: Sequence[str]
) -> Side:
    if axis < 0:
        return Side("value", (0,), tuple(labels) or ("",))
    part = index[axis]
    at = tuple(range(trace.shape(name)[axis])) if part is None else tuple(part)
    return Side(elements.axes(trace, name)[axis], at, tuple(labels))


def digits_for(values: np.ndarray, bytes_each: int = 8) -> int:
    """Digits after the point: as few as show every value exactly, or else two.

    Where all numbers are small, more, so that the largest keeps two that say something; one where
    they are large.
    """
    some = values.ravel()[:: max(1, values.size // ENOUGH)].astype(np.float64)
    finite = np.abs(some[np.isfinite(some)])
    top = float(finite.max()) if finite.size else 0.0
    most = DIGITS
    while most < 6 and 0 < top < 10 ** (1 - most):
        most += 1
    if top >= 10:
        most = 1
    error = 1e-9 if bytes_each == 8 else 1e-6
    for digits in range(most):
        if np.all(np.abs(finite - np.round(finite, digits)) <= error * np.maximum(finite, 1)):
            return digits
    return most
