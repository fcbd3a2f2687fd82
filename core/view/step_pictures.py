"""A small picture of any step's real values, chosen by its axes."""

from __future__ import annotations

import numpy as np

from core.graph import Ref
from core.view import scale
from core.view.figures import (
    THUMBNAIL,
    colour_picture,
    pooled,
    share_picture,
    signed_picture,
    token_colour,
)
from core.view.html import (
    cell,
    chip,
    div,
    esc,
    image,
    number,
    para,
    percent,
    share_legend,
    shown,
    signed_legend,
    small_matrix,
    tag,
)
from core.view.look import Look, shortened
from core.view.marks import Marks, beside, marks, was
from core.view.step_words import step_key

SMALL = 8  # rows and columns up to which numbers are written into the cells of a toy model
FEW = 4  # columns up to which they are in any model
TOP = 40  # tokens of a large vocabulary that are drawn
STREAM = ("embed.sum", "resid_in", "resid_mid", "resid_out")
UNCOLOURED = 1e9
SHARES = ("attn.weights", "probs")


def picture(look: Look, name: str, legend: bool = True) -> str:
    """The picture of a step, with its colour scale in numbers."""
    step = look.trace.step(name)
    if name == "tokens.ids":
        return _chips(look)
    if name == "tokens.positions" and len(look.trace) > SMALL:
        return para(f"0, 1, 2 … {len(look.trace) - 1}", "big")
    if "vocab" in step.axes and look.trace.shape(name)[1] > SMALL:
        return _one_hot(look) if name == "embed.onehot" else _top_of_vocabulary(look, name)
    values, columns = _two_dimensional(look, name)
    if step.role in SHARES or step.role == "embed.onehot":
        return _shares(look, name, values, columns)
    limit = scale.end(look.trace, name)
    if _has_room(look, values):
        if name == "tokens.positions":  # counting, not a quantity: no colour
            return _written(look, name, values, columns, UNCOLOURED, 0)
        largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        return _written(look, name, values, columns, limit, 2 if largest >= 0.05 else 4)
    source = signed_picture(pooled(values, THUMBNAIL, THUMBNAIL), limit)
    drawn = _framed(look, name, source, values, "key" in step.axes)
    return drawn + (signed_legend(limit, "") if legend else "")


def _has_room(look: Look, values: np.ndarray) -> bool:
    """Whether the numbers themselves can be written: always in the worked example, nearly."""
    rows, columns = values.shape
    toy = look.trace.model.config.d_model <= SMALL
    return rows <= SMALL and columns <= (SMALL if toy else FEW)


def _written(
    look: Look,
    name: str,
    values: np.ndarray,
    columns: list[str],
    limit: float | None,
    digits: int,
) -> str:
    """A matrix with its numbers in the cells."""
    return small_matrix(
        values.tolist(),
        look.trace.tokens,
        limit=limit,
        caption=alt(look, name, values),
        columns=columns,
        here=look.token,
        digits=digits,
        was=_marks(look, name).was,
    )


def _marks(look: Look, name: str) -> Marks:
    """What changed of what `_two_dimensional` shows."""
    axes = look.trace.step(name).axes
    own = {"head": look.head, "kv_head": look.kv_head}.get(axes[0])
    found = marks(look, name, (own, *(None for _ in axes[1:])))
    return found if found.before.ndim == 2 else found.part((slice(None), None))


def alt(look: Look, name: str, values: np.ndarray) -> str:
    """What a picture shows, for somebody who does not see it."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    title = look.t(f"{step_key(look.trace.model.config, look.trace.step(name).role)}.title")
    return look.t(
        "path.alt", title=title, shape=look.shape_words(name), low=number(low), high=number(high)
    )


def own_row(look: Look, name: str) -> np.ndarray | None:
    """The selected token's row of a step, for writing its first numbers out."""
    axes = look.trace.step(name).axes
    if "pos" not in axes or axes == ("pos",) or "vocab" in axes:
        return None
    values, _ = _two_dimensional(look, name)
    return None if _has_room(look, values) else values[look.token]


def _two_dimensional(look: Look, name: str) -> tuple[np.ndarray, list[str]]:
    """A step as rows of tokens (of the selected head, if it has heads), and column labels."""
    axes = look.trace.step(name).axes
    own = {"head": (look.head,), "kv_head": (look.kv_head,)}.get(axes[0], ())
    values = look.values(name, *own).astype(np.float64)
    if values.ndim == 1:
        values = values[:, None]
    labels = look.trace.tokens if axes[-1] == "key" else []
    if axes[-1] == "vocab" and values.shape[1] <= SMALL:
        tokenizer = look.trace.model.tokenizer
        labels = [tokenizer.token_text(i) for i in range(values.shape[1])]
    return values, labels


def _shares(look: Look, name: str, values: np.ndarray, columns: list[str]) -> str:
    masked = np.zeros(values.shape, bool)
    if name.endswith("attn.weights"):
        scores = look.values(name.replace("weights", "scores_masked"), look.head)
        masked = np.isneginf(scores)
    if _has_room(look, values):
        digits = 0 if name == "embed.onehot" else 2
        return _written(look, name, values, columns, None, digits)
    dots = pooled(np.where(masked, -np.inf, values), THUMBNAIL, THUMBNAIL)
    source = share_picture(dots, np.isneginf(dots))
    drawn = _framed(look, name, source, values, across=True)
    return drawn + share_legend("")


def _framed(look: Look, name: str, source: str, values: np.ndarray, across: bool) -> str:
    """A picture with the tokens' colours along its side, and on top where columns are tokens.

    A line along the other side marks the rows in which anything changed.
    """
    rows, found = len(values), _marks(look, name)
    says = " ".join(filter(None, (alt(look, name, values), found.some())))
    height = min(max(rows * 16, 48), 176)
    side = image(colour_picture(rows, across=False), "", cls="side", style=f"height:{height}px")
    top = image(colour_picture(rows, across=True), "", cls="top") if across else ""
    mark = div("mark", style=f"top:{100 * look.token / rows:.3f}%;height:{100 / rows:.3f}%")
    drawn = image(source, says), mark, beside(found.rows())
    body = div("pixels", *drawn, style=f"height:{height}px", title=found.some() or None)
    return div("framed square" if across else "framed", top, side, body)


def _chips(look: Look) -> str:
    chips = []
    for row in look.rows("ids"):
        if isinstance(row, range):
            chips.append(look.gap("ids", row))
        else:
            old = was(look, Ref("tokens.ids", (row,)))
            told = {"cls": "tok changed", "title": old} if old else {}
            chips.append(chip(look.trace.tokens[row], row, look.trace.ids[row], **told))
    return div("chips", *chips)


def _one_hot(look: Look) -> str:
    """Each row is the whole vocabulary as a line, to scale, with the only 1 marked on it."""
    total = look.trace.model.config.n_vocab
    some = shortened(len(look.trace), look.token)[:6]
    rows = [row for row in some if not isinstance(row, range)]
    lines, changes = [], marks(look, "embed.onehot", (rows, None)).rows()
    for row, changed in zip(rows, changes, strict=True):
        token_id = look.trace.ids[row]
        style = f"left:{100 * token_id / total:.2f}%;background:{token_colour(row)}"
        says = look.t("path.one_at", id=str(token_id))
        cls = "line changed" if changed else "line"
        lines.append(div(cls, tag("i", style=style), title=says, role="img", aria_label=says))
    ends = div("ends", tag("span", "0"), tag("span", esc(f"{total - 1:,}")))
    note = tag("p", esc(look.t("path.only_row", n=total)), cls="says")
    return div("onehot", *lines, ends) + note


def _top_of_vocabulary(look: Look, name: str) -> str:
    """The largest values of the last row as bars; a vocabulary is too wide to draw."""
    top = look.trace.top(TOP)
    values = [c.prob if name == "probs" else c.logit for c in top]
    low = 0.0 if name == "probs" else min(values) - 0.1 * (max(values) - min(values) or 1.0)
    span = max(values) - low or 1.0
    last_row = len(look.trace) - 1
    changed = marks(look, name, (last_row, [candidate.id for candidate in top]))
    bars = [
        cell("i", "", changed.was(i), style=f"height:{100 * (value - low) / span:.1f}%")
        for i, value in enumerate(values)
    ]
    first = percent(values[0]) if name == "probs" else number(values[0])
    last = percent(values[-1]) if name == "probs" else number(values[-1])
    says = look.t(
        "path.top",
        n=len(top),
        total=look.trace.model.config.n_vocab,
        token=shown(look.trace.tokens[-1]),
        first=first,
        last=last,
        best=shown(top[0].text),
    )
    label = f"{says} {changed.some()}".strip()
    drawn = div("top40 probs" if name == "probs" else "top40", *bars, role="img", aria_label=label)
    return drawn + tag("p", esc(says), cls="says")
