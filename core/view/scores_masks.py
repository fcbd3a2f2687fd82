"""What the Scores page draws about shares that are taken away: by the mask, and by dropout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from core.analysis import attention
from core.models.model import PromptTrace
from core.view import elements, matrix
from core.view.cut import DIGITS, Cut, Side
from core.view.figures import SHARES
from core.view.html import div, esc, number, para, significant, tag, tiny
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sketch import choices
from core.view.stripes import figures, plain, square

NUMBERED = 4  # tokens up to which three squares of numbers fit beside each other
NUMBERED_TWO = 12  # the same for two, which may also stand one below the other
RATES = tuple(f"0.{tenth}" for tenth in range(10))
DRAWS = 1000  # of dropout: different seeds
MANY, MOST = 10**6, 10**5  # numbers drawn for a mean over many draws; draws at most
FIRST_DRAW = 1  # one in which something is struck out
ROW, COLUMN = "taken_row", "taken_column"  # the state: which of these shares is worked out


@dataclass(frozen=True)
class Square:
    """Shares of all tokens on all tokens [query, key] that the page works out or the model has.

    hidden: what comes later; gone: what was struck out. step: whether it is the model's own.
    """

    key: str
    title: str
    says: str
    shares: np.ndarray
    hidden: np.ndarray | None = None
    gone: np.ndarray | None = None
    step: bool = False


def masks(lesson: Lesson) -> None:
    """Two ways to hide what comes later, and how far apart they are."""
    look = lesson.view.look
    squares = masked(look)
    if len(look.trace) <= NUMBERED:
        st.html(beside(look, squares, NUMBERED))
    elif found := _read_one(lesson, "masked_by", squares):
        st.html(para(_mask_sum(look, found.key), "says"))
    apart = tiny(float(np.abs(squares[1].shares - squares[2].shares).max()))
    says = esc(look.t("scores.mask.difference"))
    st.html(tag("p", says, tag("b", esc(apart)), cls="outcome"))


def masked(look: Look) -> list[Square]:
    """The shares without a mask, with one after the softmax, and with one before it."""
    trace, name = _masked_trace(look), f"blocks.{look.layer}.attn"
    scores = trace[f"{name}.scores_scaled"][look.head]
    first = trace[f"{name}.weights"][look.head]
    hidden = np.triu(np.ones((len(trace), len(trace)), bool), 1)
    own = trace is look.trace
    made = (
        ("open", torch.softmax(scores, dim=-1), None, False),
        ("after", attention.mask_after(scores), hidden, False),
        ("first", first, hidden, own),
    )
    titles = {key: look.t(f"scores.mask.{key}.title") for key, *_ in made}
    return [
        Square(key, titles[key], _says(look, key), shares.cpu().numpy(), off, step=step)
        for key, shares, off, step in made
    ]


def _masked_trace(look: Look) -> PromptTrace:
    """The trace, with the mask on where this model has none."""
    return look.trace if look.trace.model.config.causal else look.trace.switch(causal=True)


def beside(look: Look, squares: list[Square], most: int) -> str:
    """Squares beside each other, with numbers up to `most` tokens."""
    drawn = (square(look, one.shares, one.title, one.hidden, one.gone, most) for one in squares)
    parts = zip(squares, drawn, strict=True)
    return figures(*((one.title, picture, para(one.says, "says")) for one, picture in parts))


def _read_one(lesson: Lesson, key: str, squares: list[Square]) -> Square | None:
    """Squares as pictures, of which one is chosen and read below; it, if no step opens there."""
    look = lesson.view.look
    by_key = {one.key: one for one in squares}
    here = by_key[look.state.choice(key, list(by_key), squares[-1].key)]
    drawn = {
        one.key: [
            tag("b", esc(one.title)),
            square(look, one.shares, one.title, one.hidden, one.gone, most=0),
            tag("span", esc(one.says)),
        ]
        for one in squares
    }
    st.html(choices(look, key, here.key, drawn) + para(look.t("scores.mask.choose"), "says"))
    if here.step:
        name, index = f"blocks.{look.layer}.attn.weights", (look.head, None, None)
        cut = matrix.cut(look.trace, name, index, title=here.title)
        lesson.matrices(key, [cut], follow=True, numbers=True)
        return None
    lesson.matrices(key, [_made(look, here)], hint=False, numbers=True, chosen=_place(look))
    return here


def _made(look: Look, one: Square) -> Cut:
    """A square that is no step of the trace, ready to be read."""
    at = tuple(range(len(one.shares)))
    hidden = one.hidden if one.hidden is not None and one.hidden.any() else None
    return Cut(
        f"blocks.{look.layer}.attn.weights_made",
        (None, None),
        (0, 1),
        one.shares,
        Side("query", at),
        Side("key", at),
        kind="share",
        limit=SHARES,
        digits=DIGITS,
        masked=hidden,
        title=one.title,
    )


def _place(look: Look) -> dict[str, int]:
    """The row and column of the share that is worked out."""
    n = len(look.trace)
    return {ROW: look.state.index(ROW, n, look.token), COLUMN: look.state.index(COLUMN, n, 0)}


def _mask_sum(look: Look, key: str) -> str:
    """How one share of a square comes about from the scaled scores."""
    row, column = _place(look).values()
    scores = _masked_trace(look)[f"blocks.{look.layer}.attn.scores_scaled"][look.head]
    seen = attention.softmax_row(scores[row] if key != "first" else scores[row, : row + 1])
    pair = {"token": plain(look, row), "target": plain(look, column)}
    if key != "open" and column > row:
        return look.t("scores.mask.hidden", **pair)
    above, below = seen.powers[column], seen.total
    if key == "after":
        above, below = above / seen.total, sum(seen.powers[: row + 1]) / seen.total
    written = f"{significant(above)} / {significant(below)} = {significant(above / below)}"
    return look.t(f"scores.mask.{key}.sum", sum=written, **pair)


def _says(look: Look, key: str) -> str:
    """What is said beside one of the squares; a row set by hand adds up to something else."""
    t, name = look.t, f"blocks.{look.layer}.attn.weights"
    rows = look.trace[name][look.head].double().sum(-1).tolist()
    set_rows = [
        i for i in range(len(rows)) if elements.by_hand(look.trace, name, (look.head, i, None))
    ]
    if key != "first" or not set_rows:
        return t(f"scores.mask.{key}.says")
    i = look.token if look.token in set_rows else set_rows[0]
    return t("scores.mask.first.by_hand", token=plain(look, i), sum=number(rows[i]))


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
    squares = dropped(look, rate, seed)
    if len(look.trace) <= NUMBERED_TWO:
        st.html(beside(look, squares, NUMBERED_TWO))
    elif _read_one(lesson, "dropout_side", squares):
        st.html(para(_drop_sum(look, squares, rate), "says"))
    st.html(para(_total(look, squares[-1].shares, rate, seed), "outcome"))


def dropped(look: Look, rate: float, seed: int) -> list[Square]:
    """The shares before and after one draw."""
    t, name = look.t, f"blocks.{look.layer}.attn"
    shares = look.trace[f"{name}.weights"][look.head]
    hidden = torch.isneginf(look.trace[f"{name}.scores_masked"][look.head]).cpu().numpy()
    after = attention.dropout(shares, rate, seed).cpu().numpy()
    gone = (after == 0) & ~hidden
    before_says = t("scores.dropout.factor", p=number(rate, 1), factor=number(1 / (1 - rate)))
    gone_key = "gone" if len(look.trace) <= NUMBERED_TWO else "gone_hatched"
    says = t(f"scores.dropout.{gone_key}", n=int(gone.sum()), total=int((~hidden).sum()))
    before = shares.cpu().numpy()
    titles = t("scores.dropout.before"), t("scores.dropout.after")
    return [
        Square("before", titles[0], before_says, before, hidden, step=True),
        Square("drawn", titles[1], says, after, hidden, gone),
    ]


def _drop_sum(look: Look, squares: list[Square], rate: float) -> str:
    """How one share comes about in this draw."""
    row, column = place = tuple(_place(look).values())
    pair = {"token": plain(look, row), "target": plain(look, column)}
    drawn = squares[-1]
    for key, where in (("mask.hidden", drawn.hidden), ("dropout.struck", drawn.gone)):
        if where[place]:
            return look.t(f"scores.{key}", **pair)
    share, after = (float(one.shares[place]) for one in squares)
    written = f"{significant(share)} · {number(1 / (1 - rate))} = {significant(after)}"
    return look.t("scores.dropout.kept", sum=written, **pair)


def _total(look: Look, after: np.ndarray, rate: float, seed: int) -> str:
    """What the row where we look adds up to in this draw, and on average."""
    row = look.trace[f"blocks.{look.layer}.attn.weights"][look.head, look.token]
    many = min(MOST, MANY // len(look.trace))
    mean = number(attention.average_sum(row, rate, seed, many))
    total = number(after[look.token].sum().item())
    token = plain(look, look.token)
    return look.t("scores.dropout.sum", token=token, sum=total, mean=mean, draws=many)
