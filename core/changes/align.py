"""Which token of one text is which of another."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile

Rows = tuple[int | None, ...]


def align(before: Sequence[int], after: Sequence[int]) -> Rows:
    """For each token of `after` the position in `before` that it corresponds to; None if new.

    What the two begin and end with stays where it is. Between, runs that stayed are matched first,
    then tokens that moved, then those that stand in the place of another one. Each position of
    `before` occurs once at most.
    """
    first = _alike(before, after)
    last = _alike(before[first:][::-1], after[first:][::-1])
    stop_before, stop_after = len(before) - last, len(after) - last
    middle = _between(before[first:stop_before], after[first:stop_after])
    return (
        *range(first),
        *(None if row is None else first + row for row in middle),
        *range(stop_before, len(before)),
    )


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens the two have in common at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _between(before: Sequence[int], after: Sequence[int]) -> list[int | None]:
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    rows: list[int | None] = [None] * len(after)
    for kind, start, _, first, last in blocks:
        if kind == "equal":
            rows[first:last] = range(start, start + last - first)
    free = sorted(set(range(len(before))) - set(rows))
    for i in (i for i, row in enumerate(rows) if row is None):
        moved = next((j for j in free if before[j] == after[i]), None)
        if moved is not None:
            rows[i] = moved
            free.remove(moved)
    for kind, start, stop, first, last in blocks:
        if kind == "replace":
            left = [j for j in free if start <= j < stop]
            open_ = [i for i in range(first, last) if rows[i] is None]
            for i, j in zip(open_, left, strict=False):
                rows[i] = j
    return rows
