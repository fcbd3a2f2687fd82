"""Token by token: prefill once, then decode one row at a time from the KV cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.generate.cache import KVCache
from core.generate.sampling import Distribution, distribution
from core.models.model import Model, PromptTrace


@dataclass(frozen=True)
class GenerationStep:
    """One new token.

    trace: the steps that led to it; all of the prompt the first time (prefill), then one row
    (decode). distribution: what it was drawn from. draw: the random number, from 0 to 1.
    id, text: the token. n_past: how many tokens were in the cache before.
    """

    trace: PromptTrace
    distribution: Distribution
    draw: float
    id: int
    text: str
    n_past: int


def generate(
    model: Model,
    prompt: str | Sequence[int],
    max_new_tokens: int,
    *,
    seed: int = 0,
    **sampling: object,
) -> Iterator[GenerationStep]:
    """Up to `max_new_tokens` tokens after `prompt`, each with everything that led to it.

    It ends early after a token that ends a text and where the context is full. The same seed gives
    the same tokens. sampling: what `distribution` takes; temperature=0 is greedy, and a repetition
    penalty counts the prompt as well. Raises what `Model.trace` and `distribution` raise.
    """
    random = torch.Generator().manual_seed(seed)
    trace = model.trace(prompt)
    # A context of 131,072 tokens would be 8 GB of room, of which few texts need much.
    cache = KVCache(model, min(model.config.n_ctx, len(trace) + max_new_tokens))
    seen = list(trace.ids)
    for _ in range(max_new_tokens):
        chosen = distribution(trace.row("logits"), previous=seen, **sampling)
        draw = torch.rand((), generator=random, dtype=torch.float64).item()
        token_id = pick(chosen, draw)
        text = model.tokenizer.token_text(token_id)
        n_past = len(cache)
        seen.append(token_id)
        cache.append(trace)
        yield GenerationStep(trace, chosen, draw, token_id, text, n_past)
        if token_id in model.tokenizer.stop_ids or len(cache) == model.config.n_ctx:
            return
        trace = model.decode([token_id], cache)


def pick(chosen: Distribution, draw: float) -> int:
    """The token at which the cumulative probability, in order of IDs, first exceeds `draw`."""
    cumulative = chosen.probs.cpu().double().cumsum(-1)
    place = torch.searchsorted(cumulative, draw * cumulative[-1], right=True)
    return min(int(place), int(chosen.probs.nonzero()[-1]))
