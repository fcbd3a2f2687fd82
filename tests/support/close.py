"""How near is near: always relative to the largest value of the tensor that is expected."""

import numpy as np


def assert_close(actual, expected, tolerance: float, name: str = "") -> None:
    """Same shape, infinities in the same places, the rest within `tolerance` of the largest."""
    actual, expected = as_float64(actual), as_float64(expected)
    assert actual.shape == expected.shape, f"{name}: {actual.shape}, expected {expected.shape}"
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], err_msg=name)
    gap = np.abs(actual[finite] - expected[finite]).max(initial=0.0)
    largest = np.abs(expected[finite]).max(initial=0.0)
    assert gap <= tolerance * largest, f"{name}: off by {gap}, the largest value is {largest}"


def as_float64(value) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value, dtype=np.float64)


def same_bits(a, b) -> bool:
    """Equal shape, type and bytes, so that 0 and -0 differ and NaN equals itself."""
    a, b = (value.detach().cpu().numpy() for value in (a, b))
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
