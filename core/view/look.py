"""What the pictures of one page are drawn from: a trace, where we look, and the language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from core.models.model import PromptTrace
from core.view.arrays import array
from core.view.compare import Comparison
from core.view.html import esc, number, tag
from core.view.state import State
from core.view.texts import Text

MOST = 12  # rows of a list up to which it shows all
AROUND = 3  # of a longer one, rows at either end
PAGE = 32  # of those left out, how many open at once
EXCERPT = 64  # tokens of a long text that are run anew where something is tried out

_excerpts: WeakKeyDictionary[PromptTrace, PromptTrace] = WeakKeyDictionary()


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

    def values(self, name: str, *index: int | slice) -> np.ndarray:
        """A step's values; of a long text better only those at an index."""
        return array(self.trace[name][index])

    @cached_property
    def stream(self) -> list[str]:
        """The steps where the residual stream is looked at: before the blocks, after each."""
        return ["embed.sum", *(f"blocks.{i}.resid_out" for i in range(self.n_layers))]

    def excerpt(self) -> Look:
        """The same of the end of a long text as a text of its own; a short one as it is."""
        trace, left_out = self.trace, len(self.trace) - EXCERPT
        if left_out <= 0:
            return self
        if trace not in _excerpts:
            _excerpts[trace] = trace.reread(trace.ids[left_out:])
        token = self.token - left_out if self.token >= left_out else EXCERPT - 1
        return replace(self, trace=_excerpts[trace], token=token, compared=None)

    def rows(self, key: str, n: int | None = None, here: int | None = None) -> list[int | range]:
        """The rows that a list of this page shows: all of a short one, else those that matter.

        A range stands for rows between them, in whose place comes `gap`. key: what the list is
        called, for the address says which of its rows were opened. n, here: its length and the row
        where we look; by default those of the text.
        """
        n, here = len(self.trace) if n is None else n, self.token if here is None else here
        if n <= MOST:
            return list(range(n))
        first = self.state.index(_opened(key), n, 0)
        return shortened(n, here, range(first, min(first + PAGE, n)) if first else range(0))

    def gap(self, key: str, rows: range) -> str:
        """HTML in place of rows that are left out: a link that opens them, or a page of them.

        Of no rows, as stands before opened ones: a link that closes these.
        """
        says = "more" if len(rows) <= PAGE else "some"
        text = self.t(f"rows.{says if rows else 'fewer'}", n=len(rows), page=PAGE)
        link = self.state.link(**{_opened(key): rows.start if rows else 0})
        return tag("a", esc(text), cls="more", **link)

    def left_out(self, n: int) -> str:
        """HTML in place of `n` tokens that a sketch does without."""
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


def _opened(key: str) -> str:
    """The parameter that says from which row on a list is opened; 0 if it is not."""
    return f"{key}_from"


def shortened(n: int, here: int, opened: range = range(0)) -> list[int | range]:
    """`n` rows, or the first, those around `here` and the last; ranges for what lies between.

    opened: further rows; an empty range comes before them.
    """
    if n <= MOST:
        return list(range(n))
    keep = {*range(AROUND), *range(n - AROUND - 1, n), *range(max(0, here - 1), min(n, here + 2))}
    keep.update(opened)
    rows: list[int | range] = []
    previous = -1
    for row in sorted(keep):
        if row - previous == 2:
            rows.append(previous + 1)
        elif row - previous > 2:
            rows.append(range(previous + 1, row))
        if opened and row == opened.start:
            rows.append(range(row, row))
        rows.append(row)
        previous = row
    return rows
