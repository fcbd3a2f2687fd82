"""The ops of a GPT, in the order in which data meets them.

Shapes are written without a batch axis. `head` counts query heads, `kv_head` key-value heads;
with fewer of the latter, each serves `head / kv_head` neighbouring query heads (grouped-query
attention, Ainslie et al. 2023).
"""

from core.graph.ops.attention import (
    Concat,
    Mask,
    QueryKey,
    Scale,
    Softmax,
    WeightedSum,
)
from core.graph.ops.embedding import Lookup, OneHot, Sinusoid
from core.graph.ops.linear import Activation, Add, Affine, Multiply, Same
from core.graph.ops.norm import Mean, MeanSquare, Normalize, ScaleShift, Variance
from core.graph.ops.rotary import Interpolation, Rotate, Stretch

__all__ = [
    "Activation",
    "Add",
    "Affine",
    "Concat",
    "Interpolation",
    "Lookup",
    "Mask",
    "Mean",
    "MeanSquare",
    "Multiply",
    "Normalize",
    "OneHot",
    "QueryKey",
    "Rotate",
    "Same",
    "Scale",
    "ScaleShift",
    "Sinusoid",
    "Softmax",
    "Stretch",
    "Variance",
    "WeightedSum",
]
