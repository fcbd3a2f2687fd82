"""One element written out: a sum of terms whose factors point at the elements they came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from torch import Tensor

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Ref:
    """One element of a step or weight, or a whole line of them where an index is None."""

    name: str
    index: tuple[int | None, ...]


@dataclass(frozen=True)
class Factor:
    """A number in a product.

    `refs` are the elements it was computed from; empty for a constant of the formula.
    `text` is how it is written when the bare number would hide what it is, as `exp(0.54)`.
    """

    value: float
    refs: tuple[Ref, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return self.text or number(self.value)


@dataclass(frozen=True)
class Term:
    """A product of factors."""

    factors: tuple[Factor, ...]

    @property
    def value(self) -> float:
        return math.prod(factor.value for factor in self.factors)

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(ref for factor in self.factors for ref in factor.refs)

    def __str__(self) -> str:
        first, *others = (str(factor) for factor in self.factors)
        return "·".join(
            [first, *(f"({text})" if text.startswith("−") else text for text in others)]
        )


Part = TypeVar("Part", Factor, Term)


class Line(Sequence[Part]):
    """Factors or terms in a row. All values are at hand; each part is made when it is looked at.

    Of a sum of a thousand products people read six.
    """

    def __init__(self, values: Sequence[float], make: Callable[[int], Part]) -> None:
        """make: the part at a place."""
        self.values, self._make = values, make

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> Part:
        return self._make(range(len(self))[i])

    def followed_by(self, others: Sequence[Part]) -> Line[Part]:
        """Both in one line."""
        n = len(self)
        values = [*self.values, *values_of(others)]
        return Line(values, lambda i: self[i] if i < n else others[i - n])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)


def values_of(parts: Sequence[Part]) -> Sequence[float]:
    """The value of each."""
    return parts.values if isinstance(parts, Line) else [part.value for part in parts]


@dataclass(frozen=True)
class Explanation:
    """Where one element came from: `value` is the sum of `terms` up to rounding.

    A token ID, a position or a weight has no terms: there the way back ends. Neither has an element
    that was set by hand, which `edited` says.
    """

    name: str
    index: tuple[int, ...]
    value: float
    terms: Sequence[Term]
    edited: bool = False

    def largest(self, count: int) -> tuple[tuple[Term, ...], float, int]:
        """The `count` largest terms in their own order, the sum of the others and their number."""
        values = values_of(self.terms)
        ranked = sorted(range(len(values)), key=lambda i: -abs(values[i]))
        shown = sorted(ranked[:count])
        rest = [values[i] for i in ranked[count:]]
        return tuple(self.terms[i] for i in shown), math.fsum(rest), len(rest)

    @property
    def text(self) -> str:
        """The arithmetic on one line; a long sum shows its largest terms and the rest summed."""
        left = f"{self.name}[{', '.join(map(str, self.index))}]"
        if not self.terms:
            return f"{left} = {number(self.value)}"
        shown, rest, n_rest = self.largest(8 if len(self.terms) <= 8 else 6)
        parts = [str(term) for term in shown]
        if n_rest:
            parts.append(f"{number(rest)} ({n_rest} more)")
        return f"{left} = {join_signed(parts)} = {number(self.value)}"


class Source(Protocol):
    """What has values by name; see `core.graph.values.Values.at`."""

    def at(self, name: str, *index: int) -> Tensor: ...


@dataclass(frozen=True)
class Rows:
    """A step of which only the rows that are read are computed; in place of its tensor."""

    source: Source
    name: str

    def __getitem__(self, index: tuple[int, ...]) -> Tensor:
        return self.source.at(self.name, *index)


@dataclass(frozen=True)
class Operand:
    """An input of an op as `explain` sees it: a name and its values."""

    name: str
    value: Tensor | Rows

    def at(self, *index: int, text: str = "") -> Factor:
        """The element at `index` as a factor."""
        return Factor(float(self.value[index]), (Ref(self.name, index),), text)

    def line(self, *index: int | slice) -> Line[Factor]:
        """The elements along the one axis of `index` that is a slice, read in one go."""
        axis = next(i for i, part in enumerate(index) if isinstance(part, slice))
        values = self.value[index].tolist()

        def factor(i: int) -> Factor:
            return Factor(values[i], (Ref(self.name, (*index[:axis], i, *index[axis + 1 :])),))

        return Line(values, factor)


def products(left: Line[Factor], right: Line[Factor]) -> Line[Term]:
    """The terms of a dot product."""
    values = [a * b for a, b in zip(left.values, right.values, strict=True)]
    return Line(values, lambda i: Term((left[i], right[i])))


def number(value: float) -> str:
    """Up to four significant digits, all of a whole number; with a real minus sign and ∞."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e9:
        return str(int(value)).replace("-", "−")
    return tens(f"{value:.4g}")


def tens(written: str) -> str:
    """`-1.2e-05` as people write it: −1.2·10⁻⁵; what has no exponent gets a real minus sign."""
    digits, _, power = written.partition("e")
    raised = f"·10{str(int(power)).translate(SUPERSCRIPTS)}" if power else ""
    return digits.replace("-", "−") + raised


def join_signed(parts: list[str]) -> str:
    """`a + b − c` from `["a", "b", "−c"]`."""
    first, *others = parts
    signed = (f" − {part[1:]}" if part.startswith("−") else f" + {part}" for part in others)
    return first + "".join(signed)
