"""One number's arithmetic as pieces: text, and for each operand the element that it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.graph import Explanation, Factor, Ref, Term
from core.graph.explain import number, tens
from core.graph.ops import Activation, Mean, MeanSquare, Normalize, Scale, Softmax, Variance
from core.models.model import PromptTrace
from core.view import elements
from core.view.texts import Text

FEW, LARGEST = 8, 6  # terms: shown without a rest; shown before a rest
SYMBOLS = {  # what is written before the arithmetic; a bias is added where the step has one
    "embed.sum": "x + p",
    "norm.mean": "μ",
    "norm.var": "σ²",
    "norm.mean_square": "mean(x²)",
    "norm.normed": "(x − μ)/√(σ² + ε)",
    "norm.out": "γ·n",
    "attn.q": "x·W_Q",
    "attn.k": "x·W_K",
    "attn.v": "x·W_V",
    "attn.scores": "q·k",
    "attn.scores_scaled": "s/√d_k",
    "attn.weights": "exp(s)/Σ exp(s)",
    "attn.heads": "Σ a·v",
    "attn.out": "z·W_O",
    "mlp.hidden": "x·W_1",
    "mlp.gate": "x·W_gate",
    "mlp.up": "x·W_up",
    "mlp.out": "a·W_2",
    "logits": "h·w",
    "probs": "exp(l)/Σ exp(l)",
}


@dataclass(frozen=True)
class Piece:
    """A bit of arithmetic; `ref` is what it opens, None for signs and constants."""

    text: str
    ref: Ref | None = None


@dataclass(frozen=True)
class Sum:
    """Arithmetic to draw: terms of pieces, each but the first with its sign before it.

    rest: the sum of the terms not shown, and their number.
    """

    terms: tuple[tuple[Piece, ...], ...]
    rest: float
    n_rest: int
    value: float

    @property
    def text(self) -> str:
        """The same on one line."""
        parts = ["".join(piece.text for piece in term) for term in self.terms]
        if self.n_rest:
            parts.append(f" {sign(self.rest)} {number(abs(self.rest))}")
        return f"{''.join(parts)} = {number(self.value)}"

    @property
    def exact(self) -> str:
        """Seven digits of the value, where four do not say it all."""
        full = tens(f"{self.value:.7g}")
        return "" if full == number(self.value) or not math.isfinite(self.value) else full


def value_text(trace: PromptTrace, ref: Ref) -> str:
    """One element as a number; IDs and positions are whole."""
    value = trace.value(ref.name, ref.index)
    return str(int(value)) if ref.name.startswith("tokens.") else number(value)


def written_out(trace: PromptTrace, explained: Explanation, most: int) -> Sum:
    """The arithmetic of an element; of a long sum the `most` largest terms and the rest."""
    few = max(most, FEW) if len(explained.terms) <= FEW else most
    terms, rest, n_rest = explained.largest(few)
    return Sum(tuple(_joined(trace, terms)), rest, n_rest, explained.value)


def row_sum(trace: PromptTrace, ref: Ref, most: int) -> Sum:
    """What a softmax divides by: the sum of exp over a whole row, the largest taken off first."""
    *row, _ = ref.index
    values = trace.at(ref.name, *row).double().cpu()
    highest = values.max().item()
    powers = (values - highest).exp()
    total = powers.sum().item()
    most = len(values) if len(values) <= FEW else min(most, len(values))
    columns = sorted(powers.topk(most).indices.tolist())
    terms = []
    for column in columns:
        gap = f"{number(values[column].item())} − {number(highest)}".replace("− −", "+ ")
        at = Ref(ref.name, (*row, column))
        terms.append(Term((Factor(powers[column].item(), (at,), f"exp({gap})"),)))
    rest = total - math.fsum(term.value for term in terms)
    n_rest = len(values) - most
    return Sum(tuple(_joined(trace, terms)), rest if n_rest else 0.0, n_rest, total)


def _joined(trace: PromptTrace, terms: Sequence[Term]) -> Iterator[tuple[Piece, ...]]:
    """The terms as pieces, with + or − before each but the first."""
    for i, term in enumerate(terms):
        pieces = list(_pieces(trace, term))
        if i and pieces[0].text.startswith("−"):
            pieces[0] = Piece(pieces[0].text[1:], pieces[0].ref)
            yield Piece(" − "), *pieces
        else:
            yield (Piece(" + "), *pieces) if i else tuple(pieces)


def _pieces(trace: PromptTrace, term: Term) -> Iterator[Piece]:
    for i, factor in enumerate(term.factors):
        negative = i > 0 and str(factor).startswith("−")
        if i:
            yield Piece("·(" if negative else "·")
        yield from _factor(trace, factor)
        if negative:
            yield Piece(")")


def _factor(trace: PromptTrace, factor: Factor) -> Iterator[Piece]:
    """One piece; or, for a factor of several elements such as (0.6 − 0.63), one for each."""
    text = str(factor)
    if len(factor.refs) < 2:
        yield Piece(text, factor.refs[0] if factor.refs else None)
        return
    done = 0
    for ref in factor.refs:
        own = number(trace.value(ref.name, ref.index))
        # A negative number that is taken off is written without its sign: (0.6 + 0.2).
        own = own if text.find(own, done) >= 0 else own.removeprefix("−")
        start = text.find(own, done)
        yield Piece(text[done:start])
        yield Piece(own, ref)
        done = start + len(own)
    yield Piece(text[done:])


def where(t: Text, trace: PromptTrace, ref: Ref) -> str:
    """Where the constants of the arithmetic come from; empty if there are none."""
    if ref.name in trace.weights or None in ref.index:
        return ""
    op, config = trace.step(ref.name).op, trace.model.config
    inputs = trace.step(ref.name).inputs
    match op:
        case Scale(divisor):
            key = "scaled" if divisor != 1 else "unscaled"
            return t(f"opened.where.{key}", root=number(divisor), d=config.d_head)
        case Softmax():
            row = trace.at(inputs[0], *ref.index[:-1]).double()
            highest = row.max()
            total = (row - highest).exp().sum().item()
            return t("opened.where.softmax", total=number(total), highest=number(highest.item()))
        case Normalize(eps):
            square = trace.value(inputs[-1], ref.index[:1])
            values = {"root": number(op.root(square)), "square": number(square)}
            return t("opened.where.normalize", eps=number(eps), **values)
        case Mean() | Variance() | MeanSquare():
            return t("opened.where.mean", count=config.d_model)
        case Activation():
            gate = number(op.gate(trace.value(inputs[0], ref.index)))
            return t("opened.where.activation", gate=gate)
    return ""


def symbol(trace: PromptTrace, name: str) -> str:
    """How the arithmetic of a step begins: `q·k`, `x·W_1 + b_1`."""
    symbol, formula = SYMBOLS.get(elements.role(name), ""), trace.step(name).formula
    if elements.role(name) == "mlp.act":
        return formula
    bias = formula.partition(" + ")[2]
    return f"{symbol} + {bias}" if bias.startswith(("b_", "β")) else symbol


def sign(value: float) -> str:
    return "−" if value < 0 else "+"
