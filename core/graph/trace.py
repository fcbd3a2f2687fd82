"""One prompt's way through a graph: every step can be looked at, and is computed when it is."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from core.graph.edit import EditError, Edits, check_edits, covers, put, resolved, same
from core.graph.explain import Explanation, Operand, Rows
from core.graph.graph import Graph, Plan, Step, stacked
from core.graph.op import Cost, Input, Variable
from core.graph.packed import pack_like
from core.graph.recent import Looked, Recent

MEGABYTE = 2**20
ROWS = 64  # single rows that a trace keeps of steps too large to keep


class Trace:
    """The values of all steps for one input, computed lazily and never overwritten.

    A trace whose steps fit in `memory` bytes together keeps each one it computes. A larger one
    keeps the residual stream, and of the rest what was looked at last, which several traces may
    share the room for (`recent`); it computes the others again when asked, with the same bits.

    A trace may be made from another one, its `base`: by edits, or for a graph that differs in some
    steps. Then it computes only the steps that these reach and takes all other values from the
    base.

    edits: what was set by hand, by name. base: the trace it was made from, if any. reached: the
    steps that may differ from the base.
    Values are shared, not copied out: they are inference tensors, on which torch raises an error
    for a write in place. Copy one before changing it. A trace can be shared between threads.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Tensor],
        weights: Mapping[str, Tensor],
        sizes: Mapping[str, int],
        memory: int = 64 * MEGABYTE,
        edits: Edits | None = None,
        base: Trace | None = None,
        recent: Recent | None = None,
    ) -> None:
        """`sizes` gives the length of every axis word in `graph`; a base has the same inputs.

        Raises EditError.
        """
        self.graph = graph
        self.base = base
        self._sizes = sizes
        self.weights = weights
        self.check_edits(edits or {})
        self.edits = resolved(edits or {}, self.shape)
        self.weights = self._edited(weights)
        self.reached = self._reach()
        self._kept = dict(inputs)
        self._looked = Looked()
        self._recent = recent or Recent(memory)
        self._tiles = Looked()
        self._rows: OrderedDict[tuple[str, int], Tensor] = OrderedDict()
        alike = base is not None and base.graph is graph
        self._size = base._size if alike else self._total(inputs)
        self._keep_all = self._size <= memory
        self._lock = threading.RLock()

    def check_edits(self, edits: Edits) -> None:
        """Raise EditError unless this trace could be edited so."""
        dtype = next(iter(self.weights.values())).dtype
        check_edits(edits, self._editable_shape, torch.finfo(dtype).max)

    def _edited(self, weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The weights with the edited ones replaced by copies; a base's copies are used again."""
        changed = {}
        for name, changes in self.edits.items():
            if name not in weights:
                continue
            if self.base is not None and same(changes, self.base.edits.get(name)):
                changed[name] = self.base.weights[name]
                continue
            with torch.inference_mode():
                changed[name] = pack_like(put(weights[name], changes), weights[name])
        return MappingProxyType({**weights, **changed})

    def _editable_shape(self, name: str) -> tuple[int, ...]:
        if name not in self.weights and not (name in self and self.graph[name].op.editable):
            raise EditError(
                f"{name} is neither a weight nor a computed step of this model, so it cannot be "
                "edited; token IDs follow from the prompt"
            )
        return self.shape(name)

    def _reach(self) -> frozenset[str]:
        """The steps that differ from the base's in what they do, or come after one that does."""
        base = self.base
        if base is None:
            return frozenset(self.graph.steps)
        edited = {*self.edits, *base.edits}
        changed = {n for n in edited if not same(self.edits.get(n), base.edits.get(n))}
        changed |= {n for n, weight in self.weights.items() if weight is not base.weights.get(n)}
        reached: set[str] = set()
        for name, step in self.graph.steps.items():
            other = self.graph is not base.graph and not _alike(step, base.graph.steps.get(name))
            if other or name in changed or not changed.isdisjoint(step.inputs):
                reached.add(name)
                changed.add(name)
        return frozenset(reached)

    @property
    def steps(self) -> list[str]:
        """The names of all steps in execution order."""
        return list(self.graph.steps)

    def step(self, name: str) -> Step:
        """What the step is: axes, op, inputs, formula. Raises KeyError for an unknown name."""
        return self.graph[name]

    def __contains__(self, name: str) -> bool:
        return name in self.graph.steps

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a step or weight, from its axes: nothing is computed."""
        if name in self.weights:
            return tuple(self.weights[name].shape)
        return tuple(self._sizes[axis] for axis in self.graph[name].axes)

    def cost(self, name: str) -> Cost:
        """What computing this step takes, its inputs given."""
        step = self.graph[name]
        inputs, out = tuple(map(self.shape, step.inputs)), self.shape(name)
        read = zip(step.inputs, step.op.elements_read(inputs, out), strict=True)
        bytes_read = sum(count * self._itemsize(part) for part, count in read)
        return Cost(step.op.multiply_adds(inputs, out), bytes_read, self._bytes(name))

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
        """Every step at once, by name in execution order; this trace then keeps them all."""
        with self._lock:
            self._keep_all = True
            self._kept.update(self._looked)
            return self.read(self.graph.steps)

    def value(self, name: str, index: tuple[int, ...]) -> float:
        """One element of a step or weight. Raises KeyError, IndexError."""
        return float(self.at(name, *self._checked(name, index)))

    def explain(self, name: str, index: tuple[int, ...]) -> Explanation:
        """How the element came about. Raises KeyError, IndexError.

        name: a step or a weight. index: one integer per axis; negative ones count from the end.
        """
        index = self._checked(name, index)
        value = self.value(name, index)
        if name in self.edits and covers(self.edits[name], index):
            return Explanation(name, index, value, (), edited=True)
        if name in self.weights or isinstance(self.graph[name].op, Input):
            return Explanation(name, index, value, ())
        step = self.graph[name]
        operands = (Operand(part, self._readable(part)) for part in step.inputs)
        return Explanation(name, index, value, step.op.explain(index, *operands))

    def code(self, name: str) -> str:
        """The step in plain PyTorch, one line or a few; empty for what comes from outside.

        Variables are called as `variable` says.
        """
        step = self.graph[name]
        if isinstance(step.op, Input):
            return ""
        inputs = (Variable(variable(part), self.shape(part)) for part in step.inputs)
        return step.op.code(Variable(variable(name), self.shape(name)), *inputs)

    def _tensor(self, name: str) -> Tensor:
        return self.weights[name] if name in self.weights else self[name]

    def _readable(self, name: str) -> Tensor | Rows:
        """What an explanation reads from: of a wide step not all of it."""
        is_wide = name in self.graph.steps and self._is_wide(self.graph[name])
        return Rows(self, name) if is_wide else self._tensor(name)

    def _checked(self, name: str, index: tuple[int, ...]) -> tuple[int, ...]:
        """The index with negative entries resolved."""
        shape = self.shape(name)
        axes = self.graph.weights[name] if name in self.weights else self.graph[name].axes
        if len(index) != len(shape):
            raise IndexError(f"{name} has the axes {' '.join(axes)}: {len(shape)} indices needed")
        for i, size, axis in zip(index, shape, axes, strict=True):
            if not -size <= i < size:
                raise IndexError(f"{name}: {axis} index {i} is outside 0 to {size - 1}")
        return tuple(i % size for i, size in zip(index, shape, strict=True))

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

    def _operand(self, name: str, *at_hand: Mapping[str, Tensor]) -> Tensor:
        """A value that need not be computed: a weight, or a step at hand or of the base."""
        for values in (*at_hand, self.weights):
            if name in values:
                return values[name]
        return self.base[name]

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

    def _total(self, inputs: Mapping[str, Tensor]) -> int:
        """Bytes of all steps together."""
        itemsize = next(iter(self.weights.values())).element_size()
        given = sum(value.nbytes for value in inputs.values())
        return given + self.graph.n_bytes(self._sizes, itemsize)

    def _bytes(self, name: str) -> int:
        return math.prod(self.shape(name)) * self._itemsize(name)


def _alike(one: Step, other: Step | None) -> bool:
    """Whether two steps do the same with the same."""
    return other is not None and (one.op, one.inputs) == (other.op, other.inputs)


def variable(name: str) -> str:
    """A step or weight as a variable: `blocks.0.attn.out` -> `attn_out`, `….attn.q` -> `q`.

    Keys from a cache stand beside new ones: `blocks.0.cache.k` -> `cache_k`.
    """
    *parts, last = name.split(".")
    telling = last.startswith(("W_", "b_", "scores")) or last in ("ids", "positions")
    telling = telling or (last in ("q", "k", "v") and parts[-1] == "attn")
    return last if telling or not parts or parts[-1].isdigit() else f"{parts[-1]}_{last}"
