"""What an op is: it computes a value, explains one element, and knows its code and its cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from core.graph.explain import Operand, Term

Shape = tuple[int, ...]
Index = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A handle on a step or a weight while a model runs; `value` only in a plain forward."""

    name: str
    value: Tensor | None = None


@dataclass(frozen=True)
class Call:
    """An op and the nodes it is applied to."""

    op: Op
    inputs: tuple[Node, ...]


@dataclass(frozen=True)
class Cost:
    """What computing a step takes: multiply-adds (or one operation an element), and bytes moved."""

    multiply_adds: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class Variable:
    """A name in written-out code, and the shape of what it holds."""

    name: str
    shape: Shape

    def __str__(self) -> str:
        return self.name


class Op(ABC):
    """A function of tensors. Ops are frozen dataclasses: equal parameters make equal ops.

    Applied to nodes, an op gives a `Call`; inputs that are None (a bias that a model lacks) are
    left out. `compute` never writes to its inputs; it may return one of them unchanged.
    `editable` says whether elements of the result can be set by hand.
    """

    editable: ClassVar[bool] = True

    def __call__(self, *inputs: Node | None) -> Call:
        return Call(self, tuple(node for node in inputs if node is not None))

    @abstractmethod
    def compute(self, *inputs: Tensor) -> Tensor:
        """The value of the whole step."""

    @abstractmethod
    def explain(self, index: Index, *inputs: Operand) -> Sequence[Term]:
        """The element at `index` as terms that sum to it."""

    @abstractmethod
    def code(self, out: Variable, *inputs: Variable) -> str:
        """The same in plain PyTorch: assigns `out` from variables of these names."""

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        """How many multiply-adds; one per element unless an op says otherwise."""
        return math.prod(out)

    def elements_read(self, inputs: tuple[Shape, ...], out: Shape) -> tuple[int, ...]:
        """How many elements of each input are read."""
        return tuple(map(math.prod, inputs))

    def itemsize(self, weight: int) -> int:
        """Bytes of one element of the value: as many as of a weight unless an op says otherwise."""
        return weight


@dataclass(frozen=True)
class Input(Op):
    """A value that comes from outside: token IDs, positions. Here the way back ends."""

    editable: ClassVar[bool] = False

    def compute(self, *inputs: Tensor) -> Tensor:
        raise TypeError("an input is given, not computed")

    def explain(self, index: Index, *inputs: Operand) -> tuple[Term, ...]:
        return ()

    def code(self, out: Variable, *inputs: Variable) -> str:
        raise TypeError("an input is given, not computed")

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return 0
