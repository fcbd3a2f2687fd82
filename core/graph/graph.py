"""Running a model's code once, on handles, gives its graph; running it on tensors, its output.

A model is a function that is handed a `Scope` and names every value it makes. What happens with
the names depends on what is behind the scope: `Graph` writes the steps down and computes nothing,
`PlainForward` computes each step at once and keeps nothing.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from torch import Tensor

from core.graph.op import Call, Input, Node, Op


@dataclass(frozen=True)
class Step:
    """A named tensor and how it comes about.

    name: `blocks.0.attn.scores`; role: the name without its block, `attn.scores`; block: 0.
    axes: one word per axis, which also gives the shape. inputs: names of steps and weights.
    keep: whether a trace always keeps the value, because it is small and much depends on it.
    tile: how many rows of it are computed at once, from as many rows of its first input, so that
    some rows of a wide step have the same bits with all the others and without; 0 for all rows.
    """

    name: str
    role: str
    block: int | None
    axes: tuple[str, ...]
    op: Op
    inputs: tuple[str, ...]
    formula: str
    keep: bool = False
    tile: int = 0

    def compute(self, *inputs: Tensor) -> Tensor:
        """The value; of a wide step that of as many rows as its first input has."""
        if not self.tile or inputs[0].shape[0] <= self.tile:
            return self.op.compute(*inputs)
        x, *others = inputs
        parts = (self.op.compute(rows, *others) for rows in x.split(self.tile))
        return stacked(parts, len(x))


class Recorder(Protocol):
    """What a scope hands its names to."""

    def weight(self, name: str, axes: tuple[str, ...]) -> Node: ...

    def step(self, step: Step, inputs: tuple[Node, ...]) -> Node: ...


@dataclass(frozen=True)
class Scope:
    """Names steps and weights within one part of a model, as `blocks.0.` for the first block."""

    recorder: Recorder
    prefix: str = ""
    block: int | None = None

    def within_block(self, block: int) -> Scope:
        return replace(self, prefix=f"blocks.{block}.", block=block)

    def input(self, name: str, axes: str) -> Node:
        """A value from outside."""
        return self.step(name, axes, Input()(), formula="")

    def weight(self, name: str, axes: str, present: bool = True) -> Node | None:
        """A weight, or None where the model lacks it."""
        return self.recorder.weight(self.prefix + name, tuple(axes.split())) if present else None

    def step(
        self,
        name: str,
        axes: str,
        call: Call,
        formula: str,
        keep: bool = False,
        tile: int = 0,
    ) -> Node:
        """A value of its own name: `call` says how it is computed, `formula` how it is written."""
        inputs = tuple(node.name for node in call.inputs)
        step = Step(
            self.prefix + name,
            name,
            self.block,
            tuple(axes.split()),
            call.op,
            inputs,
            formula,
            keep,
            tile,
        )
        return self.recorder.step(step, call.inputs)


@dataclass(frozen=True)
class Plan:
    """Steps to compute, in execution order; after each, those whose values nothing needs more."""

    steps: tuple[Step, ...]
    spent: tuple[tuple[str, ...], ...]


class Graph:
    """The steps of a model in execution order, and the axes of its weights."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self.weights: dict[str, tuple[str, ...]] = {}

    def weight(self, name: str, axes: tuple[str, ...]) -> Node:
        self.weights[name] = axes
        return Node(name)

    def step(self, step: Step, inputs: tuple[Node, ...]) -> Node:
        if step.name in self.steps:
            raise ValueError(f"two steps are called {step.name!r}")
        self.steps[step.name] = step
        return Node(step.name)

    def __getitem__(self, name: str) -> Step:
        """The step called `name`; a KeyError names the most similar ones."""
        if name not in self.steps:
            similar = difflib.get_close_matches(name, self.steps, n=3, cutoff=0.4)
            hint = f"; did you mean {', '.join(similar)}?" if similar else ""
            raise KeyError(f"no step is called {name!r}{hint}")
        return self.steps[name]

    def plan(self, targets: Iterable[str], have: Iterable[str]) -> Plan:
        """The steps to compute for `targets`, in execution order, given those we have."""
        return _plan(self, tuple(targets), frozenset(have))

    def n_bytes(self, sizes: Mapping[str, int], itemsize: int) -> int:
        """Of all computed steps together, where a number takes `itemsize` bytes.

        sizes: the length of every axis.
        """
        return sum(
            count * op_itemsize * math.prod(sizes[axis] for axis in axes)
            for (axes, op_itemsize), count in _kinds(self, itemsize).items()
        )


@lru_cache(maxsize=256)
def _plan(graph: Graph, targets: tuple[str, ...], have: frozenset[str]) -> Plan:
    """Kept, because token after token asks for the same."""
    wanted, waiting = set(), list(targets)
    while waiting:
        name = waiting.pop()
        if name not in wanted and name not in have and name in graph.steps:
            wanted.add(name)
            waiting.extend(graph.steps[name].inputs)
    steps = tuple(step for name, step in graph.steps.items() if name in wanted)
    needed, spent = set(targets), []
    for step in reversed(steps):
        last = wanted.intersection(step.inputs) - needed
        needed |= last
        spent.append(tuple(last))
    return Plan(steps, tuple(reversed(spent)))


@lru_cache(maxsize=256)
def _kinds(graph: Graph, itemsize: int) -> Counter[tuple[tuple[str, ...], int]]:
    """How many computed steps have the same axes and bytes a number."""
    steps = (step for step in graph.steps.values() if not isinstance(step.op, Input))
    return Counter((step.axes, step.op.itemsize(itemsize)) for step in steps)


class PlainForward:
    """Computes each step as the model's code names it; a value lives only while it is needed."""

    def __init__(self, inputs: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
        self.inputs = inputs
        self.weights = weights

    def weight(self, name: str, axes: tuple[str, ...]) -> Node:
        return Node(name, self.weights[name])

    def step(self, step: Step, inputs: tuple[Node, ...]) -> Node:
        if step.name in self.inputs:
            return Node(step.name, self.inputs[step.name])
        return Node(step.name, step.compute(*(node.value for node in inputs)))


def stacked(parts: Iterable[Tensor], n_rows: int) -> Tensor:
    """Parts of a value below each other, none of which is held longer than it takes to copy it."""
    parts = iter(parts)
    part = next(parts)
    whole, end = part.new_empty(n_rows, *part.shape[1:]), 0
    while part is not None:
        start, end = end, end + len(part)
        whole[start:end] = part
        part = next(parts, None)
    return whole
