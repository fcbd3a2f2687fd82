"""Two traces, or two sets of values, compared step by step in execution order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.trace import Trace

SMALL = 2**16  # values up to which those of several steps are put beside each other


@dataclass(frozen=True)
class StepDiff:
    """What differs in one step.

    changed: any element differs in its value, or the step is there only once, or shapes differ.
    largest: the largest absolute difference, at index `where`; inf if one of the two is infinite
    or not a number, or if the shapes differ.
    relative: largest, over the largest finite absolute value in the first trace.
    count: how many elements differ.
    shapes: of the first and the second, None where a step is missing.
    rows: the largest difference at each index along the token axis. relative_rows: each over the
    largest finite absolute value that the first has there. Both are empty if nothing changed, if
    there is no such axis, or if the two cannot be compared.
    """

    name: str
    changed: bool
    largest: float
    relative: float
    where: tuple[int, ...] | None
    count: int
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
    rows: tuple[float, ...] = ()
    relative_rows: tuple[float, ...] = ()

    @property
    def positions(self) -> tuple[int, ...]:
        """The indices along the token axis where any element differs."""
        return tuple(i for i, row in enumerate(self.rows) if row)


@dataclass(frozen=True)
class Pair:
    """Two values of one step, or one where the other is missing."""

    name: str
    axes: tuple[str, ...]
    a: Tensor | None
    b: Tensor | None

    @property
    def shapes(self) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        return tuple(None if value is None else tuple(value.shape) for value in (self.a, self.b))


def diff(a: Trace, b: Trace) -> list[StepDiff]:
    """All steps of `a` in execution order, then those that only `b` has."""
    names = [*a.steps, *(name for name in b.steps if name not in a)]
    return [_step_diff(a, b, name) for name in names]


def _step_diff(a: Trace, b: Trace, name: str) -> StepDiff:
    axes = (a if name in a else b).step(name).axes
    return compare(name, axes, _value(a, name), _value(b, name))


def _value(trace: Trace, name: str) -> Tensor | None:
    if name not in trace:
        return None
    return trace[name]


def compare(name: str, axes: Iterable[str], a: Tensor | None, b: Tensor | None) -> StepDiff:
    """Compare two values of one step; one of them may be missing."""
    return compare_all([Pair(name, tuple(axes), a, b)])[0]


@torch.no_grad()
def compare_all(pairs: Sequence[Pair]) -> list[StepDiff]:
    """Compare two values each of several steps, whose names differ.

    Small values of one shape are compared as one tensor: calls for each would take far longer than
    what they do.
    """
    found: dict[str, StepDiff] = {}
    groups: dict[tuple, list[Pair]] = defaultdict(list)
    for pair in map(_comparable, pairs):
        name, shapes = pair.name, pair.shapes
        if shapes[0] != shapes[1]:
            found[name] = StepDiff(name, True, math.inf, math.inf, None, 0, shapes)
        elif torch.equal(pair.a, pair.b):
            found[name] = _same(pair)
        else:
            alone = name if pair.a.numel() > SMALL else ""
            key = _token_axis(pair.axes), shapes, pair.a.dtype, pair.a.device, alone
            groups[key].append(pair)
    for (axis, *_), group in groups.items():
        found |= {diff.name: diff for diff in _compared(group, axis)}
    return [found[pair.name] for pair in pairs]


def _comparable(pair: Pair) -> Pair:
    """In one place and of one type, if both are there: their CUDA card, and the wider of the two.

    Whole and short numbers as float64.
    """
    a, b = pair.a, pair.b
    if a is None or b is None:
        return pair
    place = a.device if a.device == b.device and a.is_cuda else torch.device("cpu")
    wider = torch.promote_types(a.dtype, b.dtype)
    wider = wider if wider.is_floating_point and wider.itemsize >= 4 else torch.float64
    return Pair(pair.name, pair.axes, a.to(place, wider), b.to(place, wider))


def _same(pair: Pair) -> StepDiff:
    return StepDiff(pair.name, False, 0.0, 0.0, None, 0, pair.shapes)


def _compared(pairs: Sequence[Pair], axis: int | None) -> list[StepDiff]:
    """Values of one shape and type. axis: which one counts their tokens."""
    # There may be millions of values: each is read as few times as can be.
    a, b = _stacked([pair.a for pair in pairs]), _stacked([pair.b for pair in pairs])
    axis = None if axis is None else axis + 1  # after the one that counts the steps
    gap, far = _gap(a, b, axis)
    counts = [int(torch.count_nonzero(one)) for one in gap]
    places = _places(gap, far)
    size = _furthest(a, axis)
    if not _finite(size):
        size = _furthest(torch.where(a.isfinite(), a, 0.0), axis)
    rows, sizes = _by_token(far, axis), _by_token(size, axis)
    columns = counts, places, _exact(a, b, places), _highest(size), rows, _shares(rows, sizes)
    columns = (x.tolist() if isinstance(x, Tensor) else x for x in columns)
    return [_found(pair, *values) for pair, *values in zip(pairs, *columns, strict=True)]


def _found(
    pair: Pair,
    count: int,
    place: int,
    largest: float,
    size: float,
    rows: list[float],
    shares: list[float],
) -> StepDiff:
    """place, largest: of the largest difference. size: of the furthest number of the first."""
    if not count:  # NaN in both
        return _same(pair)
    where, relative = _index(place, pair.a.shape), _share(largest, size)
    found = pair.name, True, largest, relative, where, count, pair.shapes
    return StepDiff(*found, tuple(rows), tuple(shares))


def _stacked(values: Sequence[Tensor]) -> Tensor:
    """As one tensor, with one more axis; a single value is not copied."""
    return values[0][None] if len(values) == 1 else torch.stack(values)


def _gap(a: Tensor, b: Tensor, axis: int | None) -> tuple[Tensor, Tensor]:
    """How far b is from a, infinitely where one of two is infinite or not a number; `_furthest`."""
    gap = b - a
    far = _furthest(gap, axis)
    if not _finite(far):  # equal infinities, or NaN in one: what subtracting gives is NaN
        equal = (a == b) | (a.isnan() & b.isnan())
        infinite = gap.abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
        gap = torch.where(equal, 0.0, infinite)
        far = _furthest(gap, axis)
    return gap, far


def _token_axis(axes: tuple[str, ...]) -> int | None:
    """The axis that counts the tokens; attention arrays count by query."""
    return next((i for i, word in enumerate(axes) if word in ("pos", "query")), None)


def _furthest(values: Tensor, axis: int | None) -> Tensor:
    """How far from 0 the furthest is along the last axis, unless that counts tokens or steps."""
    if axis == values.ndim - 1 or values.ndim == 1:
        return values.abs()
    return torch.maximum(-values.amin(dim=-1), values.amax(dim=-1))


def _places(gap: Tensor, far: Tensor) -> Tensor:
    """Where in each step, as if flat, the largest difference is; of several, the first."""
    n, last = len(gap), gap.shape[-1]
    places = far.reshape(n, -1).argmax(1)
    if far.ndim == gap.ndim:
        return places
    rows = gap.reshape(n, -1, last)[torch.arange(n, device=gap.device), places]
    return places * last + rows.abs().argmax(1)


def _exact(a: Tensor, b: Tensor, places: Tensor) -> Tensor:
    """The difference of the two numbers there, which the type of the values may round."""
    one, other = (x.reshape(len(x), -1).gather(1, places[:, None])[:, 0].double() for x in (a, b))
    return (one - other).abs().nan_to_num(nan=torch.inf, posinf=torch.inf)


def _highest(size: Tensor) -> Tensor:
    """Of all in a step."""
    return size.reshape(len(size), -1).amax(1)


def _index(flat: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Where in a tensor of these sizes its `flat`th element stands."""
    where: tuple[int, ...] = ()
    for size in reversed(sizes):
        flat, i = divmod(flat, size)
        where = (i, *where)
    return where


def _finite(far: Tensor) -> bool:
    """Whether all of these are numbers, which none is if the largest is not."""
    return math.isfinite(far.max().item())


def _by_token(far: Tensor, axis: int | None) -> Tensor:
    """The furthest of all for each token [step, token]; without tokens there are no columns."""
    if axis is None:
        return far.new_empty(len(far), 0)
    others = [i for i in range(1, far.ndim) if i != axis]
    return far.amax(dim=others) if others else far


def _shares(parts: Tensor, wholes: Tensor) -> Tensor:
    """`_share` of each, as float64; of -0 too, what there is is infinitely much."""
    return (parts.double() / wholes.double().abs()).nan_to_num(nan=0.0, posinf=torch.inf)


def _share(part: float, whole: float) -> float:
    """A part of a whole; of nothing, something is infinitely much."""
    return part / whole if whole else math.inf if part else 0.0
