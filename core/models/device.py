"""Where a model runs: a CUDA card, Apple's GPU, or the processor."""

from __future__ import annotations

import torch


def pick_device(dtype: torch.dtype = torch.float32) -> torch.device:
    """The fastest device present that knows `dtype` (Apple's GPU has no float64)."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available() and dtype != torch.float64:
        return torch.device("mps")
    return torch.device("cpu")


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
