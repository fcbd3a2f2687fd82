"""Two or more pieces of work timed in turn, so that a busy moment hits all of them alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Seconds of every counted round, in order."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def ratio(self, other: Timing) -> float:
        """How many times as long as the other this takes: the ratio of the medians."""
        return self.median / other.median

    def spread(self, other: Timing) -> tuple[float, float]:
        """The middle half of the ratios taken round by round: how far to trust `ratio`."""
        ratios = [own / its for own, its in zip(self.seconds, other.seconds, strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        return low, high


def alternate(
    works: Mapping[str, Work],
    rounds: int,
    warm_up: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Run all works once per round, first in one order, then in the other, A B, B A, A B …

    The first `warm_up` rounds do not count. Freeing a result and collecting garbage do not either.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for turn in range(warm_up + rounds):
            for name in list(works) if turn % 2 == 0 else reversed(works):
                gc.collect()
                start = clock()
                result = works[name]()
                took = clock() - start
                del result
                if turn >= warm_up:
                    seconds[name].append(took)
    finally:
        if was_enabled:
            gc.enable()
    return {name: Timing(tuple(values)) for name, values in seconds.items()}
