"""The KV cache: keys and values of the tokens so far, so that a decode step needs only the new one.

Queries are not kept: no later token asks for them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.models.model import ContextTooLong, Model, PromptTrace


class KVCache:
    """Room for the keys and values of every block, filled from the front.

    Rows are only ever added, so traces that read from a cache stay as they are. To go on from an
    earlier place, take a `copy`.
    """

    def __init__(self, model: Model, capacity: int | None = None) -> None:
        """capacity: in tokens; the model's context unless given."""
        self.model = model
        self.capacity = capacity or model.config.n_ctx
        self.length = 0
        config = model.config
        shape = (config.n_kv_heads, self.capacity, config.d_head)
        with torch.inference_mode():
            self._rooms = {
                name: torch.empty(shape, dtype=model.dtype, device=model.device)
                for block in range(config.n_layers)
                for name in (f"blocks.{block}.cache.k", f"blocks.{block}.cache.v")
            }

    def __len__(self) -> int:
        """The number of tokens held."""
        return self.length

    @property
    def nbytes(self) -> int:
        """How many bytes the held keys and values take."""
        return sum(value.nbytes for value in self.values().values())

    def values(self) -> dict[str, Tensor]:
        """What is held: by name, [kv_head, past, d_head]."""
        return {name: self.held(name) for name in self._rooms}

    def held(self, name: str) -> Tensor:
        """One of `values`."""
        return self._rooms[name][:, : self.length]

    def append(self, trace: PromptTrace) -> None:
        """Take over the keys and values of the tokens of `trace`, which come next.

        Raises ContextTooLong if there is no room for them.
        """
        end = self.length + len(trace)
        if end > self.capacity:
            raise ContextTooLong(f"The cache has room for {self.capacity} tokens, not for {end}.")
        sources = {name: source(trace, name) for name in self._rooms}
        found = trace.read(sources.values())
        with torch.inference_mode():
            for name, room in self._rooms.items():
                room[:, self.length : end] = found[sources[name]]
        self.length = end

    def copy(self, length: int | None = None, capacity: int | None = None) -> KVCache:
        """A cache of its own with the first `length` tokens; all of them unless given.

        capacity: as that of this one unless given.
        """
        other = KVCache(self.model, capacity or self.capacity)
        other.length = self.length if length is None else min(length, self.length)
        with torch.inference_mode():
            for name, room in other._rooms.items():
                room[:, : other.length] = self._rooms[name][:, : other.length]
        return other


class FirstPass:
    """Keys and values of one pass over a text, as a cache filled by it holds them, but not copied.

    Each is computed when somebody looks at it.
    """

    def __init__(self, trace: PromptTrace) -> None:
        self.trace = trace

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.trace)

    @property
    def nbytes(self) -> int:
        """How many bytes all keys and values take, whether or not they are computed."""
        names = (name for name in self.trace.steps if name.endswith((".attn.k", ".attn.v")))
        return sum(self.trace.cost(name).bytes_written for name in names)

    def held(self, name: str) -> Tensor:
        """The keys or values of a block, [kv_head, pos, d_head]; name: as in `KVCache.values`."""
        return self.trace[source(self.trace, name)]


def source(trace: PromptTrace, name: str) -> str:
    """The step that a cached value is taken from; rotary keys are kept as rotated."""
    step = name.replace(".cache.", ".attn.")
    return f"{step}_rotated" if f"{step}_rotated" in trace else step
