"""How much faster one way to compute something is than another, on this computer."""

from __future__ import annotations

import time
from collections.abc import Callable

# "off": nothing is tried, and every product is torch's own, for the same bits in every process.
SETTING = "RIPPLE_PACKED"
ROUNDS = 10
WORTH = 1.15  # how many times as fast another way must be to be taken; less may be chance


def gain(plain: Callable[[], object], other: Callable[[], object], rounds: int = ROUNDS) -> float:
    """How many times as fast `other` is as `plain`: the best of each, in alternating rounds."""
    timed = [(_seconds(plain), _seconds(other)) for _ in range(rounds)]
    before, after = map(min, zip(*timed, strict=True))
    return before / after


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
