"""Which token of one text is which of another."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

Rows = tuple[int | None, ...]


def align(before: Sequence[int], after: Sequence[int]) -> Rows:
    """For each token of `after` the position in `before` that it corresponds to; None if new.

    Runs that stayed are matched first, then tokens that moved, then those that stand in the place
    of another one. Each position of `before` occurs once at most.
    """
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
    return tuple(rows)
