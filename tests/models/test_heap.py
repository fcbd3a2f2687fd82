"""The allocator can be told to keep memory, and then does."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The page faults of making the same 40 MB tensor ten times over.
FAULTS = """
import resource, sys, torch
from core.models.heap import keep_heap
assert sys.argv[1] == "no" or keep_heap()
torch.ones(10_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    torch.ones(10_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep: str) -> int:
    command = [sys.executable, "-c", FAULTS, keep]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(found.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_freed_memory_is_used_again():
    assert faults("yes") < 0.2 * faults("no")
