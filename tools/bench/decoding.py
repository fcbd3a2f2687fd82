"""Greedy decoding as it is measured: with the cache, without it, and with nothing recorded."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from core.generate.cache import KVCache
from core.models.gpt import graph_of
from core.models.model import Model
from tools.bench.timing import Work

Step = Callable[[list[int], KVCache], Tensor]  # token IDs and those before them -> logits


def cached(model: Model, prompt: list[int], n_new: int) -> list[int]:
    """The next tokens, each the likeliest, as anybody would ask for them."""
    return [step.id for step in model.generate(prompt, n_new, temperature=0)]


def uncached(model: Model, prompt: list[int], n_new: int) -> list[int]:
    """The same tokens, reading all of the text again for each."""
    ids = list(prompt)
    for _ in range(n_new):
        ids.append(int(model.trace(ids)["logits"][-1].argmax()))
    return ids[len(prompt) :]


def transformers_greedy(gpt2: torch.nn.Module, prompt: list[int], n_new: int) -> Tensor:
    """The same in transformers, with its cache."""
    batch = torch.tensor([prompt])
    return gpt2.generate(
        batch,
        attention_mask=torch.ones_like(batch),
        do_sample=False,
        min_new_tokens=n_new,
        max_new_tokens=n_new,
        pad_token_id=0,
    )


def forced(step: Step, cache: KVCache, ids: list[int]) -> Work:
    """A decode step for each of `ids` after those in the cache, which stays as it is."""

    def work() -> None:
        for token_id in ids:
            step([token_id], cache)

    return work


def traced(ids: list[int], cache: KVCache) -> Tensor:
    """One decode step as a trace, of which nobody looks at anything but the logits."""
    return cache.model.decode(ids, cache)["logits"]


def unrecorded(cache: KVCache) -> Step:
    """The same arithmetic and nothing else: the calls are listed beforehand, then made in order."""
    model = cache.model
    plan = graph_of(model.config, cached=True).plan(["logits"], have=())
    calls = [(step.name, step.op.compute, step.inputs) for step in plan.steps if step.inputs]

    @torch.inference_mode()
    def step(ids: list[int], cache: KVCache) -> Tensor:
        values = {**model.weights, **model.inputs(ids, len(cache)), **cache.values()}
        for name, compute, inputs in calls:
            values[name] = compute(*[values[part] for part in inputs])
        return values["logits"]

    return step


def read_in_a_step(model: Model) -> list[Tensor]:
    """The weights that one token needs as a whole; of the positions it reads a single row."""
    return [weight for name, weight in model.weights.items() if name != "embed.W_P"]
