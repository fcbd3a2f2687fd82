"""How much memory there is, so that a model is refused before it is loaded."""

from __future__ import annotations

from pathlib import Path

import psutil
import torch

ROOM_TO_WORK = 250_000_000  # bytes beside the weights, for the steps of a prompt
# What a container may use and what it uses; see the kernel's documentation of cgroup v2.
GROUP = Path("/sys/fs/cgroup")


def free_memory(device: torch.device) -> int:
    """Bytes that a model on this device can still take."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return min(psutil.virtual_memory().available, _free_in_group())


def _free_in_group() -> float:
    """What the container that we run in has left; infinite where there is none."""
    try:
        limit = int((GROUP / "memory.max").read_text())
        used = int((GROUP / "memory.current").read_text())
        lines = (GROUP / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):  # no such files, or the limit is "max"
        return float("inf")
    files = sum(int(n) for name, n in map(str.split, lines) if name == "inactive_file")
    return max(0, limit - used + files)
