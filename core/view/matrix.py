"""Any slice of a step or weight as a matrix that can be read, walked and opened.

    cuts = [matrix.cut(look.trace, name, (look.head, None, None)) for name in names]
    matrix.draw(look, "scores", cuts, follow=True)
    matrix.heads(look, "blocks.0.attn.weights")

Small ones show a number in every cell, larger ones colours; tall ones, and those of a few thousand
cells, are a picture with a window of numbers. A clicked cell is opened (see `opened`); a clicked
row, column or head becomes where we look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from core.graph import Ref
from core.models.model import PromptTrace
from core.view import elements, journal, opened, window
from core.view.board import board, called, shared
from core.view.compare import marked
from core.view.component import component, said
from core.view.cut import PICKS, Cut, cut
from core.view.elements import BadLink
from core.view.figures import THUMBNAIL, degree
from core.view.look import Look
from core.view.marks import marks
from core.view.state import CLICK

__all__ = ["Cut", "cut", "draw", "heads", "open_clicked"]


def draw(
    look: Look,
    key: str,
    cuts: Sequence[Cut],
    *,
    legend: bool = True,
    hint: bool = True,
    follow: bool = False,
    chosen: Mapping[str, int] | None = None,
    numbers: bool = False,
) -> None:
    """Draw slices as one element, with a legend for each scale that occurs.

    They stand beside each other; under each other where one is a picture, or where they have more
    cells than a browser draws at once. What they all share is said once.
    hint: whether it says that numbers can be opened. follow: whether the row of the token where
    we look is marked in each. chosen: of matrices that are no step, the parameters of a link that
    say which of their numbers is looked at, row and column; a click there then changes these.
    numbers: whether those whose cells have no room for numbers are pictures; see `window`.
    """
    cuts = [marked(cut, look.compared, look.side) for cut in cuts]
    cells = sum(cut.values.size for cut in cuts)
    groups: list[tuple[list[Cut], dict | None]] = [(cuts, None)]
    if cells > window.CELLS or any(window.is_large(cut, numbers) for cut in cuts):
        groups = list(_apart(look, key, cuts, follow, chosen, numbers))
    refs = _refs(look, cuts, chosen)
    boards = [
        {
            **board(
                look,
                group,
                **refs,
                legend=legend and _ends_a_scale(groups[i : i + 2]),
                hint=hint and i == 0,
                follow=follow,
            ),
            "picture": picture,
        }
        for i, (group, picture) in enumerate(groups)
    ]
    sent = {"of": journal.drawn(look.trace), "ack": journal.acknowledged()}
    component("grid", "boards")(
        key=key,
        data={"boards": boards, **shared(look), **sent},
        on_corners_change=lambda: None,
        on_open_change=lambda: open_clicked(key, look.trace, chosen),
        on_pick_change=lambda: _picked(key),
        on_edits_change=lambda: journal.receive(said(key, "edits")),
    )


def _refs(look: Look, cuts: Sequence[Cut], chosen: Mapping[str, int] | None) -> dict:
    """The elements that are opened or looked at, and those that they were computed from."""
    trail = opened.current(look)
    parts = opened.operands(look.trace, trail[-1]) if trail else ()
    made = {cut.name for cut in cuts if not window.is_computed(look.trace, cut.name)}
    looked_at = [Ref(name, tuple(chosen.values())) for name in made] if chosen else []
    return {"open_at": [*trail[-1:], *looked_at], "parts": parts}


def _apart(
    look: Look,
    key: str,
    cuts: Sequence[Cut],
    follow: bool,
    chosen: Mapping[str, int] | None,
    numbers: bool,
) -> Iterator[tuple[list[Cut], dict | None]]:
    """What is shown of each by itself: of a large one what is in its window, and its picture."""
    state = st.session_state.get(key)
    for i, one in enumerate(cuts):
        if not window.is_large(one, numbers):
            yield [one], None
            continue
        # Windows on what is added begin at the same column.
        first = next(other for other in reversed(cuts) if other.columns == one.columns)
        seen = window.seen_in(look, one, follow, chosen)
        part, picture = window.on(look, one, first, seen, window.asked_for(state, i))
        yield [part], picture


def _ends_a_scale(groups: Sequence[tuple[list[Cut], dict | None]]) -> bool:
    """Whether the second group has colours that say something else, or there is none."""
    scales = {(cut.kind, cut.limit, degree(cut.limit)) for cuts, _ in groups for cut in cuts}
    return len(groups) == 1 or len(scales) > 1


def heads(look: Look, name: str, key: str = "heads") -> None:
    """All heads of a step side by side as small pictures; a click makes one where we look."""
    t, count = look.t, look.trace.shape(name)[0]
    cuts = [cut(look.trace, name, (i, None, None)) for i in range(count)]
    data = {
        "label": t("matrix.heads"),
        "current": look.head,
        "heads": [
            {
                "picture": window.picture(look, found, THUMBNAIL),
                "changed": marks(look, name, found.index).some(),
                "text": t("matrix.head", i=str(i)),
                "label": t("matrix.head_says", i=str(i), name=called(look, found)),
            }
            for i, found in enumerate(cuts)
        ],
    }
    component("heads", "heads")(key=key, data=data, on_pick_change=lambda: _picked(key))


def open_clicked(key: str, trace: PromptTrace, chosen: Mapping[str, int] | None = None) -> None:
    """A cell was clicked; nothing in what arrives is trusted. Remembers in which matrix."""
    try:
        trail = elements.decode(str(said(key, "open") or ""))
    except BadLink:
        return
    if not trail:
        return
    ref = trail[-1]
    if window.is_computed(trace, ref.name):
        opened.open_element(trace, ref)
        st.session_state[opened.AT] = key
    elif chosen and len(ref.index) == len(chosen):
        st.session_state[CLICK] = urlencode(dict(zip(chosen, ref.index, strict=True)))


def _picked(key: str) -> None:
    """A row, column or head was clicked: the state reads it like a link, and checks it."""
    picked = said(key, "pick")
    if isinstance(picked, dict) and picked.get("what") in PICKS.values():
        st.session_state[CLICK] = urlencode({picked["what"]: picked.get("index")})
