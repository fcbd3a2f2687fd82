"""Weights a second time, in the order in which a processor's kernels read them.

torch multiplies float32 through a library (MKL) that is slow on many processors. Another one that
comes with it (oneDNN) is faster there, if the weights are rearranged beforehand. The ops for that
are those that `torch.compile` uses; they are internal, so nothing else in the project calls them,
and `core.models.packing` tries them before it relies on them.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

TYPICAL_ROWS = 64  # the layout hardly depends on it


class Packed(Tensor):
    """A weight like any other that also carries its packed form.

    fewest_rows: from how many rows of x on that one is used. Which one it is changes the last bits
    of a product, so two weights that shall agree in them have to be packed alike.
    """

    # What is computed from a weight is a plain tensor, as with torch's own Parameter.
    __torch_function__ = torch._C._disabled_torch_function_impl

    fewest_rows: int
    _transposed: bool
    _packed: Tensor

    @classmethod
    def of(cls, weight: Tensor, transposed: bool, fewest_rows: int) -> Self:
        """The weight, its memory shared. transposed: whether it is stored as [out, in]."""
        with torch.inference_mode():
            matrix = weight if transposed else side_by_side(weight).t()
            packed = weight.as_subclass(cls)
            packed.fewest_rows = fewest_rows
            packed._transposed = transposed
            packed._packed = torch.ops.mkldnn._reorder_linear_weight(matrix, TYPICAL_ROWS)
            return packed

    def serves(self, x: Tensor) -> bool:
        """Whether the packed form is to be used for the product with x [pos, in]."""
        return x.shape[0] >= self.fewest_rows

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """x·W + b, [pos, out]; the heads of a per-head weight side by side."""
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, bias, "none", [], "")


def pack_like(weight: Tensor, other: Tensor) -> Tensor:
    """A weight that takes the place of another one, packed if that one is."""
    if not isinstance(other, Packed):
        return weight
    return Packed.of(weight, other._transposed, other.fewest_rows)


def side_by_side(weight: Tensor) -> Tensor:
    """Per-head matrices [head, in, out] as one [in, head·out]; any other weight as it is."""
    if weight.ndim == 2:
        return weight
    return weight.permute(1, 0, 2).reshape(weight.shape[1], -1)
