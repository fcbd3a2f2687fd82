"""Any slice of a step or weight as a matrix that can be read, walked and opened.

    q = matrix.cut(look.trace, "blocks.0.attn.q", (look.head, None, None))
    matrix.draw(look, "q", q)
    cuts = [matrix.cut(look.trace, name, (look.head, None, None)) for name in names]
    matrix.matrices(look, "scores", cuts, follow=True)
    matrix.heads(look, "blocks.0.attn.weights")

Small ones show a number in every cell, larger ones colours; tall ones, and those of a few thousand
cells, are a picture with a window of numbers. A clicked cell is opened (see `opened`); a clicked
row, column or head becomes where we look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from core.graph import Ref
from core.models.model import PromptTrace
from core.view import elements, journal, opened
from core.view.board import board, called, image, is_written
from core.view.compare import marked
from core.view.component import component, said
from core.view.cut import PICKS, Cut, cut
from core.view.elements import BadLink
from core.view.figures import THUMBNAIL, WIDEST, degree
from core.view.look import Look
from core.view.marks import marks
from core.view.state import CLICK

__all__ = ["Cut", "cut", "draw", "heads", "is_large", "matrices", "open_clicked"]

CELLS = 4096  # beyond, a picture is drawn
TALL = 20  # rows, of fewer columns, that fill a screen; beyond, a picture as well
WINDOW = (10, 12)  # rows and columns of a picture that are shown in numbers
BESIDE = 8  # columns where they are shown beside the picture
IMAGES = 64  # pictures that are kept for a trace

_images: WeakKeyDictionary[PromptTrace, dict[tuple, str]] = WeakKeyDictionary()


def draw(
    look: Look,
    key: str,
    cut: Cut,
    *,
    legend: bool = True,
    hint: bool = True,
    follow: bool = False,
    chosen: Mapping[str, int] | None = None,
    numbers: bool = False,
    starts_as: Cut | None = None,
) -> None:
    """Draw one slice, a large one as a picture with a window of numbers.

    numbers: whether one whose cells have no room for numbers is such a picture too, which takes
    less time than many cells in colours. starts_as: the slice in which the window finds its first
    column, so that windows on what is added agree. Other options: see `matrices`.
    """
    options = {"legend": legend, "hint": hint, "follow": follow, "chosen": chosen}
    if is_large(cut, numbers):
        found, first = (marked(one, look.compared, look.side) for one in (cut, starts_as or cut))
        _picture(look, key, found, first, options)
    else:
        matrices(look, key, [cut], **options)


def is_large(cut: Cut, numbers: bool = False) -> bool:
    """Whether it is a picture: more than a browser draws at once, or taller than a screen.

    numbers: see `draw`.
    """
    n_rows, n_columns = cut.values.shape
    unwritten = numbers and not is_written(cut)
    return unwritten or n_rows * n_columns > CELLS or n_rows > max(TALL, n_columns)


def matrices(
    look: Look,
    key: str,
    cuts: Sequence[Cut],
    *,
    legend: bool = True,
    hint: bool = True,
    follow: bool = False,
    chosen: Mapping[str, int] | None = None,
) -> None:
    """Draw small slices beside each other, with a legend for each scale that occurs.

    hint: whether it says that numbers can be opened. follow: whether the row of the token where
    we look is marked in each. chosen: of matrices that are no step, the parameters of a link that
    say which of their numbers is looked at, row and column; a click there then changes these.
    """
    cuts = [marked(cut, look.compared, look.side) for cut in cuts]
    trail = opened.current(look)
    parts = opened.operands(look.trace, trail[-1]) if trail else ()
    made = {cut.name for cut in cuts if not _is_computed(look.trace, cut.name)}
    looked_at = [Ref(name, tuple(chosen.values())) for name in made] if chosen else []
    data = board(
        look,
        cuts,
        open_at=[*trail[-1:], *looked_at],
        parts=parts,
        legend=legend,
        hint=hint,
        follow=follow,
    )
    component("grid", "board")(
        key=key,
        data=data | {"of": journal.drawn(look.trace), "ack": journal.acknowledged()},
        on_open_change=lambda: open_clicked(key, look.trace, chosen),
        on_pick_change=lambda: _picked(key),
        on_edits_change=lambda: journal.receive(said(key, "edits")),
    )


def heads(look: Look, name: str, key: str = "heads") -> None:
    """All heads of a step side by side as small pictures; a click makes one where we look."""
    t, count = look.t, look.trace.shape(name)[0]
    cuts = [cut(look.trace, name, (i, None, None)) for i in range(count)]
    data = {
        "label": t("matrix.heads"),
        "current": look.head,
        "heads": [
            {
                "picture": _image(look, found, THUMBNAIL),
                "changed": marks(look, name, found.index).some(),
                "text": t("matrix.head", i=str(i)),
                "label": t("matrix.head_says", i=str(i), name=called(look, found)),
            }
            for i, found in enumerate(cuts)
        ],
    }
    component("heads", "heads")(key=key, data=data, on_pick_change=lambda: _picked(key))


def _picture(look: Look, key: str, cut: Cut, first: Cut, options: dict) -> None:
    """A large slice: the picture, and with it the numbers in the window that is chosen on it.

    first: the slice in which the window finds its first column.
    """
    n_rows, n_columns = cut.values.shape
    narrow = n_columns <= n_rows
    window = [min(WINDOW[0], n_rows), min(BESIDE if narrow else WINDOW[1], n_columns)]
    seen = _seen(look, cut, options)
    start = _start(first, seen, window)
    corner = corner_of(st.session_state.get(key), cut.values.shape, window, seen, start)
    left, right = st.columns([1, 3]) if narrow else (nullcontext(), nullcontext())
    with left:
        data = _picture_data(look, cut, window) | {"seen": seen, "start": start}
        component("picture", "picture")(key=key, data=data, on_corner_change=lambda: None)
    with right:
        matrices(look, f"{key}_window", [cut.window(corner, window)], **options)


def _seen(look: Look, cut: Cut, options: dict) -> list[int | None]:
    """Row and column that the window shows until somebody moves it away; None for any."""
    if options["chosen"]:
        return list(options["chosen"].values())
    follows = options["follow"] and cut.picks.get("row") == "token" and look.token in cut.rows.at
    return [cut.rows.at.index(look.token) if follows else None, None]


def _start(cut: Cut, seen: Sequence[int | None], window: Sequence[int]) -> int | None:
    """The first column that the window shows until it is moved: around the row's largest value."""
    row, column = seen
    if row is None or column is not None:
        return None
    sizes = np.abs(np.nan_to_num(cut.values[row], nan=0.0, posinf=0.0, neginf=0.0))
    middle = int(sizes.argmax()) - window[1] // 2
    return max(0, min(middle, len(sizes) - window[1]))


def _picture_data(look: Look, cut: Cut, window: Sequence[int]) -> dict:
    """Without the place of the window: so the picture is not sent again when that moves."""
    t, (n_rows, n_columns) = look.t, cut.values.shape
    cells = -(-n_rows // WIDEST) * -(-n_columns // WIDEST)
    says = "matrix.picture.pooled" if cells > 1 else "matrix.picture.says"
    place = "place" if n_rows > 1 else "place_of_one"
    size = {"rows": n_rows, "columns": n_columns}
    return {
        "picture": _image(look, cut),
        "title": cut.title,
        "note": cut.note,
        "says": t(says, cells=cells, **size),
        "label": t("matrix.picture.label", name=called(look, cut), **size),
        "size": [n_rows, n_columns],
        "first": [_first(side.at) for side in (cut.rows, cut.columns)],
        "window": window,
        "place": t(f"matrix.picture.{place}", rows="{rows}", columns="{columns}"),
    }


def _first(at: Sequence[int]) -> int:
    """The number of the first row or column, where the others count on from it; else 0."""
    return at[0] if tuple(at) == tuple(range(at[0], at[0] + len(at))) else 0


def _image(look: Look, cut: Cut, most: int = WIDEST) -> str:
    """The picture of a slice, drawn once for each trace; every time, if it is a difference
    or worked out by the page.
    """
    trace = look.trace
    if cut.new is not None or not _is_computed(trace, cut.name):
        return image(cut, most)
    known = _images.setdefault(trace, {})
    key = (cut.name, str(cut.index), cut.axes, cut.kind, cut.limit, degree(cut.limit), most)
    if key not in known:
        # A copy of the keys: another visitor of the same trace may be drawing just now.
        for oldest in list(known)[: len(known) + 1 - IMAGES]:
            known.pop(oldest, None)
        known[key] = image(cut, most)
    return known[key]


def _is_computed(trace: PromptTrace, name: str) -> bool:
    """Whether it is a step of the model or a weight, and not worked out by the page."""
    return name in trace or name in trace.weights


def corner_of(
    state: Any,
    shape: Sequence[int],
    window: Sequence[int],
    seen: Sequence[int | None],
    start: int | None = None,
) -> list[int]:
    """The first row and column of the window that the picture's component asks for.

    Where `seen` is not what it was when that was asked for, the window moves to show it, and to
    the column `start`. The component, assets/components/picture.js, finds the same.
    """
    sent = state.get("corner") if state else None
    asked = sent.get("corner") if isinstance(sent, Mapping) else None
    if not (isinstance(asked, list) and len(asked) == 2 and all(isinstance(i, int) for i in asked)):
        asked, sent = [0, 0], {}
    if list(seen) != sent.get("seen"):
        asked = [
            i if here is None else max(min(i, here), here - size + 1)
            for i, here, size in zip(asked, seen, window, strict=True)
        ]
        asked[1] = asked[1] if start is None else start
    return [max(0, min(i, n - w)) for i, n, w in zip(asked, shape, window, strict=True)]


def open_clicked(key: str, trace: PromptTrace, chosen: Mapping[str, int] | None = None) -> None:
    """A cell was clicked; nothing in what arrives is trusted. Remembers in which matrix."""
    try:
        trail = elements.decode(str(said(key, "open") or ""))
    except BadLink:
        return
    if not trail:
        return
    ref = trail[-1]
    if _is_computed(trace, ref.name):
        opened.open_element(trace, ref)
        st.session_state[opened.AT] = key
    elif chosen and len(ref.index) == len(chosen):
        st.session_state[CLICK] = urlencode(dict(zip(chosen, ref.index, strict=True)))


def _picked(key: str) -> None:
    """A row, column or head was clicked: the state reads it like a link, and checks it."""
    picked = said(key, "pick")
    if isinstance(picked, dict) and picked.get("what") in PICKS.values():
        st.session_state[CLICK] = urlencode({picked["what"]: picked.get("index")})
