"""From token IDs and positions to vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from core.graph.explain import Factor, Operand, Term, number
from core.graph.op import Index, Op, Shape, Variable


@dataclass(frozen=True)
class OneHot(Op):
    """ids [pos] -> [pos, vocab] of 0 and 1, one byte a cell; shown, never multiplied with."""

    n_vocab: int
    editable: ClassVar[bool] = False  # it follows from the IDs, and nothing is computed from it

    def compute(self, ids: Tensor) -> Tensor:
        zeros = torch.zeros(len(ids), self.n_vocab, dtype=torch.uint8, device=ids.device)
        return zeros.scatter(1, ids.unsqueeze(-1), 1)

    def explain(self, index: Index, ids: Operand) -> tuple[Term, ...]:
        pos, column = index
        hit = ids.at(pos)
        return (Term((Factor(float(hit.value == column), hit.refs),)),)

    def code(self, out: Variable, ids: Variable) -> str:
        return f"{out} = torch.nn.functional.one_hot({ids}, {self.n_vocab})"

    def itemsize(self, weight: int) -> int:
        return 1


@dataclass(frozen=True)
class Lookup(Op):
    """table [rows, d], ids [pos] -> the rows [pos, d]."""

    def compute(self, table: Tensor, ids: Tensor) -> Tensor:
        return table[ids]

    def explain(self, index: Index, table: Operand, ids: Operand) -> tuple[Term, ...]:
        pos, column = index
        row = ids.at(pos)
        one = Factor(1.0, row.refs)  # the only element of the one-hot row that is not zero
        return (Term((one, table.at(int(row.value), column))),)

    def code(self, out: Variable, table: Variable, ids: Variable) -> str:
        return f"{out} = {table}[{ids}]"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return 0

    def elements_read(self, inputs: tuple[Shape, ...], out: Shape) -> tuple[int, ...]:
        return math.prod(out), math.prod(inputs[1])


@dataclass(frozen=True)
class Sinusoid(Op):
    """positions [pos] -> sin and cos in turn, [pos, d_model] (Vaswani et al. 2017).

    The second input only lends its width, dtype and device. Angles are float64, on the processor:
    rounded to float32 a late position is off by 1e-4, and Apple's GPU has no float64.
    """

    def compute(self, positions: Tensor, like: Tensor) -> Tensor:
        column = torch.arange(like.shape[-1], dtype=torch.float64)
        angle = positions.cpu().unsqueeze(-1) * self._rate(column, like.shape[-1])
        table = torch.where(column % 2 == 0, angle.sin(), angle.cos())
        return table.to(like.dtype).to(like.device)

    def explain(self, index: Index, positions: Operand, like: Operand) -> tuple[Term, ...]:
        pos, column = index
        at = positions.at(pos)
        angle = at.value * self._rate(column, like.value.shape[-1])
        name, function = ("cos", math.cos) if column % 2 else ("sin", math.sin)
        return (Term((Factor(function(angle), at.refs, f"{name}({number(angle)})"),)),)

    def code(self, out: Variable, positions: Variable, like: Variable) -> str:
        return (
            f"column = torch.arange({like}.shape[-1], dtype=torch.float64)\n"
            f"rate = 10000 ** (-2 * (column // 2) / {like}.shape[-1])\n"
            f"angle = {positions}[:, None] * rate\n"
            f"{out} = torch.where(column % 2 == 0, angle.sin(), angle.cos()).to({like}.dtype)"
        )

    def elements_read(self, inputs: tuple[Shape, ...], out: Shape) -> tuple[int, ...]:
        return math.prod(inputs[0]), 0

    @staticmethod
    def _rate(column: Tensor | int, d_model: int) -> Tensor | float:
        """How far a column turns per position; a sin and its cos share one rate."""
        return 10000.0 ** (-2.0 * (column // 2) / d_model)
