"""From the logits of one position to the distribution the next token is drawn from.

Always over the whole vocabulary. The order is that of Hugging Face `transformers`: temperature,
then top-k, then top-p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


class SamplingError(ValueError):
    """A setting outside its range, or logits that no distribution follows from."""


@dataclass(frozen=True)
class Stage:
    """The distribution after one setting was applied.

    logits, probs: [vocab]; a token that was taken out has -inf and 0. kept: how many tokens are
    left. held: how much of the previous stage's probability they had.
    """

    name: str
    logits: Tensor
    probs: Tensor
    kept: int
    held: float


@dataclass(frozen=True)
class Distribution:
    """The stages in the order in which they were applied; `probs` are those of the last."""

    stages: tuple[Stage, ...]

    @property
    def probs(self) -> Tensor:
        return self.stages[-1].probs


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Distribution:
    """Stage by stage from `logits` [vocab] to probabilities.

    temperature: logits are divided by it; 0 leaves the first of the largest (greedy).
    top_k: the k largest logits stay, and those equal to the k-th (None: all; more than there are:
    all). top_p: the likeliest tokens whose probabilities first reach top_p stay (Holtzman et al.
    2020), never fewer than one (None: all). Raises SamplingError.
    """
    _check(logits, temperature, top_k, top_p)
    with torch.inference_mode():
        stages = [_stage("logits", logits, None)]
        stages.append(_stage("temperature", _warm(logits, temperature), stages[-1]))
        if top_k is not None:
            stages.append(_stage("top_k", _top_k(stages[-1].logits, int(top_k)), stages[-1]))
        if top_p is not None:
            stages.append(_stage("top_p", _top_p(stages[-1], top_p), stages[-1]))
        return Distribution(tuple(stages))


def _stage(name: str, logits: Tensor, before: Stage | None) -> Stage:
    probs = torch.softmax(logits, dim=-1)
    kept = torch.isfinite(logits)
    held = 1.0 if before is None else before.probs[kept].sum().item()
    return Stage(name, logits, probs, int(kept.sum()), held)


def _warm(logits: Tensor, temperature: float) -> Tensor:
    highest = logits.max()
    if temperature == 0:
        first = torch.arange(len(logits), device=logits.device) == logits.argmax()
        return torch.where(first, logits, -math.inf)
    # Relative to the highest logit, so that a tiny temperature cannot overflow to inf; and within
    # what the dtype can hold, where 1e-300 would be 0 and 1e300 infinite, and their quotients NaN.
    limits = torch.finfo(logits.dtype)
    return (logits - highest) / min(max(temperature, limits.tiny), limits.max)


def _top_k(logits: Tensor, k: int) -> Tensor:
    smallest = logits.topk(min(k, len(logits))).values[-1]
    return torch.where(logits >= smallest, logits, -math.inf)


def _top_p(stage: Stage, p: float) -> Tensor:
    if p == 1:
        return stage.logits  # rounded sums may reach 1 before the last token
    # float64 on the processor: Apple's GPU has none.
    probs, ids = stage.probs.cpu().double().sort(descending=True, stable=True)
    before = probs.cumsum(-1) - probs  # what the likelier tokens hold together
    keep = before < p
    keep = keep | (torch.arange(len(ids)) == 0)
    return torch.where(keep[ids.argsort()].to(stage.logits.device), stage.logits, -math.inf)


def _check(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> None:
    if logits.ndim != 1 or not len(logits):
        raise SamplingError(f"logits must be one row [vocab], not {tuple(logits.shape)}")
    if logits.isnan().any() or (logits == math.inf).any() or not logits.isfinite().any():
        raise SamplingError("logits must be numbers or -inf, and at least one of them finite")
    if not (math.isfinite(temperature) and temperature >= 0):
        raise SamplingError(f"temperature is {temperature}; it must be 0 or more")
    if top_k is not None and not (math.isfinite(top_k) and top_k == int(top_k) >= 1):
        raise SamplingError(f"top_k is {top_k}; it must be a whole number, at least 1")
    if top_p is not None and not 0 <= top_p <= 1:
        raise SamplingError(f"top_p is {top_p}; it must lie between 0 and 1")
