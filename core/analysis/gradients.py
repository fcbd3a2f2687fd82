"""Why there are shortcuts: gradients of a small deep network with and without them."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn.utils import skip_init

WIDTHS = (3, 3, 3, 3, 3, 1)
INPUT = (1.0, 0.0, -1.0)
SEED = 123


def layer_gradients(shortcuts: bool) -> list[float]:
    """The mean absolute gradient of each of five layers' weights, first to last.

    The network, its seed and its input are those of Raschka, "Build a Large Language Model (From
    Scratch)", section 4.4: Linear and GELU five times, squared error against 0.
    """
    random = torch.Generator().manual_seed(SEED)
    layers = [_linear(n_in, n_out, random) for n_in, n_out in pairwise(WIDTHS)]
    stream = torch.tensor([INPUT])
    for layer in layers:
        out = nn.functional.gelu(layer(stream), approximate="tanh")
        stream = stream + out if shortcuts and out.shape == stream.shape else out
    stream.square().mean().backward()
    return [layer.weight.grad.abs().mean().item() for layer in layers]


def _linear(n_in: int, n_out: int, random: torch.Generator) -> nn.Linear:
    """A layer with PyTorch's own initial numbers, from a generator of its own.

    `nn.Linear` draws from the one that all threads share: two visitors at once would get others.
    """
    layer = skip_init(nn.Linear, n_in, n_out)
    bound = n_in**-0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=random)
    nn.init.uniform_(layer.bias, -bound, bound, generator=random)
    return layer
