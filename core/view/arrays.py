"""Tensors as the arrays that pictures are drawn from."""

from __future__ import annotations

import numpy as np
from torch import Tensor


def array(values: Tensor) -> np.ndarray:
    """The values, read only; those narrower than float32 as that, for numpy has no bfloat16."""
    narrow = values.is_floating_point() and values.dtype.itemsize < 4
    return (values.float() if narrow else values).detach().cpu().numpy()
