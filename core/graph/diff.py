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
    """

    name: str
    changed: bool
    largest: float
    relative: float
    where: tuple[int, ...] | None
    count: int
    positions: tuple[int, ...]
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None]


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
    a, b = (value.detach().cpu() for value in _alike(a, b))
    if torch.equal(a, b):
        return StepDiff(name, False, 0.0, 0.0, None, 0, (), shapes)
    gap = (a - b).abs()
    if not gap.sum().isfinite():  # equal infinities, or NaN in one: what subtracting gives is NaN
        equal = (a == b) | (a.isnan() & b.isnan())
        gap = torch.where(equal, 0.0, gap.nan_to_num(nan=torch.inf, posinf=torch.inf))
    differs = gap != 0
    if not differs.any():
        return StepDiff(name, False, 0.0, 0.0, None, 0, (), shapes)
    where = tuple(int(i) for i in torch.unravel_index(gap.argmax(), gap.shape))
    # Exactly as the difference of two numbers; the type of the values may round it.
    largest = abs(a[where].item() - b[where].item()) if gap[where].isfinite() else math.inf
    scale = torch.where(a.isfinite(), a, 0.0).abs().max().item()
    relative = largest / scale if scale else math.inf
    positions = _positions(tuple(axes), differs)
    count = int(differs.sum())
    return StepDiff(name, True, largest, relative, where, count, positions, shapes)


def _alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the wider of their types; whole numbers as float64."""
    wider = torch.promote_types(a.dtype, b.dtype)
    wider = wider if wider.is_floating_point and wider.itemsize >= 4 else torch.float64
    return a.to(wider), b.to(wider)


def _positions(axes: tuple[str, ...], differs: Tensor) -> tuple[int, ...]:
    """The token positions at which anything differs; attention arrays count by query."""
    axis = next((i for i, word in enumerate(axes) if word in ("pos", "query")), None)
    if axis is None:
        return ()
    others = [i for i in range(differs.ndim) if i != axis]
    rows = differs.any(dim=others) if others else differs
    return tuple(rows.nonzero().flatten().tolist())
