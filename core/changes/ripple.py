"""What followed from a change: every step of two traces compared, tokens aligned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import torch
from torch import Tensor

from core.changes.align import Rows
from core.graph import Pair, Step, StepDiff, compare_all
from core.graph.op import Input
from core.models.model import PromptTrace

TOKEN_AXES = ("pos", "query", "key")
ROUNDING = {torch.float64: 1e-12, torch.float32: 1e-6}  # relative; of other types some times theirs
TIMES = 8
TOGETHER = 2**22  # values that are read and compared at once, if more than one block has fewer


@dataclass(frozen=True)
class Ripple:
    """The steps that are computed, in execution order, each with what differs in it.

    rows: for each token of the second trace the one of the first that it was compared with.
    new: positions of the second trace that the first has no counterpart for.
    rounding: a relative change below it is rounding alone. It is 0 where both texts are as long:
    then the same sums are added up in the same order.
    """

    diffs: tuple[StepDiff, ...]
    rows: Rows
    rounding: float = 0.0

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

    @cached_property
    def rounded(self) -> tuple[StepDiff, ...]:
        """Of the changed steps those that are equal up to rounding."""
        return tuple(diff for diff in self.changed if self.is_rounded(diff))

    def is_rounded(self, diff: StepDiff) -> bool:
        """Whether it differs by rounding alone, since a text of another length is summed up."""
        return not self.new and 0 < diff.relative < self.rounding

    @property
    def new(self) -> tuple[int, ...]:
        return tuple(i for i, row in enumerate(self.rows) if row is None)

    @property
    def first(self) -> StepDiff | None:
        """The first step that changed by more than rounding."""
        return next((diff for diff in self.changed if not self.is_rounded(diff)), None)


def ripple(before: PromptTrace, after: PromptTrace, rows: Sequence[int | None] = ()) -> Ripple:
    """Compare every computed step of `after` with `before`, bit for bit.

    rows: which tokens correspond, see `align`; by default those at the same positions.
    Steps that only one of the two has count as changed, since nothing is there to compare with.
    """
    straight = _are_straight(before, after, rows)
    rows = tuple(rows) or tuple(range(len(after)))
    same = shared(before, after, rows)
    steps = [(after if name in after else before).step(name) for name in _merged(before, after)]
    computed = [step for step in steps if not isinstance(step.op, Input)]
    diffs: list[StepDiff] = []
    for part in _parts(computed, before, after):
        diffs += _compared(before, after, part, same, () if straight else rows)
    return Ripple(tuple(diffs), rows, _rounding(before, after))


def _rounding(before: PromptTrace, after: PromptTrace) -> float:
    """The relative change that may be rounding alone; a type with few digits allows more."""
    if len(before) == len(after):
        return 0.0
    types = {trace.model.dtype for trace in (before, after)}
    return max(ROUNDING.get(dtype, TIMES * torch.finfo(dtype).eps) for dtype in types)


def _merged(before: PromptTrace, after: PromptTrace) -> list[str]:
    """All steps of `after`; those that only `before` has come where they were there."""
    names, place = after.steps, 0
    for name in before.steps:
        if name not in after:
            names.insert(place, name)
        place = names.index(name) + 1
    return names


def _parts(steps: Iterable[Step], before: PromptTrace, after: PromptTrace) -> Iterator[list[Step]]:
    """All steps in order, as many at once as are small; those of a block at least."""
    part: list[Step] = []
    size = 0
    for _, group in groupby(steps, key=lambda step: step.block):
        block = list(group)
        more = sum(
            math.prod((after if step.name in after else before).shape(step.name)) for step in block
        )
        if part and size + more > TOGETHER:
            yield part
            part, size = [], 0
        part, size = part + block, size + more
    if part:
        yield part


def _compared(
    before: PromptTrace,
    after: PromptTrace,
    steps: Sequence[Step],
    same: frozenset[str],
    rows: Sequence[int | None],
) -> list[StepDiff]:
    """Some steps; their values are read together, for then what they need is computed once."""
    computed = [step for step in steps if step.name not in same]
    names = [step.name for step in computed]
    old, new = (trace.read(n for n in names if n in trace) for trace in (before, after))
    pairs = [Pair(s.name, s.axes, old.get(s.name), new.get(s.name)) for s in computed]
    diffs = iter(_aligned(pairs, rows) if rows else compare_all(pairs))
    return [_untouched(before, s) if s.name in same else next(diffs) for s in steps]


def _untouched(before: PromptTrace, step: Step) -> StepDiff:
    return StepDiff(step.name, False, 0.0, 0.0, None, 0, (before.shape(step.name),) * 2)


def shared(
    before: PromptTrace, after: PromptTrace, rows: Sequence[int | None] = ()
) -> frozenset[str]:
    """The steps that `after` takes from `before`, token by token: the very same values."""
    found, trace = set(after.steps), after
    while trace is not before:
        if trace.base is None:
            return frozenset()
        found -= trace.reached
        trace = trace.base
    return frozenset(found) if _are_straight(before, after, rows) else frozenset()


def _are_straight(before: PromptTrace, after: PromptTrace, rows: Sequence[int | None]) -> bool:
    """Whether every token corresponds to the one at the same position."""
    same = tuple(range(len(after)))
    return len(before) == len(after) and tuple(rows) in ((), same)


def _aligned(pairs: Sequence[Pair], rows: Sequence[int | None]) -> list[StepDiff]:
    """Compare what corresponds; what is new counts as changed at its positions."""
    diffs = compare_all([_counterparts(pair, rows) for pair in pairs])
    return [_at_its_tokens(diff, pair, rows) for diff, pair in zip(diffs, pairs, strict=True)]


def _counterparts(pair: Pair, rows: Sequence[int | None]) -> Pair:
    """Of both values the tokens that the other one has too."""
    old, new = pair.a, pair.b
    if old is None or new is None:
        return pair
    here = [i for i, row in enumerate(rows) if row is not None]
    there = [row for row in rows if row is not None]
    for axis, word in enumerate(pair.axes):
        if word in TOKEN_AXES:
            old = old.index_select(axis, _places(old, there))
            new = new.index_select(axis, _places(new, here))
    return Pair(pair.name, pair.axes, old, new)


def _at_its_tokens(found: StepDiff, pair: Pair, rows: Sequence[int | None]) -> StepDiff:
    """What differs in the counterparts, at the tokens of the second trace; what is new, too."""
    here = [i for i, row in enumerate(rows) if row is not None]
    added = [i for i, row in enumerate(rows) if row is None]
    own = any(word in TOKEN_AXES for word in pair.axes)
    unlike = found.shapes[0] != found.shapes[1]
    if not own or unlike or not (found.changed or added):
        return found
    where = found.where
    if where is not None:
        where = tuple(
            here[i] if word in TOKEN_AXES else i for i, word in zip(where, pair.axes, strict=True)
        )
    return replace(
        found,
        changed=True,
        where=where,
        rows=_spread(found.rows, here, len(rows)),
        relative_rows=_spread(found.relative_rows, here, len(rows)),
    )


def _spread(values: Sequence[float], here: Sequence[int], length: int) -> tuple[float, ...]:
    """The values at the tokens that they are of; what is new is infinitely far from nothing."""
    spread = [math.inf] * length
    for i, value in zip(here, values or [0.0] * len(here), strict=True):
        spread[i] = value
    return tuple(spread)


def _places(like: Tensor, rows: Sequence[int]) -> Tensor:
    return like.new_tensor(rows, dtype=int) if rows else like.new_empty(0, dtype=int)
