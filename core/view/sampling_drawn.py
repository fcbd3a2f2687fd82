"""What follows from one row of logits, the settings and one random number."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis import sampling
from core.generate.generate import pick
from core.generate.sampling import ORDERS, Distribution, SamplingError, Stage
from core.models.model import PromptTrace
from core.view.look import Look
from core.view.sampling_settings import Settings

DRAWS = 10_000  # a link can ask for so many of a seed's numbers
MANY = ("0", "100", "1000", "10000")


@dataclass(frozen=True)
class Drawn:
    """One draw. previous: the tokens so far. nth: which of the seed's numbers, from 0."""

    settings: Settings
    previous: list[int]
    chosen: Distribution
    nth: int
    number: float
    id: int

    def stages(self) -> list[tuple[str, Stage, Stage]]:
        """Each setting in its order, on or off, with what it gets and what it leaves."""
        left = {stage.name: stage for stage in self.chosen.stages}
        before, found = self.chosen.stages[0], []
        for name in ORDERS[self.settings.order]:
            after = left.get(name, before)
            found.append((name, before, after))
            before = after
        return found


def drawn(look: Look, settings: Settings) -> Drawn | None:
    """The draw of this view; None where the logits are no numbers to draw from.

    Declares what else the links of the page need.
    """
    nth = look.state.index("draw", DRAWS, 0)
    look.state.choice("draws", MANY, MANY[0])
    return draw_at(look.trace, look.token, settings, nth)


def draw_at(trace: PromptTrace, pos: int, settings: Settings, nth: int) -> Drawn | None:
    """The draw after one position of a trace; None where its logits are no numbers."""
    previous = list(trace.ids[: pos + 1])
    try:
        chosen = settings.distribution(trace.row("logits", pos), previous)
    except SamplingError:
        return None
    value = sampling.draws(settings.seed, nth + 1)[-1].item()
    return Drawn(settings, previous, chosen, nth, value, pick(chosen, value))
