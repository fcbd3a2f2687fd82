"""The MLP read as a memory: which neurons fired, and what each of them writes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.residual import unembed
from core.models.model import PromptTrace


@dataclass(frozen=True)
class Neuron:
    """A neuron that fired for one token.

    activation: its value. written: the length of what it adds to the stream, |activation·W_2 row|.
    promotes, suppresses: the tokens whose logits its row of W_2 raises and lowers most, each with
    the change at this activation (final norm left out).
    """

    index: int
    activation: float
    written: float
    promotes: tuple[tuple[str, float], ...]
    suppresses: tuple[tuple[str, float], ...]


def strongest_neurons(trace: PromptTrace, block: int, pos: int, k: int = 5) -> list[Neuron]:
    """The `k` neurons that wrote most to the stream at `pos`, the strongest first."""
    name = f"blocks.{block}.mlp"
    inner = trace[f"{name}.product" if trace.model.config.gated else f"{name}.act"][pos]
    with torch.inference_mode():
        rows = trace.weights[f"{name}.W_2"] * inner.unsqueeze(-1)
        written = rows.norm(dim=-1)
        chosen = written.topk(min(k, len(written))).indices
        effects = unembed(trace.model, rows[chosen])
    return [
        Neuron(
            index,
            inner[index].item(),
            written[index].item(),
            _extreme(trace, effect, largest=True),
            _extreme(trace, effect, largest=False),
        )
        for index, effect in zip(chosen.tolist(), effects, strict=True)
    ]


def _extreme(
    trace: PromptTrace, effect: Tensor, largest: bool, k: int = 5
) -> tuple[tuple[str, float], ...]:
    """The tokens most raised, or most lowered; fewer than `k` if no more of them are."""
    values, ids = effect.topk(min(k, len(effect)), largest=largest)
    text = trace.model.tokenizer.token_text
    return tuple(
        (text(i), value)
        for i, value in zip(ids.tolist(), values.tolist(), strict=True)
        if (value > 0) == largest and value
    )
