"""Why there are shortcuts: gradients of a small deep network with and without them."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

WIDTHS = (3, 3, 3, 3, 3, 1)
INPUT = (1.0, 0.0, -1.0)
SEED = 123


def layer_gradients(shortcuts: bool) -> list[float]:
    """The mean absolute gradient of each of five layers' weights, first to last.

    The network, its seed and its input are those of Raschka, "Build a Large Language Model (From
    Scratch)", section 4.4: Linear and GELU five times, squared error against 0.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        layers = [nn.Linear(n_in, n_out) for n_in, n_out in pairwise(WIDTHS)]
    stream = torch.tensor([INPUT])
    for layer in layers:
        out = nn.functional.gelu(layer(stream), approximate="tanh")
        stream = stream + out if shortcuts and out.shape == stream.shape else out
    stream.square().mean().backward()
    return [layer.weight.grad.abs().mean().item() for layer in layers]
