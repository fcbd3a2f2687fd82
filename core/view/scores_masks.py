"""What the Scores page draws about shares that are taken away: by the mask, and by dropout."""

from __future__ import annotations

import numpy as np
import streamlit as st
import torch

from core.analysis import attention
from core.view import elements
from core.view.html import div, esc, number, para, tag, tiny
from core.view.look import Look
from core.view.stripes import figures, plain, square

NUMBERED = 4  # tokens up to which three squares of numbers fit beside each other
NUMBERED_TWO = 12  # the same for two, which may also stand one below the other
RATES = tuple(f"0.{tenth}" for tenth in range(10))
DRAWS = 1000  # of dropout: different seeds
MANY, MOST = 10**6, 10**5  # numbers drawn for a mean over many draws; draws at most
FIRST_DRAW = 1  # one in which something is struck out


def masks(look: Look) -> str:
    """Two ways to hide what comes later, and how far apart they are."""
    t, trace = look.t, look.trace
    trace = trace if trace.model.config.causal else trace.switch(causal=True)
    name = f"blocks.{look.layer}.attn"
    open_shares = torch.softmax(trace[f"{name}.scores_scaled"][look.head], dim=-1)
    first = trace[f"{name}.weights"]
    after = attention.mask_after(trace[f"{name}.scores_scaled"])
    apart = (after - first).abs().max().item()
    hidden = np.triu(np.ones((len(trace), len(trace)), bool), 1)
    shares = (open_shares, after[look.head], first[look.head])
    parts = []
    for key, values, off in zip(
        ("open", "after", "first"), shares, (None, hidden, hidden), strict=True
    ):
        title = t(f"scores.mask.{key}.title")
        drawn = square(look, values.cpu().numpy(), title, off, most=NUMBERED)
        parts.append((title, drawn, para(_says(look, key), "says")))
    same = tag("p", esc(t("scores.mask.difference")), tag("b", esc(tiny(apart))), cls="outcome")
    return figures(*parts) + same


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


def dropout(look: Look) -> None:
    """One draw of dropout on the shares, with its rate and its seed."""
    t, state = look.t, look.state
    rate = float(state.choice("dropout", RATES, "0.1"))
    seed = state.index("dropout_draw", DRAWS, FIRST_DRAW)
    with st.container(key="dropout_controls"):
        st.select_slider(t("scores.dropout.rate"), RATES, key="dropout", persist_state="session")
    again = tag(
        "a",
        esc(t("scores.dropout.again")),
        cls="pill",
        **state.link(dropout_draw=(seed + 1) % DRAWS),
    )
    st.html(div("try", again) + dropped(look, rate, seed))


def dropped(look: Look, rate: float, seed: int) -> str:
    """The shares before and after one draw, and what the row adds up to."""
    t, name = look.t, f"blocks.{look.layer}.attn"
    shares = look.trace[f"{name}.weights"][look.head]
    hidden = torch.isneginf(look.trace[f"{name}.scores_masked"][look.head]).cpu().numpy()
    after = attention.dropout(shares, rate, seed)
    gone = (after == 0).cpu().numpy() & ~hidden
    titles = [t("scores.dropout.before"), t("scores.dropout.after")]
    before_says = t("scores.dropout.factor", p=number(rate, 1), factor=number(1 / (1 - rate)))
    gone_key = "gone" if len(look.trace) <= NUMBERED_TWO else "gone_hatched"
    says = t(f"scores.dropout.{gone_key}", n=int(gone.sum()), total=int((~hidden).sum()))
    pictures = (
        square(look, shares.cpu().numpy(), titles[0], hidden, most=NUMBERED_TWO),
        square(look, after.cpu().numpy(), titles[1], hidden, gone, most=NUMBERED_TWO),
    )
    row, many = shares[look.token], min(MOST, MANY // len(shares))
    total = t(
        "scores.dropout.sum",
        token=plain(look, look.token),
        sum=number(after[look.token].sum().item()),
        mean=number(attention.average_sum(row, rate, seed, many)),
        draws=many,
    )
    parts = zip(titles, pictures, (before_says, says), strict=True)
    drawn = figures(*((title, picture, para(text)) for title, picture, text in parts))
    return drawn + para(total, "outcome")
