"""The product of a single row with a matrix: most of what a decode step does.

It can be no faster than memory hands out the matrix, and that takes more than one thread. On some
processors MKL, by which torch multiplies, uses only one for a single row. A batch of products it
spreads over all of them, so the matrix is cut into a batch of pieces. On others one product is as
fast as memory, and pieces take up to twice as long; so they are tried before they are relied on.
"""

from __future__ import annotations

import os
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn import functional as F

from core.graph.trial import SETTING, WORTH, gain

PIECES = 4  # as many threads can be at work, and few cores are needed to keep memory busy
SMALLEST = 2**18  # elements of the matrix; a smaller one lies in a cache, and calls cost more
TRIED = 8192, 768  # the matrix of the trial, [out, in]: too large for the caches of one core


def serves(x: Tensor, matrix: Tensor, transposed: bool) -> bool:
    """Whether x [pos, in] is one row, and the matrix such that pieces are faster."""
    n_rows, d_in = x.shape  # quicker than `len` of a tensor, and a decode step asks often
    return (
        n_rows == 1
        and matrix.numel() >= SMALLEST
        and d_in % PIECES == 0
        and x.dtype == torch.float32
        and x.device.type == "cpu"
        and pays(transposed)
    )


@cache
def pays(transposed: bool) -> bool:
    """Whether pieces are faster on this computer: tried once, in some hundredths of a second."""
    if not torch.backends.mkl.is_available() or os.environ.get(SETTING) == "off":
        return False
    with torch.inference_mode():
        x, matrix = torch.ones(1, TRIED[1]), torch.ones(TRIED)
        matrix = matrix if transposed else matrix.view(TRIED[::-1])
        return gain(*(partial(way, x, matrix, transposed) for way in (_whole, product))) >= WORTH


def _whole(x: Tensor, matrix: Tensor, transposed: bool) -> Tensor:
    """The same in one piece, as torch does it."""
    return F.linear(x, matrix) if transposed else x @ matrix


def product(x: Tensor, matrix: Tensor, transposed: bool) -> Tensor:
    """x [1, in] · W -> [1, out]; W [in, out], or [out, in] if it is stored transposed."""
    return _by_columns(x, matrix) if transposed else _by_rows(x, matrix)


def _by_rows(x: Tensor, matrix: Tensor) -> Tensor:
    """Each piece gives a part of all sums."""
    pieces = matrix.reshape(PIECES, -1, matrix.shape[1])
    return torch.bmm(x.view(PIECES, 1, -1), pieces).sum(0)


def _by_columns(x: Tensor, matrix: Tensor) -> Tensor:
    """Each piece gives some of the sums; those that the cut leaves over are few."""
    even = len(matrix) // PIECES * PIECES
    pieces = matrix[:even].view(PIECES, -1, matrix.shape[1])
    sums = torch.bmm(pieces, x.t().expand(PIECES, -1, 1)).view(1, even)
    return torch.cat((sums, F.linear(x, matrix[even:])), dim=1)
