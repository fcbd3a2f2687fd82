"""Two traces, or two sets of values, compared step by step in execution order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.trace import Trace


@dataclass(frozen=True)
class StepDiff:
    """What differs in one step.

    changed: any element differs in its value, or the step is there only once, or shapes differ.
    largest: the largest absolute difference, at index `where`; inf if one of the two is infinite
    or not a number, or if the shapes differ.
    relative: largest, over the largest finite absolute value in the first trace.
    count: how many elements differ. positions: the indices along the token axis where any does.
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
    positions: tuple[int, ...]
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
    rows: tuple[float, ...] = ()
    relative_rows: tuple[float, ...] = ()


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
    shapes = tuple(None if value is None else tuple(value.shape) for value in (a, b))
    if a is None or b is None or a.shape != b.shape:
        return StepDiff(name, True, float("inf"), float("inf"), None, 0, (), shapes)
    a, b = _alike(*(value.detach().to(_place_of(a, b)) for value in (a, b)))
    if torch.equal(a, b):
        return StepDiff(name, False, 0.0, 0.0, None, 0, (), shapes)
    # There may be millions of values: each is read as few times as can be.
    axis = _token_axis(tuple(axes))
    gap, far = _gap(a, b, axis)
    count = int(torch.count_nonzero(gap))
    if not count:  # NaN in both
        return StepDiff(name, False, 0.0, 0.0, None, 0, (), shapes)
    where = _place(gap, far)
    # Exactly as the difference of two numbers; the type of the values may round it.
    largest = abs(a[where].item() - b[where].item())
    largest = math.inf if math.isnan(largest) else largest
    size = _furthest(a, axis)
    if not _finite(size):
        size = _furthest(torch.where(a.isfinite(), a, 0.0), axis)
    relative = _share(largest, size.max().item())
    rows, sizes = _by_token(far, axis), _by_token(size, axis)
    positions = tuple(i for i, row in enumerate(rows) if row)
    shares = tuple(map(_share, rows, sizes))
    return StepDiff(name, True, largest, relative, where, count, positions, shapes, rows, shares)


def _place_of(a: Tensor, b: Tensor) -> torch.device:
    """Where two values are compared: on their CUDA card, if both are there."""
    return a.device if a.device == b.device and a.is_cuda else torch.device("cpu")


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
    """How far from 0 the furthest is along the last axis, unless that is the token axis."""
    if not values.ndim or axis == values.ndim - 1:
        return values.abs()
    return torch.maximum(-values.amin(dim=-1), values.amax(dim=-1))


def _place(gap: Tensor, far: Tensor) -> tuple[int, ...]:
    """The index of the largest difference; of several, the first."""
    first, where = int(far.argmax()), ()
    for size in reversed(far.shape):
        first, i = divmod(first, size)
        where = (i, *where)
    if far.ndim < gap.ndim:
        where += (int(gap[where].abs().argmax()),)
    return where


def _finite(far: Tensor) -> bool:
    """Whether all of these are numbers, which none is if the largest is not."""
    return math.isfinite(far.max().item())


def _by_token(far: Tensor, axis: int | None) -> tuple[float, ...]:
    """The furthest of all for each token."""
    if axis is None:
        return ()
    others = [i for i in range(far.ndim) if i != axis]
    return tuple((far.amax(dim=others) if others else far).tolist())


def _share(part: float, whole: float) -> float:
    """A part of a whole; of nothing, something is infinitely much."""
    return part / whole if whole else math.inf if part else 0.0


def _alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the wider of their types; whole numbers as float64."""
    wider = torch.promote_types(a.dtype, b.dtype)
    wider = wider if wider.is_floating_point and wider.itemsize >= 4 else torch.float64
    return a.to(wider), b.to(wider)
