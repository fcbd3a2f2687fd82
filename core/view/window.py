"""A large slice: a picture of all of it, and the window on it whose cells are shown in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.models.model import PromptTrace
from core.view.board import called, image, is_written
from core.view.cut import Cut
from core.view.figures import WIDEST, degree
from core.view.look import Look

CELLS = 4096  # beyond, a picture is drawn
TALL = 20  # rows, of fewer columns, that fill a screen; beyond, a picture as well
WINDOW = (10, 12)  # rows and columns of a picture that are shown in numbers
BESIDE = 8  # columns where they are shown beside the picture
IMAGES = 64  # pictures that are kept for a trace

_images: WeakKeyDictionary[PromptTrace, dict[tuple, str]] = WeakKeyDictionary()


def is_large(cut: Cut, numbers: bool = False) -> bool:
    """Whether it is a picture: more than a browser draws at once, or taller than a screen.

    numbers: whether it is one too where its cells have no room for numbers, which takes less time
    than many cells in colours.
    """
    n_rows, n_columns = cut.values.shape
    unwritten = numbers and not is_written(cut)
    return unwritten or n_rows * n_columns > CELLS or n_rows > max(TALL, n_columns)


def on(
    look: Look, cut: Cut, first: Cut, seen: Sequence[int | None], asked: Mapping[str, Any] | None
) -> tuple[Cut, dict]:
    """The part of a slice that is in its window, and the picture as data for the browser.

    first: the slice in which the window finds its first column. seen: see `seen_in`. asked: where
    the window was moved by hand; see `asked_for`.
    """
    n_rows, n_columns = cut.values.shape
    beside = n_columns <= n_rows
    size = [min(WINDOW[0], n_rows), min(BESIDE if beside else WINDOW[1], n_columns)]
    corner = corner_of(asked, cut.values.shape, size, seen, _start(first, seen, size))
    placed = {"beside": beside, "window": size, "corner": corner, "seen": seen, "asked": asked}
    return cut.window(corner, size), _picture(look, cut) | placed


def seen_in(
    look: Look, cut: Cut, follow: bool, chosen: Mapping[str, int] | None
) -> list[int | None]:
    """Row and column that the window shows until somebody moves it away; None for any.

    follow, chosen: see `matrix.draw`.
    """
    if chosen:
        return list(chosen.values())
    follows = follow and cut.picks.get("row") == "token" and look.token in cut.rows.at
    return [cut.rows.at.index(look.token) if follows else None, None]


def _start(cut: Cut, seen: Sequence[int | None], size: Sequence[int]) -> int | None:
    """The first column that the window shows until it is moved: around the row's largest value."""
    row, column = seen
    if row is None or column is not None:
        return None
    sizes = np.abs(np.nan_to_num(cut.values[row], nan=0.0, posinf=0.0, neginf=0.0))
    middle = int(sizes.argmax()) - size[1] // 2
    return max(0, min(middle, len(sizes) - size[1]))


def asked_for(state: Any, i: int) -> dict | None:
    """What the i-th picture of an element said last: the corner of its window, and what was `seen`.

    None for nothing, or nonsense: anybody can send anything.
    """
    sent = state.get("corners") if state else None
    asked = sent[i] if isinstance(sent, list) and i < len(sent) else None
    if not isinstance(asked, dict):
        return None
    corner, seen = asked.get("corner"), asked.get("seen")
    known = _is_pair(corner, int) and _is_pair(seen, int | None)
    return {"corner": corner, "seen": seen} if known else None


def _is_pair(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(i, kind) for i in value)


def corner_of(
    asked: Mapping[str, Any] | None,
    shape: Sequence[int],
    size: Sequence[int],
    seen: Sequence[int | None],
    start: int | None = None,
) -> list[int]:
    """The first row and column of a window.

    Where `seen` is not what it was when that was asked for, the window moves to show it, and to
    the column `start`.
    """
    asked = asked or {"corner": [0, 0]}
    corner = asked["corner"]
    if list(seen) != asked.get("seen"):
        corner = [
            i if here is None else max(min(i, here), here - n + 1)
            for i, here, n in zip(corner, seen, size, strict=True)
        ]
        corner[1] = corner[1] if start is None else start
    return [max(0, min(i, n - w)) for i, n, w in zip(corner, shape, size, strict=True)]


def _picture(look: Look, cut: Cut) -> dict:
    """What is drawn and said of a slice but for its window."""
    t, (n_rows, n_columns) = look.t, cut.values.shape
    cells = -(-n_rows // WIDEST) * -(-n_columns // WIDEST)
    says = "matrix.picture.pooled" if cells > 1 else "matrix.picture.says"
    place = "place" if n_rows > 1 else "place_of_one"
    size = {"rows": n_rows, "columns": n_columns}
    return {
        "image": picture(look, cut),
        "title": cut.title,
        "note": cut.note,
        "says": t(says, cells=cells, **size),
        "label": t("matrix.picture.label", name=called(look, cut), **size),
        "size": [n_rows, n_columns],
        "first": [_first(side.at) for side in (cut.rows, cut.columns)],
        "place": t(f"matrix.picture.{place}", rows="{rows}", columns="{columns}"),
    }


def _first(at: Sequence[int]) -> int:
    """The number of the first row or column, where the others count on from it; else 0."""
    return at[0] if tuple(at) == tuple(range(at[0], at[0] + len(at))) else 0


def picture(look: Look, cut: Cut, most: int = WIDEST) -> str:
    """The picture of a slice, drawn once for each trace; every time, if it is a difference
    or worked out by the page.
    """
    trace = look.trace
    if cut.new is not None or not is_computed(trace, cut.name):
        return image(cut, most)
    known = _images.setdefault(trace, {})
    key = (cut.name, str(cut.index), cut.axes, cut.kind, cut.limit, degree(cut.limit), most)
    if key not in known:
        # A copy of the keys: another visitor of the same trace may be drawing just now.
        for oldest in list(known)[: len(known) + 1 - IMAGES]:
            known.pop(oldest, None)
        known[key] = image(cut, most)
    return known[key]


def is_computed(trace: PromptTrace, name: str) -> bool:
    """Whether it is a step of the model or a weight, and not worked out by the page."""
    return name in trace or name in trace.weights
