"""Rotary positions: a query and a key are turned, so that their product knows their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.explain import Factor, Operand, Term, number
from core.graph.op import Index, Op, Shape, Variable


@dataclass(frozen=True)
class Interpolation:
    """All pairs turn `factor` times slower, as if places stood closer together.

    So a longer text brings no angle that a shorter one had not (Chen et al. 2023); `transformers`
    calls this "linear".
    """

    factor: float

    @property
    def possible(self) -> bool:
        return self.factor > 0

    def slowed(self, rate: Tensor) -> Tensor:
        """The rates, in radians for each place, after the slowing."""
        return rate / self.factor

    def code(self) -> str:
        return f"rate = rate / {self.factor}\n"


@dataclass(frozen=True)
class Stretch:
    """Slower turning of the slow pairs only, so that near places stay apart.

    A pair that turns fewer than `few` times in the first `n_ctx` places turns `factor` times
    slower; one that turns at least `many` times stays as it is; between them it goes smoothly. The
    numbers are those of Llama 3.1 and 3.2; `transformers` calls this "llama3".
    """

    factor: float
    few: float = 1.0
    many: float = 4.0
    n_ctx: int = 8192

    @property
    def possible(self) -> bool:
        return self.factor > 0 and self.n_ctx > 0 and 0 < self.few < self.many

    def slowed(self, rate: Tensor) -> Tensor:
        """The rates, in radians for each place, after the slowing."""
        turns = self.n_ctx / (2 * math.pi / rate)
        kept = ((turns - self.few) / (self.many - self.few)).clamp(0, 1)
        return (1 - kept) * rate / self.factor + kept * rate

    def code(self) -> str:
        return (
            f"turns = {self.n_ctx} / (2 * torch.pi / rate)\n"
            f"kept = ((turns - {self.few}) / ({self.many} - {self.few})).clamp(0, 1)\n"
            f"rate = (1 - kept) * rate / {self.factor} + kept * rate\n"
        )


@dataclass(frozen=True)
class Rotate(Op):
    """Rotary position: pairs of x [head, pos, d_head] turn by position·rate (Su et al. 2021).

    `layout` says which elements are a pair: "half" (i and i + d/2, as Hugging Face stores Llama)
    or "interleaved" (2i and 2i + 1, as in the paper).
    """

    base: float
    layout: str
    stretch: Interpolation | Stretch | None = None

    def compute(self, x: Tensor, positions: Tensor) -> Tensor:
        angle = self.angles(x, positions)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        if self.layout == "half":
            first, second = x.chunk(2, dim=-1)
        else:
            first, second = x[..., 0::2], x[..., 1::2]
        turned = first * cos - second * sin, second * cos + first * sin
        if self.layout == "half":
            return torch.cat(turned, dim=-1)
        return torch.stack(turned, dim=-1).flatten(-2)

    def pair(self, nth: int, width: int) -> tuple[int, int]:
        """Which two of the `width` elements of a row are its nth pair."""
        return (nth, nth + width // 2) if self.layout == "half" else (2 * nth, 2 * nth + 1)

    def angles(self, x: Tensor, positions: Tensor) -> Tensor:
        """The angle of each pair at each position, [pos, d_head / 2], in radians.

        Position times rate, in the order and precision in which Llama models are trained: at late
        positions float32 has few digits left, and another order would give other angles.
        """
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        pair = torch.arange(0, x.shape[-1], 2, device=x.device, dtype=wide)
        rate = 1.0 / self.base ** (pair / x.shape[-1])
        if self.stretch is not None:
            rate = self.stretch.slowed(rate)
        return positions.to(wide).unsqueeze(-1) * rate

    def explain(self, index: Index, x: Operand, positions: Operand) -> tuple[Term, ...]:
        head, pos, column = index
        half = x.value.shape[-1] // 2
        if self.layout == "half":
            pair, is_second = column % half, column >= half
            other = column - half if is_second else column + half
        else:
            pair, is_second, other = column // 2, column % 2 == 1, column ^ 1
        angle = self.angles(x.value, positions.value)[pos, pair].item()
        turn = positions.at(pos).refs
        sign, minus = (1, "") if is_second else (-1, "−")
        cos = Factor(math.cos(angle), turn, f"cos({number(angle)})")
        sin = Factor(sign * math.sin(angle), turn, f"{minus}sin({number(angle)})")
        return Term((x.at(*index), cos)), Term((x.at(head, pos, other), sin))

    def code(self, out: Variable, x: Variable, positions: Variable) -> str:
        if self.layout == "half":
            split, join = f"{x}.chunk(2, dim=-1)", "torch.cat(turned, dim=-1)"
        else:
            split = f"{x}[..., 0::2], {x}[..., 1::2]"
            join = "torch.stack(turned, dim=-1).flatten(-2)"
        return (
            f"pair = torch.arange(0, {x}.shape[-1], 2, dtype={x}.dtype)\n"
            f"rate = 1 / {self.base} ** (pair / {x}.shape[-1])\n"
            f"{self.stretch.code() if self.stretch else ''}"
            f"angle = {positions}[:, None] * rate\n"
            f"cos, sin = angle.cos(), angle.sin()\n"
            f"first, second = {split}\n"
            f"turned = first * cos - second * sin, second * cos + first * sin\n"
            f"{out} = {join}"
        )

    def multiply_adds(self, inputs: tuple[Shape, ...], out: Shape) -> int:
        return 2 * math.prod(out)
