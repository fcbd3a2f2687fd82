"""What was looked at last, in one trace or in several, within a number of bytes together."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Container
from threading import Lock

from torch import Tensor


class Looked(dict[str, Tensor]):
    """The values that one trace keeps because somebody looked at them, by name."""

    __slots__ = ("__weakref__",)


class Recent:
    """Lets the values go that were not looked at for longest, whichever trace they belong to.

    memory: bytes of all together. A single value may be larger; then it is kept alone.
    Can be shared between threads. A value may leave at any time: who computes with several takes
    hold of them first.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._order: OrderedDict[tuple[int, str], weakref.ref[Looked]] = OrderedDict()
        self._lock = Lock()

    def put(self, looked: Looked, name: str, value: Tensor) -> None:
        """Keep a value, or keep it longer."""
        with self._lock:
            looked[name] = value
            self._order[id(looked), name] = weakref.ref(looked)
            self._order.move_to_end((id(looked), name))
            self._shrink(self.memory, {(id(looked), name)})

    def make_room(self, n_bytes: int, looked: Looked, needed: Container[str]) -> None:
        """Let go, before `n_bytes` more are computed, of what will leave anyway.

        needed: what of `looked` they are computed from.
        """
        with self._lock:
            kept = {(id(looked), name) for name in looked if name in needed}
            self._shrink(self.memory - n_bytes, kept)

    def _shrink(self, memory: int, kept: Container[tuple[int, str]]) -> None:
        """Down to `memory` bytes, by what is not among `kept`."""
        sizes = {}
        for key, found in list(self._order.items()):
            value = (found() or {}).get(key[1])
            if value is None:  # its trace is gone
                del self._order[key]
            else:
                sizes[key] = value.nbytes
        total = sum(sizes.values())
        for key, size in sizes.items():
            if total <= memory:
                return
            if key not in kept:
                del self._order.pop(key)()[key[1]]
                total -= size
