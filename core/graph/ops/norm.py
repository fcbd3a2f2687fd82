"""LayerNorm (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019), one step at a time.

Each works on one row [d_model] of x [pos, d_model]: per token, not per batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.explain import Factor, Line, Operand, Term, number
from core.graph.op import Index, Op, Shape, Variable

ALL = slice(None)


class RowStatistic(Op):
    """One number per row of the first input, x [pos, d_model] -> [pos]."""

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return math.prod(inputs[0])


@dataclass(frozen=True)
class Mean(RowStatistic):
    """The mean of each row."""

    def compute(self, x: Tensor) -> Tensor:
        return x.mean(-1)

    def explain(self, index: Index, x: Operand) -> Line[Term]:
        row = x.line(*index, ALL)
        share = one_over(len(row))
        values = [value * share.value for value in row.values]
        return Line(values, lambda i: Term((row[i], share)))

    def code(self, out: Variable, x: Variable) -> str:
        return f"{out} = {x}.mean(dim=-1)"


@dataclass(frozen=True)
class Variance(RowStatistic):
    """The biased variance of each row: divided by d_model, not by d_model - 1."""

    def compute(self, x: Tensor, mean: Tensor) -> Tensor:
        return (x - mean.unsqueeze(-1)).square().mean(-1)

    def explain(self, index: Index, x: Operand, mean: Operand) -> Line[Term]:
        row, centre = x.line(*index, ALL), mean.at(*index)
        away = Line([v - centre.value for v in row.values], lambda i: distance(row[i], centre))
        return squares(away)

    def code(self, out: Variable, x: Variable, mean: Variable) -> str:
        return f"{out} = ({x} - {mean}[:, None]).square().mean(dim=-1)"


@dataclass(frozen=True)
class MeanSquare(RowStatistic):
    """The mean of the squares of each row."""

    def compute(self, x: Tensor) -> Tensor:
        return x.square().mean(-1)

    def explain(self, index: Index, x: Operand) -> Line[Term]:
        return squares(x.line(*index, ALL))

    def code(self, out: Variable, x: Variable) -> str:
        return f"{out} = {x}.square().mean(dim=-1)"


@dataclass(frozen=True)
class Normalize(Op):
    """(x - mean) / sqrt(variance + eps); with one statistic, x / sqrt(mean square + eps)."""

    eps: float

    def compute(self, x: Tensor, *statistics: Tensor) -> Tensor:
        *mean, spread = (statistic.unsqueeze(-1) for statistic in statistics)
        centred = x - mean[0] if mean else x
        return centred / (spread + self.eps).sqrt()

    def root(self, spread: float) -> float:
        """What is divided by; NaN where a variance was set to less than -eps."""
        return math.sqrt(spread + self.eps) if spread + self.eps >= 0 else math.nan

    def explain(self, index: Index, x: Operand, *statistics: Operand) -> tuple[Term, ...]:
        *mean, spread = (statistic.at(index[0]) for statistic in statistics)
        own = x.at(*index)
        root = self.root(spread.value)
        per_spread = Factor(1 / root if root else math.inf, spread.refs, f"1/{number(root)}")
        return (Term((distance(own, mean[0]) if mean else own, per_spread)),)

    def code(self, out: Variable, x: Variable, *statistics: Variable) -> str:
        *mean, spread = (f"{statistic}[:, None]" for statistic in statistics)
        centred = f"({x} - {mean[0]})" if mean else x
        return f"{out} = {centred} / torch.sqrt({spread} + {self.eps})"


@dataclass(frozen=True)
class ScaleShift(Op):
    """normed·gamma + beta, column by column; beta may be absent."""

    def compute(self, normed: Tensor, gamma: Tensor, beta: Tensor | None = None) -> Tensor:
        return normed * gamma if beta is None else torch.addcmul(beta, normed, gamma)

    def explain(
        self, index: Index, normed: Operand, gamma: Operand, beta: Operand | None = None
    ) -> tuple[Term, ...]:
        column = index[-1]
        scaled = Term((normed.at(*index), gamma.at(column)))
        return (scaled,) if beta is None else (scaled, Term((beta.at(column),)))

    def code(
        self, out: Variable, normed: Variable, gamma: Variable, beta: Variable | None = None
    ) -> str:
        return f"{out} = {normed} * {gamma}" + (f" + {beta}" if beta else "")


def squares(row: Line[Factor]) -> Line[Term]:
    """The terms of the mean of the squares."""
    share = one_over(len(row))
    values = [value * value * share.value for value in row.values]
    return Line(values, lambda i: Term((row[i], row[i], share)))


def one_over(count: int) -> Factor:
    """The constant 1/n, written as such."""
    return Factor(1 / count, text=f"1/{count}")


def distance(x: Factor, centre: Factor) -> Factor:
    """x - centre as one factor that points at both."""
    gap = x.value - centre.value
    text = f"({number(x.value)} − {number(centre.value)})".replace("− −", "+ ")
    return Factor(gap, x.refs + centre.refs, text)
