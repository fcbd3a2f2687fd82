"""Setting elements of weights and steps by hand.

Edits are `{name: {index: value}}`. An index has one entry per axis; None stands for all of that
axis, so `{"blocks.0.attn.heads": {(2, None, None): 0.0}}` switches head 2 off. A value is a number,
or a tensor that fits the place it is put in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

EditIndex = tuple[int | None, ...]
Changes = Mapping[EditIndex, float | Tensor]
Edits = Mapping[str, Changes]


class EditError(ValueError):
    """An edit of something that is not there, or to something that is no value."""


def put(value: Tensor, changes: Changes) -> Tensor:
    """A copy of `value`, laid out like it, with the elements of `changes` set in turn."""
    for index, new in changes.items():
        place = torch.meshgrid(
            *(
                torch.arange(size, device=value.device)[slice(None) if i is None else i].flatten()
                for i, size in zip(index, value.shape, strict=True)
            ),
            indexing="ij",
        )
        new = torch.as_tensor(new, dtype=value.dtype, device=value.device)
        wanted = [size for i, size in zip(index, value.shape, strict=True) if i is None]
        value = value.index_put(place, new.expand(wanted).reshape(place[0].shape))
    return value


def merged(old: Edits, new: Edits) -> dict[str, dict[EditIndex, float | Tensor]]:
    """All edits of both; where they touch the same element, the new ones win."""
    return {name: _later(old.get(name, {}), new.get(name, {})) for name in [*old, *new]}


def _later(old: Changes, new: Changes) -> dict[EditIndex, float | Tensor]:
    """The old changes, then the new ones: an index that both have stands where the new one does."""
    return {index: value for index, value in old.items() if index not in new} | dict(new)


def resolved(edits: Edits, shape_of: Callable[[str], tuple[int, ...]]) -> dict[str, Changes]:
    """The edits with negative indices resolved; of two for one place the later one."""
    found: dict[str, dict[EditIndex, float | Tensor]] = {}
    for name, changes in edits.items():
        shape, places = shape_of(name), found.setdefault(name, {})
        for index, new in changes.items():
            place = tuple(i if i is None else i % n for i, n in zip(index, shape, strict=True))
            places.pop(place, None)
            places[place] = new
    return found


def same(a: Changes | None, b: Changes | None) -> bool:
    """Whether two sets of changes set the same elements, in the same order, to the same values."""
    a, b = a or {}, b or {}
    return list(a) == list(b) and all(
        new is old or (not isinstance(new, Tensor) and not isinstance(old, Tensor) and new == old)
        for new, old in zip(a.values(), b.values(), strict=True)
    )


def covers(changes: Changes, index: tuple[int, ...]) -> bool:
    """Whether one of the changes sets the element at `index`."""
    return any(
        all(part is None or part == i for part, i in zip(place, index, strict=True))
        for place in changes
    )


def _fits(shape: tuple[int, ...], place: tuple[int, ...]) -> bool:
    """Whether a tensor of one shape can be spread over another."""
    return len(shape) <= len(place) and all(
        size in (1, wanted) for size, wanted in zip(shape[::-1], place[::-1], strict=False)
    )


def check_edits(edits: Edits, shape_of: Callable[[str], tuple[int, ...]], largest: float) -> None:
    """Raise EditError unless every edit names an element that exists and a value that is one.

    largest: of all finite numbers that the elements can hold.
    """
    for name, changes in edits.items():
        _check_changes(name, shape_of(name), changes, largest)


def _check_changes(name: str, shape: tuple[int, ...], changes: Changes, largest: float) -> None:
    for index, new in changes.items():
        inside = len(index) == len(shape) and all(
            i is None or -size <= i < size for i, size in zip(index, shape, strict=True)
        )
        if not inside:
            raise EditError(f"{name} has no element {index}: its shape is {shape}")
        place = tuple(size for i, size in zip(index, shape, strict=True) if i is None)
        if isinstance(new, Tensor) and not _fits(new.shape, place):
            size = tuple(new.shape)
            raise EditError(f"{name}{list(index)} is {place}; {size} does not fit there")
        is_nan = new.isnan().any() if isinstance(new, Tensor) else math.isnan(new)
        if is_nan:
            raise EditError(f"{name}{list(index)} cannot be set to NaN")
        if not isinstance(new, Tensor) and largest < abs(new) < math.inf:
            raise EditError(f"{name}{list(index)} can be {largest:.3g} at most, not {new:g}")
