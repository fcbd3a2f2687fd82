"""Logits read by a person: where a token stands, and what every position would have said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from core.models.model import Candidate, PromptTrace


@dataclass(frozen=True)
class Standing:
    """One token among all that could come. rank: 1 for the likeliest."""

    id: int
    text: str
    logit: float
    prob: float
    rank: int


@dataclass(frozen=True)
class Guess:
    """What was expected after a position, and what really came there; None after the last."""

    pos: int
    best: Candidate
    real: Standing | None


def standing(trace: PromptTrace, pos: int, token_id: int) -> Standing:
    """How likely a token is after position `pos`, among the whole vocabulary."""
    logits = trace.row("logits", pos)
    with torch.inference_mode():
        own = logits[token_id]
        prob = (own - logits.logsumexp(dim=-1)).exp().item()
        rank = 1 + int((logits > own).sum())
    return Standing(token_id, trace.model.tokenizer.token_text(token_id), own.item(), prob, rank)


def guesses(trace: PromptTrace, positions: Sequence[int]) -> list[Guess]:
    """The best guess after each of these positions beside the token that came."""
    found = []
    for pos in positions:
        came = trace.ids[pos + 1] if pos + 1 < len(trace) else None
        real = None if came is None else standing(trace, pos, came)
        found.append(Guess(pos, trace.top(1, pos)[0], real))
    return found


def hits(trace: PromptTrace) -> int:
    """How many of the prompt's own tokens were the first choice at the position before."""
    with torch.inference_mode():
        best = torch.cat([rows.argmax(dim=-1) for rows in trace.tiles("logits")])
        return int((best[:-1] == trace["tokens.ids"][1:]).sum())
