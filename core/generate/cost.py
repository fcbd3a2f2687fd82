"""What a pass over tokens takes until the next token can be drawn: operations and bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from core.graph import Trace
from core.graph.op import Cost, Input
from core.models.config import Config
from core.models.gpt import graph_of

META = torch.device("meta")  # tensors with shapes and without numbers
INTO_BLOCKS = ("embed.", "blocks.")


@lru_cache(maxsize=8192)
def needed(
    config: Config, n_tokens: int, n_past: int = 0, dtype: torch.dtype = torch.float32
) -> Cost:
    """What `n_tokens` take after `n_past` cached ones, and then the last one's probabilities.

    After the last block only the last token goes on: nobody asks what follows the others.
    """
    # Blocks are alike, so one is looked at and counted as often as there are blocks.
    first = replace(config, n_layers=min(config.n_layers, 1))
    wide = _costs(first, n_tokens, n_past, dtype)
    row = wide if n_tokens == 1 else _costs(first, 1, n_past + n_tokens - 1, dtype)
    costs = []
    for name in row:
        times = config.n_layers if name.startswith("blocks.") else 1
        costs += [(wide if name.startswith(INTO_BLOCKS) else row)[name]] * times
    return Cost(
        sum(cost.multiply_adds for cost in costs),
        sum(cost.bytes_read for cost in costs),
        sum(cost.bytes_written for cost in costs),
    )


def _costs(config: Config, n_tokens: int, n_past: int, dtype: torch.dtype) -> dict[str, Cost]:
    """The cost of each step that the probabilities need; nothing is computed."""
    graph = graph_of(config, cached=n_past > 0)
    tokens = {"pos": n_tokens, "query": n_tokens, "past": n_past, "key": n_past + n_tokens}
    sizes = config.sizes() | tokens
    given = {name: step.axes for name, step in graph.steps.items() if isinstance(step.op, Input)}
    inputs = {name: _empty(sizes, axes, _dtype(name, dtype)) for name, axes in given.items()}
    weights = {name: _empty(sizes, axes, dtype) for name, axes in graph.weights.items()}
    trace = Trace(graph, inputs, weights, sizes)
    return {step.name: trace.cost(step.name) for step in graph.plan(["probs"], inputs).steps}


def _dtype(name: str, dtype: torch.dtype) -> torch.dtype:
    return torch.int64 if name.startswith("tokens.") else dtype


def _empty(sizes: dict[str, int], axes: tuple[str, ...], dtype: torch.dtype) -> Tensor:
    return torch.empty([sizes[axis] for axis in axes], dtype=dtype, device=META)
