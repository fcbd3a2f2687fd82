"""From the logits of one position to the distribution the next token is drawn from.

Always over the whole vocabulary. Libraries differ in the order of the stages; see `ORDERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

# In which order the settings are applied: Hugging Face `transformers` warms first, so that what is
# cut depends on the temperature; llama.cpp warms last, so that it does not.
ORDERS = {
    "transformers": ("repetition_penalty", "temperature", "top_k", "top_p", "min_p"),
    "llama.cpp": ("repetition_penalty", "top_k", "top_p", "min_p", "temperature"),
}


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
    *,
    min_p: float | None = None,
    repetition_penalty: float | None = None,
    previous: Iterable[int] = (),
    order: str = "transformers",
) -> Distribution:
    """Stage by stage from `logits` [vocab] to probabilities.

    temperature: logits are divided by it; 0 leaves the first of the largest (greedy).
    top_k: the k largest logits stay, and those equal to the k-th (more than there are: all).
    top_p: the likeliest tokens whose probabilities first reach top_p stay (Holtzman et al. 2020).
    min_p: tokens at least min_p times as likely as the likeliest stay (Nguyen et al. 2024).
    repetition_penalty: the logits of the tokens in `previous` are divided by it where positive,
    else multiplied (Keskar et al. 2019); 1 changes nothing.
    A setting that is None is no stage; at least one token always stays. order: a key of `ORDERS`.
    Raises SamplingError.
    """
    _check(logits, temperature, top_k, top_p)
    _check_others(logits, min_p, repetition_penalty, previous := list(previous), order)
    settings: dict[str, Callable[[Stage], Tensor] | None] = {
        "repetition_penalty": repetition_penalty
        and (lambda stage: _penalized(stage.logits, previous, repetition_penalty)),
        "temperature": lambda stage: _warm(stage.logits, temperature),
        "top_k": top_k and (lambda stage: _top_k(stage.logits, int(top_k))),
        "top_p": None if top_p is None else (lambda stage: _top_p(stage, top_p)),
        "min_p": None if min_p is None else (lambda stage: _min_p(stage, min_p)),
    }
    with torch.inference_mode():
        stages = [_stage("logits", logits, None)]
        for name in ORDERS[order]:
            if apply := settings[name]:
                stages.append(_stage(name, apply(stages[-1]), stages[-1]))
        return Distribution(tuple(stages))


def _stage(name: str, logits: Tensor, before: Stage | None) -> Stage:
    probs = torch.softmax(logits, dim=-1)
    kept = torch.isfinite(logits)
    held = 1.0 if before is None else before.probs[kept].sum().item()
    return Stage(name, logits, probs, int(kept.sum()), held)


def _penalized(logits: Tensor, previous: list[int], penalty: float) -> Tensor:
    seen = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    seen[previous] = True
    limits = torch.finfo(logits.dtype)
    penalty = min(max(penalty, limits.tiny), limits.max)  # as this dtype can hold it
    changed = torch.where(logits > 0, logits / penalty, logits * penalty)
    # A finite logit stays finite, however extreme the penalty; -inf stays what it is.
    changed = torch.where(logits.isfinite(), changed.clamp(limits.min, limits.max), logits)
    return torch.where(seen, changed, logits)


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


def _min_p(stage: Stage, p: float) -> Tensor:
    keep = stage.probs >= p * stage.probs.max()
    return torch.where(keep, stage.logits, -math.inf)


def _check(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> None:
    if logits.ndim != 1 or not len(logits):
        raise SamplingError(f"logits must be one row [vocab], not {tuple(logits.shape)}")
    if not math.isfinite(logits.max().item()):  # NaN if one of them is
        raise SamplingError("logits must be numbers or -inf, and at least one of them finite")
    if not (math.isfinite(temperature) and temperature >= 0):
        raise SamplingError(f"temperature is {temperature}; it must be 0 or more")
    if top_k is not None and not (math.isfinite(top_k) and top_k == int(top_k) >= 1):
        raise SamplingError(f"top_k is {top_k}; it must be a whole number, at least 1")
    if top_p is not None and not 0 <= top_p <= 1:
        raise SamplingError(f"top_p is {top_p}; it must lie between 0 and 1")


def _check_others(
    logits: Tensor, min_p: float | None, penalty: float | None, previous: list[int], order: str
) -> None:
    if min_p is not None and not 0 <= min_p <= 1:
        raise SamplingError(f"min_p is {min_p}; it must lie between 0 and 1")
    if penalty is not None and not (math.isfinite(penalty) and penalty > 0):
        raise SamplingError(f"repetition_penalty is {penalty}; it must be greater than 0")
    if any(not 0 <= i < len(logits) for i in previous):
        raise SamplingError(f"previous must be token IDs from 0 to {len(logits) - 1}")
    if order not in ORDERS:
        raise SamplingError(f"order is {order!r}; it can be {' or '.join(ORDERS)}")
