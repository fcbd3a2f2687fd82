"""One prompt's way through a graph: every step can be looked at, edited and explained."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from core.graph.edit import EditError, Edits, check_edits, covers, resolved
from core.graph.explain import Explanation, Operand, Rows
from core.graph.graph import Graph, Step
from core.graph.op import Cost, Input, Variable
from core.graph.reach import edited, reached
from core.graph.recent import Recent
from core.graph.values import MEGABYTE, Values


class Trace(Values):
    """The values of all steps for one input, and what can be asked about them.

    A trace may be made from another one, its `base`: by edits, or for a graph that differs in some
    steps. Then it computes only the steps that these reach and takes all other values from the
    base.
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
        super().__init__(graph, inputs, weights, sizes, memory, base, recent)
        self.check_edits(edits or {})
        self.edits = resolved(edits or {}, self.shape)
        self.weights = edited(weights, self.edits, base)
        self.reached = reached(graph, self.weights, self.edits, base)

    def check_edits(self, edits: Edits) -> None:
        """Raise EditError unless this trace could be edited so."""
        dtype = next(iter(self.weights.values())).dtype
        check_edits(edits, self._editable_shape, torch.finfo(dtype).max)

    def _editable_shape(self, name: str) -> tuple[int, ...]:
        if name not in self.weights and not (name in self and self.graph[name].op.editable):
            raise EditError(
                f"{name} is neither a weight nor a computed step of this model, so it cannot be "
                "edited; token IDs follow from the prompt"
            )
        return self.shape(name)

    @property
    def steps(self) -> list[str]:
        """The names of all steps in execution order."""
        return list(self.graph.steps)

    def step(self, name: str) -> Step:
        """What the step is: axes, op, inputs, formula. Raises KeyError for an unknown name."""
        return self.graph[name]

    def __contains__(self, name: str) -> bool:
        return name in self.graph.steps

    def cost(self, name: str) -> Cost:
        """What computing this step takes, its inputs given."""
        step = self.graph[name]
        inputs, out = tuple(map(self.shape, step.inputs)), self.shape(name)
        read = zip(step.inputs, step.op.elements_read(inputs, out), strict=True)
        bytes_read = sum(count * self._itemsize(part) for part, count in read)
        return Cost(step.op.multiply_adds(inputs, out), bytes_read, self._bytes(name))

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


def variable(name: str) -> str:
    """A step or weight as a variable: `blocks.0.attn.out` -> `attn_out`, `….attn.q` -> `q`.

    Keys from a cache stand beside new ones: `blocks.0.cache.k` -> `cache_k`.
    """
    *parts, last = name.split(".")
    telling = last.startswith(("W_", "b_", "scores")) or last in ("ids", "positions")
    telling = telling or (last in ("q", "k", "v") and parts[-1] == "attn")
    return last if telling or not parts or parts[-1].isdigit() else f"{parts[-1]}_{last}"
