"""What a norm does to a row, and what it would do along another direction."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.models.model import PromptTrace

DIMS = {"features": -1, "tokens": 0}


@dataclass(frozen=True)
class After:
    """A row once it is normed: its mean and spread as they really come out."""

    mean: float
    std: float


def spread(x: Tensor, over: str = "features") -> tuple[Tensor, Tensor]:
    """Mean and biased standard deviation of x [pos, d_model].

    over: "features" gives one of each per token, as LayerNorm has it; "tokens" one per column, as
    a norm over the batch would.
    """
    with torch.inference_mode():
        return x.mean(DIMS[over]), x.std(DIMS[over], correction=0)


def root_mean_square(x: Tensor, over: str = "features") -> Tensor:
    """The root of the mean of the squares of x [pos, d_model]; over: see `spread`."""
    with torch.inference_mode():
        return x.square().mean(DIMS[over]).sqrt()


def unbiased(x: Tensor) -> float:
    """The standard deviation of one row with n - 1 instead of n; 0 for a single number."""
    return x.std().item() if len(x) > 1 else 0.0


def after(normed: Tensor) -> After:
    """How one normed row [d_model] really came out, in its own precision."""
    return After(normed.mean().item(), normed.std(correction=0).item())


def same_order(x: Tensor, normed: Tensor) -> bool:
    """Whether two rows put their numbers in the same order; ties may go either way."""
    order = x.argsort(stable=True)
    return bool((normed[order].diff() >= 0).all())


def lengths(trace: PromptTrace) -> Tensor:
    """How long each row of the residual stream is [place, pos]: at the start, after each block."""
    blocks = [f"blocks.{i}.resid_in" for i in range(trace.model.config.n_layers)]
    with torch.inference_mode():
        return torch.stack([trace[name].norm(dim=-1) for name in [*blocks, end_of_stream(trace)]])


def end_of_stream(trace: PromptTrace) -> str:
    """The step that comes out of the last block, its norm included where that stands after it."""
    final = next((name for name in trace.steps if name.startswith("ln_f.")), "logits")
    return trace.step(final).inputs[0]
