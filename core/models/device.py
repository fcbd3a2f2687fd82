"""Where a model runs: a CUDA card, Apple's GPU, or the processor."""

from __future__ import annotations

from functools import cache

import torch

# Bytes of weights from which sharing out a product between threads pays.
LARGE = 100 * 2**20


def pick_device(dtype: torch.dtype = torch.float32) -> torch.device:
    """The fastest device present that knows `dtype` (Apple's GPU has no float64)."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available() and dtype != torch.float64:
        return torch.device("mps")
    return torch.device("cpu")


def use_threads(weight_bytes: int) -> None:
    """Compute in this thread with as many threads as pay for a model of that size.

    A small model's products are done before a second thread has woken up, and where the browser
    or another user needs the other core, each of them waits for it.
    """
    most = _threads()
    torch.set_num_threads(most if weight_bytes >= LARGE else 1)


@cache
def _threads() -> int:
    """What torch chose by itself for this computer, or was told before a model was shown."""
    return torch.get_num_threads()


def describe_device(device: torch.device) -> str:
    """The device in words, as `CPU, 2 threads`."""
    match device.type:
        case "cuda":
            return f"CUDA: {torch.cuda.get_device_name(device)}"
        case "mps":
            return "Apple GPU (MPS)"
        case "cpu":
            threads = torch.get_num_threads()
            return f"CPU, {threads} thread{'' if threads == 1 else 's'}"
    return str(device)
