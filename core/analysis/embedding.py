"""What embeddings can be asked: one-hot products, angles, neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.models.model import PromptTrace


@dataclass(frozen=True)
class OneHotProduct:
    """The embedding computed the long way, O·W_E, beside the looked-up rows.

    product: [pos, d_model]. difference: the largest absolute difference to the lookup.
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


def onehot_product(trace: PromptTrace) -> OneHotProduct:
    """Multiply the one-hot rows with W_E for real."""
    onehot, table = trace["embed.onehot"], trace.weights["embed.W_E"]
    with torch.inference_mode():
        product = onehot.to(table.dtype) @ table
        difference = (product - trace["embed.token"]).abs().max().item()
    n_tokens, n_vocab = onehot.shape
    d_model = table.shape[1]
    return OneHotProduct(
        product, difference, n_tokens * n_vocab * d_model, n_tokens * (n_vocab - 1) * d_model
    )


def cosine(a: Tensor, b: Tensor) -> float:
    """The cosine of the angle between two vectors [d]; 0 if one of them is zero."""
    norms = a.norm() * b.norm()
    return (a @ b / norms).item() if norms > 0 else 0.0


def nearest(trace: PromptTrace, token_id: int, k: int = 10) -> list[Neighbour]:
    """The `k` other tokens whose rows of W_E have the largest cosine with that of `token_id`."""
    table = trace.weights["embed.W_E"]
    with torch.inference_mode():
        unit = torch.nn.functional.normalize(table, dim=-1)
        cosines = unit @ unit[token_id]
        others = torch.arange(len(table), device=table.device) != token_id
        values, ids = torch.where(others, cosines, -2.0).topk(min(k, len(table) - 1))
    text = trace.model.tokenizer.token_text
    return [
        Neighbour(i, text(i), value) for i, value in zip(ids.tolist(), values.tolist(), strict=True)
    ]
