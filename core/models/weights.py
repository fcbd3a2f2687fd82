"""From stored tensors to the weights of a model: checked, converted, laid out, write-protected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from core.graph import Graph
from core.graph.packed import pack_like, side_by_side
from core.models.packing import pack


class WeightsError(ValueError):
    """Tensors that do not fit the model: missing, surplus or misshaped ones, by name."""


def prepare(
    tensors: Mapping[str, Tensor],
    graph: Graph,
    sizes: Mapping[str, int],
    device: torch.device,
    dtype: torch.dtype,
) -> Mapping[str, Tensor]:
    """The weights that `graph` names, on `device`, read-only.

    They are inference tensors: a write in place raises an error. One of `tensors` that is such a
    tensor already, as those of a mapped file are, is shared; any other is copied. Raises
    WeightsError.
    """
    check(tensors, graph, sizes)
    with torch.inference_mode():
        own = {name: lay_out(_own(tensors[name], device, dtype)) for name in graph.weights}
    return MappingProxyType(pack(own, graph))


def _own(weight: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The weight as one that nobody can write to any more."""
    moved = weight.to(device, dtype)
    return moved.clone() if moved is weight and not weight.is_inference() else moved


def adapt(
    weights: Mapping[str, Tensor], graph: Graph, sizes: Mapping[str, int]
) -> Mapping[str, Tensor]:
    """The weights that another graph of the same model names, shared where they stay the same.

    Where it has a norm or bias that the model lacked, that starts as before any training. Heads
    may be joined into one: their matrices then stand side by side. Keys and values may be shared
    by more heads: each is then the mean of those it replaces. Raises WeightsError.
    """
    like = next(iter(weights.values()))
    found = {name: weights[name] for name in graph.weights if name in weights}
    if sizes["head"] == sizes["kv_head"] == 1:
        found = {
            name: _joined(weight) if "head" in graph.weights[name][0] else weight
            for name, weight in found.items()
        }
    found = {
        name: _pooled(weight, sizes["kv_head"]) if graph.weights[name][0] == "kv_head" else weight
        for name, weight in found.items()
    }
    with torch.inference_mode():
        for name, axes in graph.weights.items():
            start = untrained(name)
            if name not in found and start is not None:
                shape = [sizes[axis] for axis in axes]
                found[name] = torch.full(shape, start, dtype=like.dtype, device=like.device)
    check(found, graph, sizes)
    return MappingProxyType(found)


def _joined(weight: Tensor) -> Tensor:
    """[head, …, d_head] as the one head [1, …, head·d_head]; shared where memory allows it."""
    if weight.shape[0] == 1:
        return weight
    with torch.inference_mode():
        return pack_like(weight.movedim(0, -2).flatten(-2)[None], weight)


def _pooled(weight: Tensor, n: int) -> Tensor:
    """[kv_head, …] with `n` heads, each the mean of neighbours (Ainslie et al. 2023)."""
    if weight.shape[0] <= n or weight.shape[0] % n:
        return weight
    with torch.inference_mode():
        return pack_like(lay_out(weight.unflatten(0, (n, -1)).mean(1)), weight)


def untrained(name: str) -> float | None:
    """What training starts a norm or bias with; None for a matrix."""
    last = name.rpartition(".")[2]
    if last == "gamma":
        return 1.0
    return 0.0 if last == "beta" or last.startswith("b_") else None


def check(tensors: Mapping[str, Tensor], graph: Graph, sizes: Mapping[str, int]) -> None:
    """Raise WeightsError, naming every tensor that is missing, surplus or of the wrong shape."""
    problems = [f"{name} is missing" for name in graph.weights if name not in tensors]
    problems += [
        f"{name} is not part of this model" for name in tensors if name not in graph.weights
    ]
    for name, axes in graph.weights.items():
        wanted = tuple(sizes[axis] for axis in axes)
        if name in tensors and tuple(tensors[name].shape) != wanted:
            found = tuple(tensors[name].shape)
            problems.append(f"{name} is {found}; {' × '.join(axes)} would be {wanted}")
    if problems:
        raise WeightsError("The weights do not fit the model: " + "; ".join(problems))


def lay_out(weight: Tensor) -> Tensor:
    """Per-head matrices [head, in, out] as a view of one [in, head·out] matrix.

    Then one product computes all heads, without a copy each time.
    """
    if weight.ndim != 3:
        return weight
    n_heads, d_in, d_out = weight.shape
    return side_by_side(weight).contiguous().view(d_in, n_heads, d_out).permute(1, 0, 2)
