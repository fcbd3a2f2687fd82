"""What the components of a matrix are sent: plain numbers and texts, nothing drawn yet."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from core.graph import Ref
from core.view import elements, journal, scale
from core.view.cut import Cut, Side
from core.view.figures import (
    NEGATIVE,
    POSITIVE,
    SHARE,
    SHARES,
    WIDEST,
    degree,
    pooled,
    share_picture,
    signed_picture,
    token_colour,
)
from core.view.html import share_marks, shown, signed_marks
from core.view.look import Look

WRITTEN = (40, 24)  # rows and columns up to which every cell has its number
SIGNS = "=+·×→ "  # before the name of a matrix in a row of them
LONGEST = 14  # characters of a token in a label
EVERY = 10  # of many columns without a name, the ones that are numbered
SAID = ("masked", "struck", "opened", "was", "new", "pending")  # of a cell, by the browser
TENS = np.array([float(10**power) for power in range(23)])  # those that a float64 is exactly
COLOURS = {"negative": NEGATIVE, "positive": POSITIVE, "share": SHARE}


def board(
    look: Look,
    cuts: Sequence[Cut],
    *,
    open_at: Sequence[Ref] = (),
    parts: Sequence[Ref] = (),
    legend: bool = True,
    hint: bool = True,
    follow: bool = False,
) -> dict:
    """Matrices beside each other.

    open_at: the elements that are opened; parts: those they were computed from. follow: whether the
    row of the token where we look is marked.
    """
    panels = [_panel(look, cut, open_at, parts, follow) for cut in cuts]
    used = any(panel["parts"] for panel in panels)
    return {
        "panels": panels,
        "legends": _legends(look, cuts, used) if legend else [],
        "hint": _hint(look, panels) if hint else "",
        "keys": look.t("matrix.keys") if any(panel["editable"] for panel in panels) else "",
    }


def shared(look: Look) -> dict:
    """What is the same for every board."""
    return {"colours": COLOURS, "words": _words(look)}


def _words(look: Look) -> dict:
    """What the browser says by itself; it fills in the {places}."""
    t = look.t
    words = {key: t(f"matrix.{key}") for key in SAID}
    problems = {key: t(f"matrix.problem.{key}") for key in ("empty", "nonsense", "zero", "range")}
    pasted = {"rows": "{rows}", "columns": "{columns}", "down": "{down}", "right": "{right}"}
    bad = {"row": "{row}", "column": "{column}", "text": "{text}", "problem": "{problem}"}
    return words | {
        "problems": problems,
        "unfit": t("matrix.unfit", **pasted),
        "bad_cell": t("matrix.bad_cell", **bad),
    }


def _hint(look: Look, panels: Sequence[dict]) -> str:
    """How numbers are opened; where none are written in the cells, how they are read."""
    written = any(panel["mode"] == "numbers" for panel in panels)
    hint = look.t("matrix.hint" if written else "matrix.hint_colours")
    editable = any(panel["editable"] for panel in panels)
    return f"{hint} {look.t('matrix.hint_edit')}" if editable else hint


def _panel(
    look: Look, cut: Cut, open_at: Sequence[Ref], parts: Sequence[Ref], follow: bool
) -> dict:
    n_columns = cut.values.shape[1]
    opened, own = (filter(None, map(cut.place, refs)) for refs in (open_at, parts))
    follows = follow and cut.picks.get("row") == "token" and look.token in cut.rows.at
    return {
        "mode": "numbers" if is_written(cut) else "colours",
        "title": cut.title,
        "note": cut.note,
        "label": called(look, cut),
        "name": cut.name,
        "index": [part if isinstance(part, int) else None for part in cut.index],
        "axes": cut.axes,
        "words": {"row": _word(look, cut.rows), "column": _word(look, cut.columns)},
        "rows": _labels(look, cut.rows),
        "columns": _labels(look, cut.columns),
        "values": _values(look, cut),
        "before": None if cut.before is None else _before(look, cut),
        "changed": None if cut.changed is None else np.flatnonzero(cut.changed).tolist(),
        "masked": None if cut.masked is None else cut.masked.ravel().astype(int).tolist(),
        "struck": None if cut.struck is None else np.flatnonzero(cut.struck).tolist(),
        "kind": cut.kind,
        "limit": cut.limit,
        "degree": degree(cut.limit),
        "digits": cut.digits,
        "editable": look.side == "after" and journal.is_editable(look.trace, cut.name),
        "readonly": _readonly(look, cut),
        "largest": torch.finfo(look.trace.model.dtype).max,
        "open": next(opened, None),
        "parts": sorted(row * n_columns + column for row, column in own),
        "follow": cut.rows.at.index(look.token) if follows else None,
        "picks": cut.picks,
    }


def _readonly(look: Look, cut: Cut) -> str:
    """What is said to who types where nothing can be changed."""
    if not journal.is_editable(look.trace, cut.name):
        return look.t("matrix.readonly")
    return look.t("matrix.guess_first" if look.hidden else "matrix.choose_after")


def _values(look: Look, cut: Cut) -> list[float | str | None]:
    """What the cells show; a word where a difference has nothing to be taken from."""
    found = numbers(cut.values)
    return found if cut.new is None else _worded(look, found, cut.new)


def _before(look: Look, cut: Cut) -> list[float | str | None]:
    """The old values; a word for what had none."""
    return _worded(look, numbers(cut.before, cut.values.dtype), np.isnan(cut.before))


def _worded(
    look: Look, values: list[float | str | None], new: np.ndarray
) -> list[float | str | None]:
    word = look.t("matrix.new")
    return [word if is_new else value for value, is_new in zip(values, new.flat, strict=True)]


def is_written(cut: Cut) -> bool:
    """Whether its cells have room for their numbers."""
    return all(size <= most for size, most in zip(cut.values.shape, WRITTEN, strict=True))


def called(look: Look, cut: Cut) -> str:
    """What a slice is called: its title, or else its kind of value."""
    return cut.title or look.t(f"opened.role.{elements.role(cut.name)}.short")


def numbers(values: np.ndarray, dtype: np.dtype | None = None) -> list[float | str | None]:
    """Each value with all its digits, row by row; −∞ as null, for JSON has no infinity.

    dtype: the type that they come from, if not their own; nine digits are all of a float32.
    """
    values = values.ravel()
    found = (values if (dtype or values.dtype).itemsize == 8 else _nine_digits(values)).tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        found[i] = {math.inf: "∞", -math.inf: None}.get(found[i], "NaN")
    return found


def _nine_digits(values: np.ndarray) -> np.ndarray:
    """Each value as `float(f"{value:.9g}")` has it, for all of them in one go.

    With nine digits before the point a float64 is off by less than 1e-6; so what is that close to
    a half is written out, and what no exact power of ten brings there.
    """
    values = values.astype(np.float64)
    with np.errstate(all="ignore"):
        power = 8 - np.floor(np.log10(np.abs(values)))
        tens = TENS[np.clip(np.nan_to_num(power), 0, len(TENS) - 1).astype(int)]
        scaled = values * tens
        found = np.rint(scaled) / tens
        sure = (power >= 0) & (power < len(TENS)) & (np.abs(scaled % 1 - 0.5) > 1e-6)
    for i in np.flatnonzero(~sure & np.isfinite(values) & (values != 0)).tolist():
        found[i] = float(f"{values[i]:.9g}")
    return found


def _labels(look: Look, side: Side) -> list[dict]:
    """One label per row or column: text, index, colour, and how it is read out."""
    word = _word(look, side)
    named = side.labels or side.word in (*elements.TOKEN_AXES, "vocab")
    many = not named and len(side.at) > WRITTEN[1]
    return [
        _label(look, side, i, word) | {"at": at, "skip": many and at % EVERY != 0}
        for i, at in enumerate(side.at)
    ]


def _word(look: Look, side: Side) -> str:
    """What the rows or columns are; empty if there is only one, which needs no name."""
    return "" if side.word == "value" else look.t(f"matrix.axis.{side.word}")


def _label(look: Look, side: Side, i: int, word: str) -> dict:
    at = side.at[i]
    if side.labels:
        text = side.labels[i]
        return {"text": text, "index": "", "colour": "", "spoken": text or word}
    token = None
    if side.word in elements.TOKEN_AXES:
        token = shown(look.trace.tokens[at], LONGEST)
    elif side.word == "vocab":
        token = shown(look.trace.model.tokenizer.token_text(at), LONGEST)
    if token is None:
        return {"text": str(at), "index": "", "colour": "", "spoken": f"{word} {at}"}
    colour = "" if side.word == "vocab" else token_colour(at)
    return {"text": token, "index": str(at), "colour": colour, "spoken": f"{word} {token} {at}"}


def _legends(look: Look, cuts: Sequence[Cut], used: bool) -> list[dict]:
    """What the colours and marks mean that occur."""
    t = look.t
    names = (called(look, cut).lstrip(SIGNS) for cut in cuts)
    signed = [
        (name, cut.limit) for name, cut in zip(names, cuts, strict=True) if cut.kind == "signed"
    ]
    roles = {elements.role(cut.name) for cut in cuts if cut.kind == "share"}
    scales = scale.distinct(signed)
    kinds = [("signed", signed_marks(limit)) for _, limit in scales]
    for role, key in (("attn.weights", "share"), ("probs", "probability")):
        if any(found.startswith(role) for found in roles):
            kinds.append(("share", share_marks()))
            scales.append((t(f"matrix.legend.{key}"), SHARES))
    found = [
        {"kind": kind, "ends": ends, "says": says}
        for (kind, ends), says in zip(kinds, scale.says(t, scales), strict=True)
    ]
    marks = {
        "masked": any(cut.masked is not None for cut in cuts),
        "struck": any(cut.struck is not None and cut.struck.any() for cut in cuts),
        "changed": any(cut.changed is not None and cut.changed.any() for cut in cuts),
        "part": used,
    }
    says = {"changed": "differs"} if look.side == "difference" else {}
    return found + [
        {"kind": kind, "says": t(f"matrix.legend.{says.get(kind, kind)}")}
        for kind, occurs in marks.items()
        if occurs
    ]


def image(cut: Cut, most: int = WIDEST) -> str:
    """A picture with one dot per cell, or for the strongest of several; `most` dots each way."""
    values = cut.values if cut.new is None else np.where(cut.new, 0.0, cut.values)
    if cut.kind != "share":
        return signed_picture(pooled(values, most, most), cut.limit)
    for gone in (cut.masked, cut.struck):
        values = values if gone is None else np.where(gone, -np.inf, values)
    values = pooled(values, most, most)
    return share_picture(values, np.isneginf(values))
