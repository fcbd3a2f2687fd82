"""Why scores are scaled and masked as they are, computed rather than claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Saturation:
    """What softmax does to scores of one width, averaged over many random queries.

    spread: the standard deviation of the scores. largest: the mean of the largest share.
    slope: the mean gradient reaching a score, as the sum of absolute values of one row of the
    softmax's Jacobian for the winning key, 2·a·(1 - a); 0 means that no learning signal passes.
    """

    d_k: int
    spread: float
    largest: float
    slope: float


def saturation(
    widths: Sequence[int], scaled: bool, n_keys: int = 8, n_queries: int = 512, seed: int = 0
) -> list[Saturation]:
    """Scores of standard-normal queries and keys at each width, with or without 1/√d_k."""
    random = torch.Generator().manual_seed(seed)
    rows = []
    for d_k in widths:
        q = torch.randn(n_queries, d_k, generator=random, dtype=torch.float64)
        k = torch.randn(n_keys, d_k, generator=random, dtype=torch.float64)
        scores = q @ k.T / (math.sqrt(d_k) if scaled else 1.0)
        largest = torch.softmax(scores, dim=-1).max(dim=-1).values
        slope = 2 * largest * (1 - largest)
        rows.append(
            Saturation(d_k, scores.std().item(), largest.mean().item(), slope.mean().item())
        )
    return rows


def mask_after(scores: Tensor) -> Tensor:
    """Softmax first, then zeros for later keys, then each row divided by its sum.

    scores: [head, query, key], unmasked. The same shares as masking with -inf before the softmax,
    because the sum over all keys cancels.
    """
    with torch.inference_mode():
        earlier = torch.softmax(scores, dim=-1).tril()
        return earlier / earlier.sum(dim=-1, keepdim=True)


def dropout(weights: Tensor, p: float, seed: int) -> Tensor:
    """Shares as training would see them: each zeroed with probability p, the others by 1/(1-p).

    Raises ValueError unless 0 <= p < 1.
    """
    if not 0 <= p < 1:
        raise ValueError(f"p is {p}; it must be at least 0 and less than 1")
    random = torch.Generator().manual_seed(seed)
    kept = torch.rand(weights.shape, generator=random, dtype=torch.float64) >= p
    with torch.inference_mode():
        return weights * kept.to(weights) / (1 - p)
