"""Why attention is computed as it is: scale, mask, dropout, heads; computed rather than claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph import Explanation, Factor, Ref, Term
from core.graph.explain import Operand, number
from core.graph.ops import Softmax
from core.models.model import PromptTrace

Index = tuple[int, int, int]  # head, query, key


@dataclass(frozen=True)
class Saturation:
    """What softmax does to scores of one width, averaged over many random queries.

    spread: the standard deviation of the scores. ranked: the mean of the largest share, of the
    second, and so on. largest: the first of them. slope: the mean gradient reaching a score, see
    `slope`; 0 means that no learning signal passes.
    """

    d_k: int
    spread: float
    ranked: tuple[float, ...]
    slope: float

    @property
    def largest(self) -> float:
        return self.ranked[0]


@dataclass(frozen=True)
class Asymmetry:
    """Where a matrix of scores is furthest from its mirror image, and by how much."""

    largest: float
    query: int
    key: int


@dataclass(frozen=True)
class SoftmaxRow:
    """A row of scores on its way to shares: exp(s - highest) for each, and their sum."""

    highest: float
    powers: tuple[float, ...]
    total: float


@dataclass(frozen=True)
class Projections:
    """Queries of all heads from one product, beside those of one product per head.

    glued: the heads' matrices side by side [d_model, head·d_head]. product: [pos, head·d_head].
    difference: the largest absolute difference, once the product is cut into heads.
    multiply_adds: what either way takes.
    """

    glued: Tensor
    product: Tensor
    difference: float
    multiply_adds: int


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
        shares = torch.softmax(scores, dim=-1).sort(dim=-1, descending=True).values
        ranked = tuple(shares.mean(dim=0).tolist())
        passed = slope(shares[:, 0]).mean().item()
        rows.append(Saturation(d_k, scores.std().item(), ranked, passed))
    return rows


def slope(share: Tensor) -> Tensor:
    """How much learning signal gets from a share to the scores of its row: 2·a·(1 - a).

    That is the sum of the absolute values of the share's row in the Jacobian of the softmax.
    """
    return 2 * share * (1 - share)


def unscaled(trace: PromptTrace, block: int, head: int, query: int) -> Tensor:
    """The shares [key] of one query if its scores were not divided by √d_k.

    Everything before these scores stays as it is, and so does what was set by hand after them.
    """
    name = f"blocks.{block}.attn"
    row = trace[f"{name}.scores"][head, query]
    after = [f"{name}.{step}" for step in ("scores_scaled", "scores_masked", "weights")]
    if not trace.edits.keys().isdisjoint(after):
        edited = trace.edit({after[0]: {(head, query, None): row}})
        return edited[after[-1]][head, query]
    # The row alone: as whole steps all heads' scores would take the room of the model's own.
    hidden = trace[after[1]][head, query].isneginf()
    with torch.inference_mode():
        return torch.softmax(row.masked_fill(hidden, -math.inf), dim=-1)


def asymmetry(scores: Tensor) -> Asymmetry:
    """How far scores [query, key] of one head are from being the same both ways."""
    apart = (scores - scores.T).abs()
    query, key = divmod(int(apart.argmax()), len(scores))
    return Asymmetry(apart.max().item(), query, key)


def softmax_row(scores: Tensor) -> SoftmaxRow:
    """What softmax does to one row of masked scores [key]; a share is its power over the total."""
    highest = scores.max()
    powers = (scores - highest).exp()
    return SoftmaxRow(highest.item(), tuple(powers.tolist()), powers.sum().item())


def mask_after(scores: Tensor) -> Tensor:
    """Softmax first, then zeros for later keys, then each row divided by its sum.

    scores: [head, query, key], unmasked. The same shares as masking with -inf before the softmax,
    because the sum over all keys cancels.
    """
    with torch.inference_mode():
        earlier = torch.softmax(scores, dim=-1).tril()
        return earlier / earlier.sum(dim=-1, keepdim=True)


def mask_first(scores: Tensor) -> Tensor:
    """-inf for later keys, then softmax, as the model does it. scores: as in `mask_after`."""
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    with torch.inference_mode():
        return torch.softmax(scores.masked_fill(later, -math.inf), dim=-1)


def explain_share(trace: PromptTrace, block: int, index: Index, mask: str) -> Explanation:
    """How one share [head, query, key] comes about from the scaled scores of its row.

    mask: "open" for none, "after" as in `mask_after`, "first" as in `mask_first`; the latter two
    leave a later key no share, and its explanation no terms.
    """
    head, query, key = index
    name = f"blocks.{block}.attn.scores_scaled"
    if mask != "open" and key > query:
        return Explanation(name, index, 0.0, ())
    scores = trace[name]
    read = scores[..., : query + 1] if mask == "first" else scores
    power, one_over_sum = Softmax().explain(index, Operand(name, read))[0].factors
    factors = [power, one_over_sum]
    if mask == "first":  # a sum of fewer than the whole line
        factors[1] = Factor(one_over_sum.value, text=one_over_sum.text)
    if mask == "after":
        kept = torch.softmax(scores[head, query].double(), dim=-1)[: query + 1].sum().item()
        factors.append(Factor(1 / kept, text=f"1/{number(kept)}"))
    term = Term(tuple(factors))
    return Explanation(name, index, term.value, (term,))


def explain_kept(trace: PromptTrace, block: int, index: Index, p: float) -> Explanation:
    """What a share [head, query, key] becomes that `dropout` does not strike out."""
    name = f"blocks.{block}.attn.weights"
    share = Factor(trace.value(name, index), (Ref(name, index),))
    term = Term((share, Factor(1 / (1 - p))))
    return Explanation(name, index, term.value, (term,))


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


def average_sum(row: Tensor, p: float, seed: int, draws: int = 1000) -> float:
    """What a row of shares [key] adds up to after dropout, as the mean of many draws."""
    return dropout(row.expand(draws, -1), p, seed).sum(dim=-1).mean().item()


def contributions(trace: PromptTrace, block: int, head: int, query: int) -> Tensor:
    """What each token hands over to `query` [key, d_head]: its value times its share.

    The rows add up to the head's output.
    """
    config, name = trace.model.config, f"blocks.{block}.attn"
    group = config.n_heads // config.n_kv_heads
    with torch.inference_mode():
        shares = trace[f"{name}.weights"][head, query]
        return shares.unsqueeze(-1) * trace[f"{name}.v"][head // group]


def head_outputs(trace: PromptTrace, block: int, pos: int) -> Tensor:
    """What each head adds to the stream at `pos` [head, d_model]: its output times its rows of W_O.

    They add up to the output of attention, b_O left out.
    """
    name = f"blocks.{block}.attn"
    found = trace[f"{name}.heads"][:, pos]
    n_heads, d_head = found.shape
    with torch.inference_mode():
        rows = trace.weights[f"{name}.W_O"].view(n_heads, d_head, -1)
        return torch.einsum("hd,hdm->hm", found, rows)


def head_by_head(x: Tensor, W: Tensor) -> Tensor:
    """x [pos, d_model] times W [head, d_model, d_head]: one small product for each head."""
    return torch.stack([x @ W_of_head for W_of_head in W])


def split_by_view(x: Tensor, W: Tensor) -> Tensor:
    """The same in one large product, whose result is then only looked at as heads."""
    n_heads, d_model, d_head = W.shape
    glued = W.transpose(0, 1).reshape(d_model, n_heads * d_head)
    product = x @ glued
    return product.view(-1, n_heads, d_head).transpose(0, 1)


def projections(trace: PromptTrace, block: int) -> Projections:
    """The queries of a block without their bias, computed both ways."""
    name = f"blocks.{block}.attn"
    W = trace.weights[f"{name}.W_Q"]
    x = trace[trace.step(f"{name}.q").inputs[0]]
    n_heads, d_model, d_head = W.shape
    with torch.inference_mode():
        glued = W.transpose(0, 1).reshape(d_model, n_heads * d_head)
        made = split_by_view(x, W)
        apart = (made - head_by_head(x, W)).abs().max().item()
        product = made.transpose(0, 1).flatten(1)
        return Projections(glued, product, apart, len(x) * d_model * n_heads * d_head)
