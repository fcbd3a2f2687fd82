"""What the Scores page draws: four matrices, one row through them, and why each step is there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st
import torch

from core.analysis import attention
from core.models.model import PromptTrace
from core.view import elements, matrix
from core.view.arrays import array
from core.view.board import image
from core.view.cut import Cut
from core.view.figures import THUMBNAIL
from core.view.html import cell, div, esc, number, para, percent, tag, tiny
from core.view.look import Look
from core.view.marks import marks
from core.view.sketch import choices
from core.view.stripes import FEW_TOKENS, framed, plain, share_bar, share_text, token

STEPS = ("scores", "scores_scaled", "scores_masked", "weights")
WIDTHS = (3, 16, 64, 128, 512)
KNOWN = {64: "GPT-2", 128: "GPT-3"}
ROUNDING = 1e-6  # of the largest score: what rounding alone can make of equal ones
SATURATED = 0.9  # the largest share of a row in which one key takes nearly everything
ROWS, LARGEST = 10, 7  # tokens up to which each has a line; beyond, how many of them have one

_rows: WeakKeyDictionary[PromptTrace, tuple[tuple[int, ...], torch.Tensor]] = WeakKeyDictionary()


def names(look: Look) -> list[str]:
    """The four steps of this block."""
    return [f"blocks.{look.layer}.attn.{step}" for step in STEPS]


def four(look: Look) -> dict[str, Cut]:
    """Raw, scaled, masked, shares: the same tokens four times, the scores on one colour scale."""
    t, trace, config = look.t, look.trace, look.trace.model.config
    root = number(math.sqrt(config.d_head))
    notes = (
        trace.step(names(look)[0]).formula,
        f"S / √{config.d_head} = S / {root}" if config.scaled else t("scores.four.not_scaled"),
        t("scores.four.later" if config.causal else "scores.four.no_mask"),
        t("scores.four.softmax"),
    )
    here = (look.head, None, None)
    notes = [_note(look, *pair) for pair in zip(names(look), notes, strict=True)]
    titles = (f"{i} {t(f'scores.four.{step}')}" for i, step in enumerate(STEPS, 1))
    return {
        step: matrix.cut(trace, name, here, title=title, note=note)
        for step, name, title, note in zip(STEPS, names(look), titles, notes, strict=True)
    }


def _note(look: Look, name: str, note: str) -> str:
    """What is written beneath a matrix; where numbers of it were set by hand, that too."""
    if not elements.by_hand(look.trace, name, (look.head, None, None)):
        return note
    key = "shares_by_hand" if name == names(look)[-1] else "by_hand"
    return look.t(f"scores.four.{key}", formula=note)


def row_by_hand(look: Look, where: str) -> str:
    """That numbers of the row where we look were set by hand, and what its shares add up to."""
    t, here = look.t, (look.head, look.token, None)
    steps = [s for s in names(look) if elements.by_hand(look.trace, s, here)]
    if not steps:
        return ""
    which = ", ".join(t(f"scores.four.{step.rpartition('.')[2]}") for step in steps)
    total = number(_row(look)[-1].sum(dtype=np.float64).item())
    return para(t(f"scores.{where}.by_hand", which=which, sum=total), "outcome")


def chosen(look: Look, key: str, cuts: Mapping[str, Cut], says: str) -> Mapping[str, Cut]:
    """The matrices to read: all of a short text; of a long one that whose picture was clicked.

    key: the parameter that a click sets. says: the key of the text that asks for it.
    """
    if len(look.trace) <= FEW_TOKENS:
        return cuts
    here = look.state.choice(key, list(cuts), list(cuts)[-1])
    drawn = {name: _choice(look, cut) for name, cut in cuts.items()}
    st.html(choices(look, key, here, drawn) + para(look.t(f"scores.{says}"), "says"))
    return {here: cuts[here]}


def _choice(look: Look, cut: Cut) -> list[str]:
    """A matrix as a picture to choose, with its name and formula above."""
    changed = marks(look, cut.name, cut.index) if cut.name in look.trace else None
    picture = framed(look, image(cut, THUMBNAIL), cut.title, len(look.trace), changed)
    return [tag("b", esc(cut.title)), tag("span", esc(cut.note), cls="says"), picture]


def followed(look: Look) -> str:
    """The row of the token where we look, one line per token it looks at, left to right."""
    t, config = look.t, look.trace.model.config
    raw, scaled, masked, shares = _row(look)
    steps = attention.softmax_row(torch.tensor(masked))
    root = number(math.sqrt(config.d_head))
    head = ("followed.token", "followed.raw", "followed.scaled", "followed.masked")
    titles = [t(f"scores.{key}", root=root if config.scaled else "1") for key in head]
    titles += [
        f"exp(s − {number(steps.highest)})".replace("− −", "+ "),
        t("scores.followed.share"),
    ]
    drawn, found = [], [marks(look, name, (look.head, look.token, None)) for name in names(look)]
    for positions, label in lines(look, shares, masked):
        old = [one.was(positions[0]) if len(positions) == 1 else "" for one in found]
        power = sum(steps.powers[i] for i in positions)
        share = float(shares[positions].sum())
        if len(positions) == 1:
            i = positions[0]
            written = [number(raw[i]), number(scaled[i]), number(masked[i])]
        else:
            written = ["", "", number(-math.inf) if np.isneginf(masked[positions]).all() else ""]
        drawn.append(_line(label, [*written, number(power)], share, was=[*old[:3], "", old[3]]))
    sums = ["", "", "", number(steps.total)]
    drawn.append(_line(esc(t("scores.followed.sum")), sums, float(shares.sum()), "total"))
    top = tag("tr", *(tag("th", esc(title), scope="col") for title in titles))
    table = tag("table", top, *drawn, cls="followed")
    return div("scroll", table) + row_by_hand(look, "followed")


def _row(look: Look) -> list[np.ndarray]:
    return [look.values(name, look.head, look.token) for name in names(look)]


def lines(look: Look, shares: np.ndarray, masked: np.ndarray) -> Iterator[tuple[list[int], str]]:
    """The tokens of each line, and its label: each token alone, or the smallest ones together."""
    hidden = np.isneginf(masked)
    seen, later = (np.flatnonzero(some).tolist() for some in (~hidden, hidden))
    if len(shares) <= ROWS:
        yield from (([i], token(look, i)) for i in range(len(shares)))
        return
    largest = sorted(sorted(seen, key=lambda i: -shares[i])[:LARGEST])
    yield from (([i], token(look, i)) for i in largest)
    others = [i for i in seen if i not in largest]
    for positions, key in ((others, "others"), (later, "later")):
        if positions:
            yield positions, esc(look.t(f"scores.followed.{key}", n=len(positions)))


def _line(
    label: str,
    written: list[str],
    share: float,
    cls: str | None = None,
    was: Sequence[str] = ("",) * 5,
) -> str:
    """was: what the numbers and the share were, in words; empty where they did not change."""
    cells = (
        cell("td", esc(text), old, cls="masked" if text == "−∞" else None)
        for text, old in zip(written, was, strict=False)
    )
    return tag(
        "tr",
        tag("th", label, scope="row"),
        *cells,
        cell("td", share_bar(share, share_text(share)), was[-1], cls="share"),
        cls=cls,
    )


def _unscaled(look: Look) -> torch.Tensor:
    """The row where we look if its scores were not divided, [key]; the last one is known."""
    where = look.layer, look.head, look.token
    if (known := _rows.get(look.trace)) is None or known[0] != where:
        row = attention.unscaled(look.trace, *where).clone()
        known = _rows[look.trace] = where, row
    return known[1]


@cache
def _saturation(scaled: bool) -> tuple[attention.Saturation, ...]:
    return tuple(attention.saturation(WIDTHS, scaled))


def saturation(look: Look) -> str:
    """How softmax shares out at growing widths, without and with the division."""
    t = look.t
    rows = []
    for scaled in (False, True):
        title = t("scores.wide.with" if scaled else "scores.wide.without")
        rows.append(tag("h3", esc(title)))
        rows.append(div("stairs", *(_stairs(look, one) for one in _saturation(scaled))))
    return div("saturation", *rows)


def _stairs(look: Look, one: attention.Saturation) -> str:
    """The mean shares of eight keys, largest first, and what they let through."""
    t = look.t
    says = t("scores.wide.alt", d=one.d_k, largest=percent(one.largest))
    columns = (tag("i", style=f"height:{100 * share:.1f}%") for share in one.ranked)
    known = f" {KNOWN[one.d_k]}" if one.d_k in KNOWN else ""
    return div(
        "stair",
        tag("b", esc(f"d_k = {one.d_k}"), tag("small", esc(known))),
        div("columns", *columns, role="img", aria_label=says),
        tag("span", esc(t("scores.wide.spread")), tag("b", esc(f"± {number(one.spread, 1)}"))),
        tag("span", esc(t("scores.wide.largest")), tag("b", esc(percent(one.largest)))),
        tag("span", esc(t("scores.wide.slope")), tag("b", esc(number(one.slope)))),
    )


def this_row(look: Look) -> str:
    """The row of this model with and without the division, side by side."""
    t, (*_, masked, shares) = look.t, _row(look)
    without = array(_unscaled(look))
    head = ("followed.token", "row.with", "row.without")
    drawn = []
    for positions, label in lines(look, shares, masked):
        pair = [float(values[positions].sum()) for values in (shares, without)]
        cells = (tag("td", share_bar(share, share_text(share)), cls="share") for share in pair)
        drawn.append(tag("tr", tag("th", label, scope="row"), *cells))
    slopes = (
        share_text(attention.slope(torch.tensor(row.max())).item()) for row in (shares, without)
    )
    passed = (tag("td", esc(slope)) for slope in slopes)
    last = tag("tr", tag("th", esc(t("scores.wide.slope")), scope="row"), *passed, cls="total")
    top = tag("tr", *(tag("th", esc(t(f"scores.{key}")), scope="col") for key in head))
    table = tag("table", top, *drawn, last, cls="followed two")
    return div("scroll", table) + row_by_hand(look, "row")


def row_note(look: Look) -> tuple[str, dict[str, object]]:
    """What is to be seen in `this_row`: the key of a sentence, and its values."""
    *_, masked, shares = _row(look)
    if np.isfinite(masked).sum() == 1:
        return "row.single", {"token": plain(look, look.token)}
    without = _unscaled(look)
    largest = {"with": share_text(float(shares.max())), "without": share_text(float(without.max()))}
    if without.max() > SATURATED:
        slope = share_text(attention.slope(without.max()).item())
        return "row.full", {**largest, "slope": slope}
    d = look.trace.model.config.d_head
    return "row.small" if d < WIDTHS[1] else "row.calm", {**largest, "d": d}


def mirror(look: Look) -> tuple[str, dict[str, object]]:
    """Whether this head's raw scores are the same both ways: the key of a text, and its values."""
    scores = look.trace[names(look)[0]][look.head]
    found = attention.asymmetry(scores)
    if len(scores) == 1:
        return "mirror_single", {}
    same = found.largest <= ROUNDING * scores.abs().max().item()
    # Where no pair differs any will do as an example.
    query, key = (len(scores) - 1, 0) if same else (found.query, found.key)
    return "mirror_same" if same else "mirror", {
        "largest": tiny(found.largest),
        "a": plain(look, query),
        "b": plain(look, key),
        "ab": number(scores[query, key].item()),
        "ba": number(scores[key, query].item()),
    }


def counts(look: Look) -> dict[str, int]:
    """How many numbers of either kind of weights there are in this block."""
    return {
        "learned": look.trace.weights[f"blocks.{look.layer}.attn.W_Q"].numel(),
        "computed": look.trace[names(look)[-1]].numel(),
        "tokens": len(look.trace),
        "heads": look.n_heads,
    }
