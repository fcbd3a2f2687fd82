"""What followed from a change: every step of two traces compared, tokens aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from torch import Tensor

from core.changes.align import Rows
from core.graph import StepDiff, compare
from core.graph.op import Input
from core.models.model import PromptTrace

TOKEN_AXES = ("pos", "query", "key")


@dataclass(frozen=True)
class Ripple:
    """The steps that are computed, in execution order, each with what differs in it.

    rows: for each token of the second trace the one of the first that it was compared with.
    new: positions of the second trace that the first has no counterpart for.
    """

    diffs: tuple[StepDiff, ...]
    rows: Rows

    def __getitem__(self, name: str) -> StepDiff:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, StepDiff]:
        return {diff.name: diff for diff in self.diffs}

    @cached_property
    def changed(self) -> tuple[StepDiff, ...]:
        return tuple(diff for diff in self.diffs if diff.changed)

    @property
    def count(self) -> int:
        """How many steps changed."""
        return len(self.changed)

    @property
    def new(self) -> tuple[int, ...]:
        return tuple(i for i, row in enumerate(self.rows) if row is None)

    @property
    def first(self) -> StepDiff | None:
        """The first step that changed."""
        return self.changed[0] if self.changed else None


def ripple(before: PromptTrace, after: PromptTrace, rows: Sequence[int | None] = ()) -> Ripple:
    """Compare every computed step of `after` with `before`, bit for bit.

    rows: which tokens correspond, see `align`; by default those at the same positions.
    Steps that only one of the two has count as changed, since nothing is there to compare with.
    """
    same = tuple(range(len(after)))
    rows = tuple(rows) or same
    straight = rows == same and len(before) == len(after)
    names = [*after.steps, *(name for name in before.steps if name not in after)]
    shared = _shared(before, after) if straight else frozenset()
    diffs = []
    for name in names:
        step = (after if name in after else before).step(name)
        if isinstance(step.op, Input):
            continue
        if name in shared:
            diffs.append(StepDiff(name, False, 0.0, 0.0, None, 0, (), (before.shape(name),) * 2))
            continue
        old, new = _value(before, name), _value(after, name)
        if straight or old is None or new is None:
            diffs.append(compare(name, step.axes, old, new))
        else:
            diffs.append(_aligned(name, step.axes, old, new, rows))
    return Ripple(tuple(diffs), rows)


def _value(trace: PromptTrace, name: str) -> Tensor | None:
    if name not in trace:
        return None
    return trace[name]


def _shared(before: PromptTrace, after: PromptTrace) -> frozenset[str]:
    """The steps that `after` takes from `before`: the very same values."""
    shared, trace = set(after.steps), after
    while trace is not before:
        if trace.base is None:
            return frozenset()
        shared -= trace.reached
        trace = trace.base
    return frozenset(shared)


def _aligned(
    name: str, axes: Iterable[str], old: Tensor, new: Tensor, rows: Sequence[int | None]
) -> StepDiff:
    """Compare what corresponds; what is new counts as changed at its positions."""
    axes = tuple(axes)
    here = [i for i, row in enumerate(rows) if row is not None]
    there = [row for row in rows if row is not None]
    for axis, word in enumerate(axes):
        if word in TOKEN_AXES:
            old = old.index_select(axis, _places(old, there))
            new = new.index_select(axis, _places(new, here))
    found = compare(name, axes, old, new)
    added = [i for i, row in enumerate(rows) if row is None]
    own = next((axis for axis, word in enumerate(axes) if word in TOKEN_AXES), None)
    if own is None or None in found.shapes:
        return found
    where = found.where
    if where is not None:
        where = tuple(
            here[i] if word in TOKEN_AXES else i for i, word in zip(where, axes, strict=True)
        )
    positions = tuple(sorted({*(here[i] for i in found.positions), *added}))
    return replace(found, changed=found.changed or bool(added), where=where, positions=positions)


def _places(like: Tensor, rows: Sequence[int]) -> Tensor:
    return like.new_tensor(rows, dtype=int) if rows else like.new_empty(0, dtype=int)
