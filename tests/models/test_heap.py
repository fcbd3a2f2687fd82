"""The allocator can be told to keep memory, and then does."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The page faults of making some tensors ten times over, 80 MB together.
FAULTS = """
import resource, sys, torch
from core.models.heap import keep_heap
keep, count = sys.argv[1], int(sys.argv[2])
assert keep == "no" or keep_heap()
make = lambda: [torch.ones(20_000_000 // count) for _ in range(count)]
make()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    make()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep: str, count: int) -> int:
    command = [sys.executable, "-c", FAULTS, keep, str(count)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(found.stdout)


needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")


@needs_glibc
def test_freed_memory_is_used_again():
    """Of 20 tensors of 4 MB, as a step of 256 tokens is."""
    assert faults("yes", 20) < 0.2 * faults("no", 20)


@needs_glibc
def test_a_large_tensor_goes_back_at_once():
    """One of 80 MB: kept, it would be part of what a long text takes."""
    assert faults("yes", 1) > 0.8 * faults("no", 1) > 1000
