"""Whether a model's weights are packed, decided once in a process by trying it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

import torch
from torch import Tensor

from core.graph import Graph
from core.graph.ops import Affine
from core.graph.packed import Packed
from core.graph.trial import SETTING, WORTH, gain
from core.models.memory import ROOM_TO_WORK, free_memory

# SETTING may also be "on": every float32 model on the processor is packed, from one row. If it is
# neither, large models are, if there is room for the copies and the trial says so.
# Bytes of the matrices: below, a product is too quick to gain; above, a second copy costs too much.
SMALLEST, LARGEST = 100 * 2**20, 2 * 2**30
FEW, MANY = 4, 32  # rows of the trial: a short and a longer prompt


def pack(weights: Mapping[str, Tensor], graph: Graph) -> Mapping[str, Tensor]:
    """The weights, and those that are multiplied with packed, where that pays."""
    products = [step for step in graph.steps.values() if isinstance(step.op, Affine)]
    transposed = {step.inputs[1]: step.op.transposed for step in products}
    rows = _fewest_rows([weights[name] for name in transposed])
    if rows is None:
        return weights
    packed = {name: Packed.of(weights[name], back, rows) for name, back in transposed.items()}
    return {**weights, **packed}


def _fewest_rows(matrices: list[Tensor]) -> int | None:
    """From how many rows on these are multiplied packed; None for never."""
    setting = os.environ.get(SETTING, "")
    fits = all(w.device.type == "cpu" and w.dtype == torch.float32 for w in matrices)
    if setting == "off" or not fits:
        return None
    if setting == "on":
        return 1
    size = sum(matrix.nbytes for matrix in matrices)
    room = free_memory(torch.device("cpu")) - ROOM_TO_WORK
    return trial() if SMALLEST <= size <= min(LARGEST, room) else None


@cache
def trial() -> int | None:
    """From how many rows on packed weights are faster on this computer; None for never.

    Takes some tenths of a second. They are not used where the ops are missing, or wrong.
    """
    try:
        if _gain(MANY) < WORTH:
            return None
        return FEW if _gain(FEW) >= 1 else MANY
    except (AttributeError, RuntimeError):
        return None


@torch.inference_mode()
def _gain(rows: int, d_in: int = 768, d_out: int = 3072) -> float:
    """How many times as fast one of GPT-2 small's larger products is; 0 if it is wrong."""
    random = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(n, m, generator=random) for n, m in ((rows, d_in), (d_in, d_out)))
    packed, bias = Packed.of(weight, False, 1), torch.zeros(d_out)
    works = (lambda: torch.addmm(bias, x, weight)), (lambda: packed.product(x, bias))
    if not torch.allclose(*(work() for work in works), rtol=0, atol=1e-3):
        return 0.0
    return gain(*works)
