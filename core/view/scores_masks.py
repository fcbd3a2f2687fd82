"""What the Scores page draws about shares that are taken away: by the mask, and by dropout.

Shares that are the model's own are a step, whose numbers open as everywhere. Of those that the page
works out one place is looked at, and how its numbers come about is written below.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from core.analysis import attention
from core.graph import Explanation
from core.view import elements, matrix, vector
from core.view.arrays import array
from core.view.cut import DIGITS, PICKS, Cut, Side
from core.view.figures import SHARES
from core.view.html import div, esc, number, para, tag, tiny
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.scores_pictures import chosen
from core.view.stripes import plain

RATES = tuple(f"0.{tenth}" for tenth in range(10))
DRAWS = 1000  # of dropout: different seeds
MANY, MOST = 10**6, 10**5  # numbers drawn for a mean over many draws; draws at most
FIRST_DRAW = 1  # one in which something is struck out
ROW, COLUMN = "taken_row", "taken_column"  # the state: which of these shares is worked out
MADE = "weights_made"  # in place of a step's name
MASK_SUM, DROP_SUM = "mask_sum", "drop_sum"  # the sums, as pictures in which numbers are opened


def masks(lesson: Lesson) -> None:
    """Two ways to hide what comes later, and how far apart they are."""
    look = lesson.view.look
    cuts = masked(look)
    for way in _read(lesson, "masked_by", cuts):
        st.html(mask_sum(look, way))
    lesson.pictures(MASK_SUM, [_name(look, "scores_scaled")])
    apart = tiny(float(np.abs(cuts["after"].values - cuts["first"].values).max()))
    says = esc(look.t("scores.mask.difference"))
    st.html(tag("p", says, tag("b", esc(apart)), cls="outcome"))


def masked(look: Look) -> dict[str, Cut]:
    """The shares without a mask, with one after the softmax, and with one before it."""
    scores = look.trace[_name(look, "scores_scaled")][look.head]
    later = np.triu(np.ones(scores.shape, bool), 1)
    cuts = {
        "open": _made(look, "mask.open", torch.softmax(scores, dim=-1)),
        "after": _made(look, "mask.after", attention.mask_after(scores), later),
    }
    if look.trace.model.config.causal:
        return cuts | {"first": _own(look, "mask.first.title", _first_says(look))}
    return cuts | {"first": _made(look, "mask.first", attention.mask_first(scores), later)}


def _name(look: Look, step: str) -> str:
    return f"blocks.{look.layer}.attn.{step}"


def _own(look: Look, title: str, note: str) -> Cut:
    """The model's own shares. title: the key of the text."""
    index, title = (look.head, None, None), look.t(f"scores.{title}")
    return matrix.cut(look.trace, _name(look, "weights"), index, title=title, note=note)


def _made(
    look: Look,
    key: str,
    shares: Tensor,
    hidden: np.ndarray | None = None,
    struck: np.ndarray | None = None,
    note: str = "",
) -> Cut:
    """Shares [query, key] that the page works out. key: of the texts; the note's unless given."""
    at = tuple(range(len(shares)))
    return Cut(
        _name(look, MADE),
        (None, None),
        (0, 1),
        array(shares),
        Side("query", at),
        Side("key", at),
        kind="share",
        limit=SHARES,
        digits=DIGITS,
        masked=hidden,
        struck=struck,
        title=look.t(f"scores.{key}.title"),
        note=note or look.t(f"scores.{key}.says"),
        picks={"row": PICKS["query"], "column": PICKS["key"]},
    )


def _read(lesson: Lesson, key: str, cuts: Mapping[str, Cut]) -> list[str]:
    """Draw the squares to read; which of them are worked out, so that their sums are due."""
    look = lesson.view.look
    shown = chosen(look, key, cuts, "mask.choose")
    made = [name for name, cut in shown.items() if cut.name == _name(look, MADE)]
    place = _place(look) if made else None
    lesson.matrices(key, list(shown.values()), follow=True, numbers=True, chosen=place)
    return made


def _place(look: Look) -> dict[str, int]:
    """The row and column of the share that is worked out."""
    n = len(look.trace)
    return {ROW: look.state.index(ROW, n, look.token), COLUMN: look.state.index(COLUMN, n, 0)}


def _pair(look: Look) -> dict[str, str]:
    """Who looks at whom there, in words."""
    row, column = _place(look).values()
    return {"token": plain(look, row), "target": plain(look, column)}


def mask_sum(look: Look, way: str) -> str:
    """How one share of a square comes about from the scaled scores."""
    index = (look.head, *_place(look).values())
    found = attention.explain_share(look.trace, look.layer, index, way)
    if not found.terms:
        return _sum(look, "mask.hidden", title=look.t(f"scores.mask.{way}.title"))
    return _sum(look, f"mask.{way}.sum", found, MASK_SUM)


def _sum(
    look: Look, key: str, found: Explanation | None = None, at: str = "", **values: str
) -> str:
    """What is said of a share, and its arithmetic. key: of the text; at: of the picture."""
    says = para(look.t(f"scores.{key}", **_pair(look), **values), "says")
    return says + (vector.entry(look, found, at) if found else "")


def _first_says(look: Look) -> str:
    """What is said of the model's own way; a row set by hand adds up to something else."""
    name = _name(look, "weights")
    rows = look.trace[name][look.head].double().sum(-1).tolist()
    set_rows = [
        i for i in range(len(rows)) if elements.by_hand(look.trace, name, (look.head, i, None))
    ]
    if not set_rows:
        return look.t("scores.mask.first.says")
    i = look.token if look.token in set_rows else set_rows[0]
    return look.t("scores.mask.first.by_hand", token=plain(look, i), sum=number(rows[i]))


def dropout(lesson: Lesson) -> None:
    """One draw of dropout on the shares, with its rate and its seed."""
    look = lesson.view.look
    t, state = look.t, look.state
    rate = float(state.choice("dropout", RATES, "0.1"))
    seed = state.index("dropout_draw", DRAWS, FIRST_DRAW)
    with st.container(key="dropout_controls"):
        st.select_slider(t("scores.dropout.rate"), RATES, key="dropout", persist_state="session")
    link = state.link(dropout_draw=(seed + 1) % DRAWS)
    st.html(div("try", tag("a", esc(t("scores.dropout.again")), cls="pill", **link)))
    cuts = dropped(look, rate, seed)
    if _read(lesson, "dropout_side", cuts):
        st.html(drop_sum(look, cuts["drawn"], rate))
    lesson.pictures(DROP_SUM, [_name(look, "weights")])
    st.html(para(_total(look, cuts["drawn"].values, rate, seed), "outcome"))


def dropped(look: Look, rate: float, seed: int) -> dict[str, Cut]:
    """The shares before and after one draw."""
    t = look.t
    note = t("scores.dropout.factor", p=number(rate, 1), factor=number(1 / (1 - rate)))
    before = _own(look, "dropout.before", note)
    nowhere = np.zeros(before.values.shape, bool)
    hidden = nowhere if before.masked is None else before.masked
    shares = look.trace[before.name][look.head]
    after = attention.dropout(shares, rate, seed)
    struck = (after == 0).cpu().numpy() & ~hidden
    says = t("scores.dropout.gone", n=int(struck.sum()), total=int((~hidden).sum()))
    drawn = _made(look, "dropout.drawn", after, before.masked, struck, says)
    return {"before": before, "drawn": drawn}


def drop_sum(look: Look, drawn: Cut, rate: float) -> str:
    """How one share comes about in this draw."""
    place = tuple(_place(look).values())
    if drawn.masked is not None and drawn.masked[place]:
        return _sum(look, "mask.hidden", title=drawn.title)
    if drawn.struck[place]:
        return _sum(look, "dropout.struck")
    found = attention.explain_kept(look.trace, look.layer, (look.head, *place), rate)
    return _sum(look, "dropout.kept", found, DROP_SUM)


def _total(look: Look, after: np.ndarray, rate: float, seed: int) -> str:
    """What the row where we look adds up to in this draw, and on average."""
    row = look.trace[_name(look, "weights")][look.head, look.token]
    many = min(MOST, MANY // len(look.trace))
    mean = number(attention.average_sum(row, rate, seed, many))
    total = number(after[look.token].sum().item())
    token = plain(look, look.token)
    return look.t("scores.dropout.sum", token=token, sum=total, mean=mean, draws=many)
