"""From a list of changes to a trace in which they are in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.changes.change import Change, Patch, Put, Switch
from core.changes.switches import settings, switched
from core.graph import EditError
from core.graph.edit import EditIndex
from core.models.model import PromptError, PromptTrace
from core.models.tokenizer import UnknownWord

Reader = Callable[[str], PromptTrace]


@dataclass(frozen=True)
class Applied:
    """A trace with changes in force, and those that do not fit its model or text."""

    trace: PromptTrace
    unfit: tuple[Change, ...] = ()


def apply(before: PromptTrace, changes: Iterable[Change], read: Reader | None = None) -> Applied:
    """`before` with all changes that fit: switches first, then elements in the order of the list.

    read: the trace of another text, for patches; by default the model's own. A change fits if its
    place exists and its value can be there; the others are left out, never an error.
    """
    changes = tuple(changes)
    unfit: list[Change] = []
    trace = _switched(before, [c for c in changes if isinstance(c, Switch)], unfit)
    edits: dict[str, dict[EditIndex, float | Tensor]] = {}
    for change in changes:
        if isinstance(change, Switch):
            continue
        try:
            value = _value(before, change, read or before.model.trace)
            trace.check_edits({change.name: {change.index: value}})
        except (EditError, PromptError, UnknownWord):
            unfit.append(change)
            continue
        places = edits.setdefault(change.name, {})
        places.pop(change.index, None)  # so that the later one of two comes last
        places[change.index] = value
    return Applied(trace.edit(edits) if edits else trace, tuple(unfit))


def _switched(trace: PromptTrace, switches: list[Switch], unfit: list[Change]) -> PromptTrace:
    """The trace with as many of the switches as go together, in their order."""
    values: dict[str, str] = {}
    for switch in switches:
        wanted = values | {switch.setting: switch.value}
        if switched(trace.model, wanted) is None:
            unfit.append(switch)
        else:
            values = wanted
    found = settings(trace.model.config, values)
    return trace.switch(**found) if found else trace


def _value(before: PromptTrace, change: Put | Patch, read: Reader) -> float | Tensor:
    """What the elements become. Raises EditError, and what `read` raises."""
    if isinstance(change, Put):
        return change.value
    source = read(change.text)
    if change.name not in source or change.name not in before:
        raise EditError(f"only steps can be taken from another text, not {change.name}")
    value = source[change.name]
    if _rest(change.index, source.shape(change.name)) != _rest(
        change.index, before.shape(change.name)
    ):
        raise EditError(f"the other text has no {change.name} of that shape")
    for axis in reversed(range(value.ndim)):
        if change.index[axis] is not None:
            value = value.select(axis, change.index[axis])
    with torch.inference_mode():
        return value.clone()


def _rest(index: EditIndex, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what an index picks. Raises EditError if there is no such element."""
    inside = len(index) == len(shape) and all(
        i is None or 0 <= i < size for i, size in zip(index, shape, strict=True)
    )
    if not inside:
        raise EditError(f"no element {index} in the shape {shape}")
    return tuple(size for i, size in zip(index, shape, strict=True) if i is None)
