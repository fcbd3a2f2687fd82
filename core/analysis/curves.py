"""Activations as curves: their values, their slopes, and how far two of them lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.graph.ops import Activation

FINE = 1e-3  # between two places where curves are compared
REACH = 6.0  # beyond, GELU and ReLU are the same to eight digits


@dataclass(frozen=True)
class Curve:
    """An activation at many places: z, its value and its slope there."""

    kind: str
    z: Tensor
    value: Tensor
    slope: Tensor


@dataclass(frozen=True)
class Gap:
    """The largest distance between two curves, and where it is."""

    z: float
    size: float


def curve(kind: str, z: Tensor) -> Curve:
    """Values and slopes, the slopes by autograd: as training would see them."""
    with torch.inference_mode(False), torch.enable_grad():
        place = z.clone().requires_grad_()
        value = Activation(kind).compute(place)
        (slope,) = torch.autograd.grad(value.sum(), place)
    return Curve(kind, place.detach(), value.detach(), slope)


def places(low: float = -REACH, high: float = REACH, step: float = FINE) -> Tensor:
    """Evenly spaced values of z, both ends included."""
    return torch.linspace(low, high, round((high - low) / step) + 1, dtype=torch.float64)


def largest_gap(one: str, other: str) -> Gap:
    """Where two activations differ most."""
    z = places()
    gap = (curve(one, z).value - curve(other, z).value).abs()
    where = int(gap.argmax())
    return Gap(z[where].item(), gap[where].item())


def flat_at(kind: str, low: float = -2.0, high: float = -0.1) -> float:
    """Where the slope is 0 between two places at which it has different signs, by bisection."""
    for _ in range(50):
        middle = (low + high) / 2
        slope = curve(kind, torch.tensor([middle], dtype=torch.float64)).slope.item()
        low, high = (middle, high) if slope < 0 else (low, middle)
    return (low + high) / 2
