"""The values of all steps for one input: computed when asked for, kept while there is room."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

from core.graph.edit import Edits, put
from core.graph.graph import Graph, Plan, Step, stacked
from core.graph.recent import Looked, Recent

MEGABYTE = 2**20
ROWS = 64  # single rows that are kept of steps too large to keep


class Values:
    """The values of all steps for one input, computed lazily and never overwritten.

    Steps that fit in `memory` bytes together are each kept once computed. Otherwise the residual
    stream is kept, and of the rest what was looked at last, which several inputs may share the
    room for (`recent`); the others are computed again when asked, with the same bits.

    edits: what was set by hand, by name. base: values for the same input. reached: the steps that
    may differ from those of the base; all others are taken from there.
    They are shared, not copied out: they are inference tensors, on which torch raises an error for
    a write in place. Copy one before changing it. They can be shared between threads.
    """

    edits: Edits
    reached: frozenset[str]

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Tensor],
        weights: Mapping[str, Tensor],
        sizes: Mapping[str, int],
        memory: int = 64 * MEGABYTE,
        base: Values | None = None,
        recent: Recent | None = None,
    ) -> None:
        """`sizes` gives the length of every axis word in `graph`."""
        self.graph = graph
        self.weights = weights
        self.base = base
        self.edits, self.reached = {}, frozenset(graph.steps)
        self._sizes = sizes
        self._kept = dict(inputs)
        self._looked = Looked()
        self._recent = recent or Recent(memory)
        self._tiles = Looked()
        self._rows: OrderedDict[tuple[str, int], Tensor] = OrderedDict()
        alike = base is not None and base.graph is graph
        self._size = base._size if alike else self._total(inputs)
        self._keep_all = self._size <= memory
        self._lock = threading.RLock()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a step or weight, from its axes: nothing is computed."""
        if name in self.weights:
            return tuple(self.weights[name].shape)
        return tuple(self._sizes[axis] for axis in self.graph[name].axes)

    def __getitem__(self, name: str) -> Tensor:
        """The value of a step, computed now if it is not at hand. Raises KeyError."""
        return self.read([name])[name]

    def read(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Several steps in one go, which computes what they share only once. Raises KeyError."""
        steps = [self.graph[name] for name in names]
        with self._lock, torch.inference_mode():
            self._make_room(steps)
            at_hand = {**self._looked, **self._kept}
            for step in filter(self._is_wide, steps):
                at_hand[step.name] = stacked(self.tiles(step.name), self.shape(step.name)[0])
            have = at_hand.keys() | (self.graph.steps.keys() - self.reached)
            computed = self._run(self.graph.plan([step.name for step in steps], have), at_hand)
            values = at_hand | computed
            found = {step.name: self._operand(step.name, values) for step in steps}
            for name, value in found.items():
                if name not in self._kept:
                    self._recent.put(self._looked, name, value)
            return found

    def row(self, name: str, index: int = -1) -> Tensor:
        """The values of a step at one index of its first axis, as of the logits those of a token.

        They are kept where the whole step is too large to be; of a wide one only few rows are
        computed. Raises KeyError, IndexError.
        """
        index = range(self.shape(name)[0])[index]
        with self._lock, torch.inference_mode():
            if name in self._kept or self._keep_all:
                return self[name][index]
            key = name, index
            if key not in self._rows:
                self._rows[key] = self._part(name, index, index + 1)[0].clone()
            self._rows.move_to_end(key)
            if len(self._rows) > ROWS:
                self._rows.popitem(last=False)
            return self._rows[key]

    def tiles(self, name: str) -> Iterator[Tensor]:
        """The rows of a step in order: of a wide one as many at a time as are computed together."""
        n_rows = self.shape(name)[0]
        size = self.graph[name].tile or n_rows
        for start in range(0, n_rows, size):
            with torch.inference_mode():
                part = self._part(name, start, start + size, keep=False)
            yield part

    def at(self, name: str, *index: int) -> Tensor:
        """The values of a step or weight at its first indices, computed as by `row` where wide."""
        if name in self.weights or not self.graph[name].tile:
            return self._tensor(name)[index]
        return self.row(name, index[0])[index[1:]]

    def capture(self) -> dict[str, Tensor]:
        """Every step at once, by name in execution order; from then on they are all kept."""
        with self._lock:
            self._keep_all = True
            self._kept.update(self._looked)
            return self.read(self.graph.steps)

    def _run(self, plan: Plan, at_hand: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute a plan; whatever it does not ask for goes once its last user is done."""
        live: dict[str, Tensor] = {}
        for step, spent in zip(plan.steps, plan.spent, strict=True):
            inputs = [self._operand(part, live, at_hand) for part in step.inputs]
            value = step.compute(*inputs)
            if step.name in self.edits:
                value = put(value, self.edits[step.name])
            live[step.name] = value
            if step.keep or self._keep_all:
                self._kept[step.name] = value
            for part in spent:
                del live[part]
        return live

    def _operand(self, name: str, *at_hand: Mapping[str, Tensor]) -> Tensor:
        """A value that need not be computed: a weight, or a step at hand or of the base."""
        for values in (*at_hand, self.weights):
            if name in values:
                return values[name]
        return self.base[name]

    def _tensor(self, name: str) -> Tensor:
        return self.weights[name] if name in self.weights else self[name]

    def _is_wide(self, step: Step) -> bool:
        """Whether rows of it are computed alone, if it is not at hand whole."""
        name = step.name
        known = self._keep_all or name in self._kept or name in self._looked
        return bool(step.tile) and name in self.reached and not (known or name in self.edits)

    def _part(self, name: str, start: int, stop: int, keep: bool = True) -> Tensor:
        """Some rows of a step; of a wide one computed with those of their tiles.

        keep: whether these tiles are, as what was looked at last is.
        """
        if self.base is not None and name not in self.reached:
            return self.base._part(name, start, stop, keep)
        with self._lock:
            step = self.graph[name]
            if not self._is_wide(step):
                return self[name][start:stop]
            low = start // step.tile * step.tile
            high = min(-(-stop // step.tile) * step.tile, self.shape(name)[0])
            key = f"{name}[{low}:{high}]"
            value = self._tiles.get(key)
            if value is None:
                first, *others = step.inputs
                rows = self._part(first, low, high, keep)
                value = step.compute(rows, *map(self._tensor, others))
                if keep:
                    self._recent.put(self._tiles, key, value)
            return value[start - low : stop - low]

    def _make_room(self, steps: Iterable[Step]) -> None:
        """Let go of what was looked at, as far as these steps need its room."""
        if self._keep_all:
            return
        new = [step for step in steps if not (step.name in self._looked or step.name in self._kept)]
        if not new:
            return
        wide = {name for name, step in self.graph.steps.items() if step.tile}
        needed = {part for step in new for part in step.inputs} - wide
        self._recent.make_room(sum(self._bytes(step.name) for step in new), self._looked, needed)

    def _itemsize(self, name: str) -> int:
        """Bytes of one element of a step or weight."""
        given = self.weights.get(name, self._kept.get(name))
        if given is not None:
            return given.element_size()
        weight = next(iter(self.weights.values()))
        return self.graph[name].op.itemsize(weight.element_size())

    def _bytes(self, name: str) -> int:
        return math.prod(self.shape(name)) * self._itemsize(name)

    def _total(self, inputs: Mapping[str, Tensor]) -> int:
        """Bytes of all steps together."""
        itemsize = next(iter(self.weights.values())).element_size()
        given = sum(value.nbytes for value in inputs.values())
        return given + self.graph.n_bytes(self._sizes, itemsize)
