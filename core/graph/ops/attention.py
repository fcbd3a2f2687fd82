"""Self-attention: who looks at whom, how much, and what is taken along."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.explain import Factor, Line, Operand, Ref, Term, number, products
from core.graph.op import Index, Op, Shape, Variable

ALL = slice(None)


@dataclass(frozen=True)
class QueryKey(Op):
    """q·k: q [head, query, d_head], k [kv_head, key, d_head] -> scores [head, query, key].

    Keys of earlier tokens may come from a cache, as a third input [kv_head, past, d_head].
    """

    def compute(self, q: Tensor, k: Tensor, past: Tensor | None = None) -> Tensor:
        new = per_group(q, k.mT)
        # Joining scores is cheaper than joining keys: nothing in the cache is copied.
        return new if past is None else torch.cat((per_group(q, past.mT), new), dim=-1)

    def explain(
        self, index: Index, q: Operand, k: Operand, past: Operand | None = None
    ) -> Line[Term]:
        head, query, key = index
        source, key = cached_or_new(key, k, past)
        return products(
            q.line(head, query, ALL), source.line(shared_head(head, q, source), key, ALL)
        )

    def code(self, out: Variable, q: Variable, k: Variable, past: Variable | None = None) -> str:
        if past is None:
            return f"{out} = {q} @ {repeated(k, q)}.mT"
        keys = Variable("keys", k.shape)
        return f"keys = torch.cat(({past}, {k}), dim=1)\n{out} = {q} @ {repeated(keys, q)}.mT"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return math.prod(out) * inputs[0][-1]


@dataclass(frozen=True)
class Scale(Op):
    """x / divisor: scores by the square root of d_head, or by 1 where a model does not scale."""

    divisor: float

    def compute(self, x: Tensor) -> Tensor:
        return x if self.divisor == 1 else x / self.divisor

    def explain(self, index: Index, x: Operand) -> tuple[Term, ...]:
        constant = Factor(1 / self.divisor, text=f"1/{number(self.divisor)}")
        return (Term((x.at(*index), constant)),)

    def code(self, out: Variable, x: Variable) -> str:
        root = f" / {round(self.divisor**2)} ** 0.5" if self.divisor != 1 else ""
        return f"{out} = {x}{root}"


@dataclass(frozen=True)
class Mask(Op):
    """Scores [head, query, key] with -inf where the key comes after the query.

    The last query belongs to the last key, so that a decode step with earlier keys in a cache is
    masked rightly too. A model that is not causal leaves the scores as they are.
    """

    causal: bool

    def compute(self, scores: Tensor) -> Tensor:
        if not self.causal or scores.shape[-2] == 1:  # a single query is the last: none is later
            return scores
        return scores.masked_fill(self.later(scores), -math.inf)

    def later(self, scores: Tensor) -> Tensor:
        """True where a key comes after its query, [query, key]."""
        n_query, n_key = scores.shape[-2:]
        ones = torch.ones(n_query, n_key, dtype=torch.bool, device=scores.device)
        return ones.triu(1 + n_key - n_query)

    def explain(self, index: Index, scores: Operand) -> tuple[Term, ...]:
        _, query, key = index
        n_query, n_key = scores.value.shape[-2:]
        if self.causal and key > query + n_key - n_query:
            return (Term((Factor(-math.inf),)),)
        return (Term((scores.at(*index),)),)

    def code(self, out: Variable, scores: Variable) -> str:
        if not self.causal:
            return f"{out} = {scores}"
        first = 1 + scores.shape[-1] - scores.shape[-2]
        return (
            f"later = torch.ones({scores}.shape[-2:], dtype=torch.bool).triu({first})\n"
            f"{out} = {scores}.masked_fill(later, -torch.inf)"
        )


@dataclass(frozen=True)
class Softmax(Op):
    """Along the last axis: exp(x) over the sum of all exp in the row."""

    def compute(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=-1)

    def explain(self, index: Index, x: Operand) -> tuple[Term, ...]:
        *row, column = index
        values = x.value[tuple(row)].cpu().double()
        highest = values.max().item()  # taken off everywhere, so that exp cannot overflow
        total = (values - highest).exp().sum().item()
        own = values[column].item()
        gap = f"{number(own)} − {number(highest)}".replace("− −", "+ ")
        share = Factor(math.exp(own - highest), (Ref(x.name, index),), f"exp({gap})")
        line = Ref(x.name, (*row, None))
        return (Term((share, Factor(1 / total, (line,), f"1/{number(total)}"))),)

    def code(self, out: Variable, x: Variable) -> str:
        return f"{out} = torch.softmax({x}, dim=-1)"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return 2 * math.prod(out)


@dataclass(frozen=True)
class WeightedSum(Op):
    """A·v: weights [head, query, key], v [kv_head, key, d_head] -> [head, query, d_head].

    Values of earlier tokens may come from a cache, as a third input [kv_head, past, d_head].
    """

    def compute(self, weights: Tensor, v: Tensor, past: Tensor | None = None) -> Tensor:
        if past is None:
            return per_group(weights, v)
        n_past = past.shape[1]
        return per_group(weights[..., :n_past], past) + per_group(weights[..., n_past:], v)

    def explain(
        self, index: Index, weights: Operand, v: Operand, past: Operand | None = None
    ) -> Line[Term]:
        head, query, column = index
        kv_head = shared_head(head, weights, v)
        values = v.line(kv_head, ALL, column)
        if past is not None:
            values = past.line(kv_head, ALL, column).followed_by(values)
        return products(weights.line(head, query, ALL), values)

    def code(
        self, out: Variable, weights: Variable, v: Variable, past: Variable | None = None
    ) -> str:
        if past is None:
            return f"{out} = {weights} @ {repeated(v, weights)}"
        values = Variable("values", v.shape)
        joined = f"values = torch.cat(({past}, {v}), dim=1)"
        return f"{joined}\n{out} = {weights} @ {repeated(values, weights)}"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return math.prod(out) * inputs[0][-1]


@dataclass(frozen=True)
class Concat(Op):
    """heads [head, pos, d_head] side by side -> [pos, concat]; nothing is computed."""

    def compute(self, heads: Tensor) -> Tensor:
        return heads.permute(1, 0, 2).flatten(1)

    def explain(self, index: Index, heads: Operand) -> tuple[Term, ...]:
        pos, column = index
        head, within = divmod(column, heads.value.shape[-1])
        return (Term((heads.at(head, pos, within),)),)

    def code(self, out: Variable, heads: Variable) -> str:
        return f"{out} = {heads}.transpose(0, 1).flatten(1)"

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return 0


def per_group(left: Tensor, right: Tensor) -> Tensor:
    """left [head, …] @ right [kv_head, …], each kv_head serving its group of heads."""
    n_heads, n_kv_heads = left.shape[0], right.shape[0]
    if n_heads == n_kv_heads:
        return left @ right
    grouped = left.unflatten(0, (n_kv_heads, n_heads // n_kv_heads))
    return (grouped @ right.unsqueeze(1)).flatten(0, 1)


def cached_or_new(key: int, new: Operand, past: Operand | None) -> tuple[Operand, int]:
    """Which of the two holds a key, and at which place."""
    n_past = 0 if past is None else past.value.shape[1]
    return (new, key - n_past) if key >= n_past else (past, key)


def shared_head(head: int, many: Operand, few: Operand) -> int:
    """The kv_head that serves a query head."""
    return head * few.value.shape[0] // many.value.shape[0]


def repeated(few: Variable, many: Variable) -> str:
    """How code gives every query head its keys or values."""
    group = many.shape[0] // few.shape[0]
    return str(few) if group == 1 else f"{few}.repeat_interleave({group}, dim=0)"
