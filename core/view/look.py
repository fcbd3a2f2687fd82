"""What the pictures of one page are drawn from: a trace, where we look, and the language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.models.model import PromptTrace
from core.view.compare import Comparison
from core.view.html import esc, number, tag
from core.view.state import State
from core.view.texts import Text

AROUND = 3  # tokens shown on either side where a long prompt is shortened


@dataclass(frozen=True)
class Look:
    """One view of one trace.

    t: texts in the reader's language. trace: the one that is shown. layer, head, token: where we
    look. compared: before and after, where something was changed; side: which of them is shown.
    hidden: before and after, where what followed must be guessed first; then compared is None.
    """

    t: Text
    trace: PromptTrace
    state: State
    layer: int
    head: int
    token: int
    compared: Comparison | None = None
    side: str = "after"
    hidden: Comparison | None = None

    @property
    def n_layers(self) -> int:
        return self.trace.model.config.n_layers

    @property
    def n_heads(self) -> int:
        return self.trace.model.config.n_heads

    @property
    def kv_head(self) -> int:
        """Whose keys and values the head uses; several heads may share them."""
        config = self.trace.model.config
        return self.head * config.n_kv_heads // config.n_heads

    def values(self, name: str) -> np.ndarray:
        """A step's values."""
        return self.trace[name].detach().cpu().numpy()

    @cached_property
    def stream(self) -> list[str]:
        """The steps where the residual stream is looked at: before the blocks, after each."""
        return ["embed.sum", *(f"blocks.{i}.resid_out" for i in range(self.n_layers))]

    @cached_property
    def rows(self) -> list[int | range]:
        """The tokens to show, one row each; a range where some are drawn together."""
        return shortened(len(self.trace), self.token)

    def left_out(self, n: int) -> str:
        """HTML in place of `n` tokens that are not drawn."""
        return tag("span", esc(self.t("overview.belt.more", n=n)), cls="more")

    def shape_words(self, name: str) -> str:
        """A step's shape in words: 5 tokens × 160 numbers."""
        axes = self.trace.step(name).axes
        sizes = self.trace.shape(name)
        if not axes:
            return self.t("axes.scalar")
        parts = (self.t(f"axes.{axis}", n=size) for axis, size in zip(axes, sizes, strict=True))
        return " × ".join(parts)

    def some_numbers(self, row: np.ndarray, most: int = 4) -> str:
        """How a row of values begins."""
        written = "  ".join(number(float(value)) for value in row[:most])
        return written + (" …" if len(row) > most else "")


def shortened(n: int, here: int, most: int = 12) -> list[int | range]:
    """`n` rows, or the first, those around `here` and the last; ranges for what lies between."""
    if n <= most:
        return list(range(n))
    keep = {*range(AROUND), *range(n - AROUND - 1, n), *range(max(0, here - 1), min(n, here + 2))}
    rows: list[int | range] = []
    previous = -1
    for row in sorted(keep):
        if row - previous == 2:
            rows.append(previous + 1)
        elif row - previous > 2:
            rows.append(range(previous + 1, row))
        rows.append(row)
        previous = row
    return rows
