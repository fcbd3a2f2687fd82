"""Why there are shortcuts: gradients of a small deep network with and without them."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

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
    for weight, bias in layers:
        out = F.gelu(F.linear(stream, weight, bias), approximate="tanh")
        stream = stream + out if shortcuts and out.shape == stream.shape else out
    stream.square().mean().backward()
    return [weight.grad.abs().mean().item() for weight, _ in layers]


def _linear(n_in: int, n_out: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Weight and bias with PyTorch's own initial numbers, from a generator of its own.

    `nn.Linear` draws from the one that all threads share: two visitors at once would get others.
    """
    bound = n_in**-0.5
    weight, bias = torch.empty(n_out, n_in), torch.empty(n_out)
    for drawn in (weight, bias):
        drawn.uniform_(-bound, bound, generator=random)
    return weight.requires_grad_(), bias.requires_grad_()
