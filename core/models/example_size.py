"""The worked example in other sizes: within which limits, and as a short text for a link.

    read("d_model-4.n_heads-1")       # {"n_heads": 1, "d_model": 4}

Where a matrix is larger than the example's, the example's numbers stay in its upper left corner;
a smaller one is cut. What is new is a small number of its own for each matrix and place, whatever
the size, so that a matrix does not depend on the order in which sizes were chosen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import product

import torch
from torch import Tensor

from core.models.config import ConfigError

# The settings that make up the size, each with its least and its most.
LIMITS = {
    "n_layers": (0, 4),
    "n_heads": (1, 4),
    "d_model": (2, 8),
    "d_head": (1, 4),
    "d_mlp": (0, 16),
    "n_vocab": (3, 12),
    "n_ctx": (3, 12),
}
PART = re.compile(r"([a-z_]{1,20})-([0-9]{1,3})")
LARGEST = 0.5  # of the numbers that fill up a matrix


def read(text: str) -> dict[str, int]:
    """The sizes that a text names; "" names none. Raises ConfigError."""
    sizes: dict[str, int] = {}
    for part in text.split(".") if text else []:
        found = PART.fullmatch(part)
        if found is None or found[1] not in LIMITS or found[1] in sizes:
            raise ConfigError(f"{part[:40]!r} is not one size; there are {', '.join(LIMITS)}")
        name, size = found[1], int(found[2])
        least, most = LIMITS[name]
        if not least <= size <= most:
            raise ConfigError(f"{name} can be {least} to {most}, not {size}")
        sizes[name] = size
    return {name: sizes[name] for name in LIMITS if name in sizes}


def write(sizes: Mapping[str, int]) -> str:
    """Sizes as a text, always in the same order."""
    return ".".join(f"{name}-{sizes[name]}" for name in LIMITS if name in sizes)


def fitted(role: str, given: Tensor, shape: Sequence[int]) -> Tensor:
    """A matrix of this shape with `given` in its upper left corner, cut or filled up."""
    numbers = [
        given[place].item()
        if all(i < size for i, size in zip(place, given.shape, strict=True))
        else filling(role, place)
        for place in product(*map(range, shape))
    ]
    return torch.tensor(numbers, dtype=given.dtype).reshape(tuple(shape))


def filling(role: str, place: Sequence[int]) -> float:
    """The number of a place that the example lacks: two decimals, no larger than LARGEST."""
    name = f"{role} {' '.join(map(str, place))}"
    number = int.from_bytes(blake2b(name.encode(), digest_size=4).digest())
    return round((2 * number / 2**32 - 1) * LARGEST, 2) + 0.0  # no minus zero
