"""What positions do: the same tokens in another order, places compared, and pairs that turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.ops import Interpolation, Rotate, Sinusoid, Stretch
from core.models.model import PromptTrace


@dataclass(frozen=True)
class Reordered:
    """The same tokens in two orders, with the model's positions and without any.

    order: which token of the first text stands at each place of the second.
    """

    order: tuple[int, ...]
    first: PromptTrace
    second: PromptTrace
    first_without: PromptTrace
    second_without: PromptTrace

    def pair(self, with_position: bool) -> tuple[PromptTrace, PromptTrace]:
        if with_position:
            return self.first, self.second
        return self.first_without, self.second_without

    def row_difference(self, step: str, token: int, with_position: bool) -> float:
        """The largest difference that the new order makes to a token's row [pos, …] of a step."""
        first, second = self.pair(with_position)
        place = self.order.index(token)
        with torch.inference_mode():
            return (first[step][token] - second[step][place]).abs().max().item()


def other_order(ids: Sequence[int]) -> tuple[int, ...] | None:
    """All tokens but the last, backwards. None if that is the same text."""
    order = (*reversed(range(len(ids) - 1)), len(ids) - 1) if ids else ()
    return order if [ids[i] for i in order] != list(ids) else None


def reordered(trace: PromptTrace) -> Reordered | None:
    """The text beside the same tokens in another order; None where there is no other order."""
    order = other_order(trace.ids)
    if order is None:
        return None
    # Steps set by hand belong to the places of one text: to compare orders they stay out.
    first = trace.reread(trace.ids) if trace.edits else trace
    second = trace.reread([trace.ids[i] for i in order])
    without = first.switch(position="none"), second.switch(position="none")
    return Reordered(order, first, second, *without)


def sinusoids(n: int, d_model: int) -> Tensor:
    """The rows of places 0 to n - 1 in the first Transformer, [n, d_model], float64."""
    like = torch.empty(0, d_model, dtype=torch.float64)
    with torch.inference_mode():
        return Sinusoid().compute(torch.arange(n), like)


def similarity(rows: Tensor) -> Tensor:
    """The cosine of each row [n, d] with each other, [n, n]."""
    with torch.inference_mode():
        unit = torch.nn.functional.normalize(rows.double(), dim=-1)
        return (unit @ unit.T).clamp(-1.0, 1.0)


def query_and_key(
    trace: PromptTrace, query_id: int, key_id: int, head: int, n: int
) -> tuple[Tensor, Tensor]:
    """Query of one token and key of another in the first block, at each of `n` places [n, d]."""
    config = trace.model.config
    group = head // (config.n_heads // config.n_kv_heads)
    queries, keys = (trace.reread([token_id] * n) for token_id in (query_id, key_id))
    return queries["blocks.0.attn.q"][head], keys["blocks.0.attn.k"][group]


def by_distance(q: Tensor, k: Tensor, shifts: int, distances: int) -> Tensor:
    """Dot products of q at place shift + distance with k at place shift, [shift, distance].

    q, k: one row per place, [n, d] with n at least shifts + distances - 1.
    """
    with torch.inference_mode():
        rows = [
            [q[shift + distance] @ k[shift] for distance in range(distances)]
            for shift in range(shifts)
        ]
        return torch.tensor([[value.item() for value in row] for row in rows], dtype=q.dtype)


def turned(
    row: Tensor,
    n: int,
    base: float = 10000.0,
    stretch: Interpolation | Stretch | None = None,
) -> Tensor:
    """The same row [d], turned as rotary positions turn it at places 0 to n - 1, [n, d].

    An odd last number has no partner and is left out.
    """
    even = row[: len(row) // 2 * 2]
    with torch.inference_mode():
        return Rotate(base, "interleaved", stretch).compute(
            even.expand(1, n, len(even)), torch.arange(n, device=row.device)
        )[0]
