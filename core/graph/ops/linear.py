"""Matrix products with weights, and what happens element by element."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from core.graph import one_row
from core.graph.explain import Factor, Line, Operand, Term, products
from core.graph.op import Index, Op, Shape, Variable
from core.graph.packed import Packed, side_by_side

ALL = slice(None)


@dataclass(frozen=True)
class Affine(Op):
    """x·W + b: x [pos, in], W [in, out] -> [pos, out]; or per head, W [head, in, out].

    `transposed` takes W as [out, in], which is how a tied unembedding reads the embedding.
    """

    transposed: bool = False

    def compute(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        bias = None if bias is None else bias.reshape(-1)
        if isinstance(weight, Packed) and weight.serves(x):
            flat = weight.product(x, bias)
        else:
            flat = self._product(x, side_by_side(weight), bias)
        # All heads in one product, then cut apart by view.
        return flat if weight.ndim == 2 else flat.unflatten(1, (len(weight), -1)).permute(1, 0, 2)

    def _product(self, x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
        if one_row.serves(x, matrix, self.transposed):
            flat = one_row.product(x, matrix, self.transposed)
            return flat if bias is None else flat + bias
        if self.transposed:
            return F.linear(x, matrix, bias)
        return x @ matrix if bias is None else torch.addmm(bias, x, matrix)

    def explain(
        self, index: Index, x: Operand, weight: Operand, bias: Operand | None = None
    ) -> Line[Term]:
        *head, pos, column = index
        place = (column, ALL) if self.transposed else (ALL, column)
        terms = products(x.line(pos, ALL), weight.line(*head, *place))
        if bias is None:
            return terms
        return terms.followed_by([Term((bias.at(*head, column),))])

    def code(
        self, out: Variable, x: Variable, weight: Variable, bias: Variable | None = None
    ) -> str:
        product = f"{out} = {x} @ {weight}{'.T' if self.transposed else ''}"
        if bias is None:
            return product
        return f"{product} + {bias}{'[:, None]' if len(bias.shape) == 2 else ''}"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return math.prod(out) * inputs[0][-1]


@dataclass(frozen=True)
class Add(Op):
    """a + b, same shape."""

    def compute(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def explain(self, index: Index, a: Operand, b: Operand) -> tuple[Term, ...]:
        return Term((a.at(*index),)), Term((b.at(*index),))

    def code(self, out: Variable, a: Variable, b: Variable) -> str:
        return f"{out} = {a} + {b}"


@dataclass(frozen=True)
class Multiply(Op):
    """a·b element by element, same shape."""

    def compute(self, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    def explain(self, index: Index, a: Operand, b: Operand) -> tuple[Term, ...]:
        return (Term((a.at(*index), b.at(*index))),)

    def code(self, out: Variable, a: Variable, b: Variable) -> str:
        return f"{out} = {a} * {b}"


@dataclass(frozen=True)
class Same(Op):
    """The input under a second name: where a stream enters a block, or a part is left out."""

    def compute(self, x: Tensor) -> Tensor:
        return x

    def explain(self, index: Index, x: Operand) -> tuple[Term, ...]:
        return (Term((x.at(*index),)),)

    def code(self, out: Variable, x: Variable) -> str:
        return f"{out} = {x}"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return 0


@dataclass(frozen=True)
class Activation(Op):
    """z times a gate between 0 and 1 that depends on z: ReLU, GELU exact or tanh, SiLU; or none.

    Sources: Hendrycks and Gimpel 2016 for GELU and its tanh form, which GPT-2 was trained with.
    """

    kind: str

    def compute(self, z: Tensor) -> Tensor:
        match self.kind:
            case "relu":
                return F.relu(z)
            case "gelu":
                return F.gelu(z)
            case "gelu_tanh":
                return F.gelu(z, approximate="tanh")
            case "silu":
                return F.silu(z)
            case "none":
                return z
        raise ValueError(f"unknown activation {self.kind!r}")

    def explain(self, index: Index, z: Operand) -> tuple[Term, ...]:
        own = z.at(*index)
        return (Term((own, Factor(self.gate(own.value), own.refs))),)

    def code(self, out: Variable, z: Variable) -> str:
        if self.kind == "none":
            return f"{out} = {z}"
        name, _, approximate = self.kind.partition("_")
        option = f', approximate="{approximate}"' if approximate else ""
        return f"{out} = torch.nn.functional.{name}({z}{option})"

    def gate(self, z: float) -> float:
        """The share of z that passes."""
        match self.kind:
            case "relu":
                return float(z > 0)
            case "gelu":
                return 0.5 * math.erfc(-z / math.sqrt(2))
            case "gelu_tanh":
                # A product, because z**3 raises an error where z * z * z is merely infinite.
                return 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
            case "silu":
                # Written with tanh: exp(-z) would overflow for a large negative z.
                return 0.5 * (1 + math.tanh(z / 2))
            case "none":
                return 1.0
        raise ValueError(f"unknown activation {self.kind!r}")
