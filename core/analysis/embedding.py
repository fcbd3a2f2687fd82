"""What embeddings can be asked: one-hot products, angles, neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.models.model import PromptTrace


@dataclass(frozen=True)
class OneHotProduct:
    """The embedding of a token computed the long way, o·W_E, beside the row that is looked up.

    product: [d_model]. difference: the largest absolute difference to the lookup.
    multiply_adds: what the product takes. zeros: how many of them multiply a zero.
    """

    product: Tensor
    difference: float
    multiply_adds: int
    zeros: int


@dataclass(frozen=True)
class Neighbour:
    """A token whose embedding points in a similar direction; cosine from -1 to 1."""

    id: int
    text: str
    cosine: float


def onehot_product(trace: PromptTrace, pos: int) -> OneHotProduct:
    """Multiply the one-hot row of the token at `pos` with W_E for real."""
    table = trace.weights["embed.W_E"]
    with torch.inference_mode():
        product = trace.row("embed.onehot", pos).to(table.dtype) @ table
        difference = (product - trace["embed.token"][pos]).abs().max().item()
    n_vocab, d_model = table.shape
    return OneHotProduct(product, difference, n_vocab * d_model, (n_vocab - 1) * d_model)


def cosine(a: Tensor, b: Tensor) -> float:
    """The cosine of the angle between two vectors [d]; 0 if one of them is zero."""
    norms = a.norm() * b.norm()
    return (a @ b / norms).item() if norms > 0 else 0.0


def cosines(trace: PromptTrace, token_id: int) -> Tensor:
    """The cosine of each row of W_E with that of `token_id`, [vocab]; 0 where one of them is 0."""
    table = trace.weights["embed.W_E"]
    lengths = table.norm(dim=-1)
    return table @ table[token_id] / (lengths * lengths[token_id]).clamp_min(1e-24)


def nearest(trace: PromptTrace, token_id: int, k: int = 10) -> list[Neighbour]:
    """The `k` other tokens whose rows of W_E have the largest cosine with that of `token_id`."""
    found = cosines(trace, token_id)
    found[token_id] = -2.0
    values, ids = found.topk(min(k, len(found) - 1))
    text = trace.model.tokenizer.token_text
    return [
        Neighbour(i, text(i), value) for i, value in zip(ids.tolist(), values.tolist(), strict=True)
    ]
