"""What can be done to the opened number: another value, its row or part off or replaced."""

from __future__ import annotations

import math
from urllib.parse import urlencode

import numpy as np
import streamlit as st
import torch

from core.changes import Changes, Patch, Put, decode
from core.changes.link import MOST
from core.graph import EditError, Ref
from core.models.model import PromptTrace
from core.view import changes, elements, engine, interventions
from core.view.change_words import covers, plainly, quoted
from core.view.html import shown
from core.view.journal import is_editable
from core.view.look import Look
from core.view.state import CLICK
from core.view.texts import Text

SAID = "_opened_said"  # session: the element whose text was refused, and why
PROBLEMS = ("empty", "nonsense", "zero", "range")


def content(look: Look, ref: Ref) -> dict | None:
    """What the panel offers for an element; None where nothing can be changed."""
    t, trace = look.t, look.trace
    if None in ref.index or not is_editable(trace, ref.name):
        return None
    if look.side == "before":
        return {"notes": [t("opened.change.before")]}
    found = decode(st.session_state[changes.EDITS])
    own, old = found.at((ref.name, ref.index)), _old(look, ref)
    value = trace.value(ref.name, ref.index)
    restore = t("opened.change.restore", old=plainly(old)) if old is not None else ""
    return {
        "value": value if math.isfinite(value) else None,
        "largest": torch.finfo(trace.model.dtype).max,
        "words": {key: t(f"opened.change.{key}") for key in ("label", "set", "larger")},
        "problems": {key: t(f"matrix.problem.{key}") for key in PROBLEMS},
        "restore": [restore or t("opened.change.restore_new"), _drop(own)] if own else None,
        "notes": _notes(t, trace, ref),
        "larger": _larger(t, trace, ref, found),
        "take": _take(t, trace, ref),
    }


def put(trace: PromptTrace, ref: Ref, value: object) -> None:
    """Set the element by hand; what is no number that fits is passed over. For callbacks."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    try:
        changes.edit_cells(trace, [(ref, float(value))])
    except (EditError, OverflowError):
        return
    st.session_state["side"] = "after"  # where the new number is seen


def do(asked: object) -> None:
    """Follow a button like a link of the list; the run that follows checks it. For callbacks."""
    if isinstance(asked, str):
        st.session_state[CLICK] = urlencode({"do": asked})


def take(trace: PromptTrace, ref: Ref, text: object) -> None:
    """Take the row of an element from another text, or say why that cannot be. For callbacks."""
    if not isinstance(text, str) or not _is_of_token(trace, ref):
        return
    refused = _refused(trace, ref, text)
    st.session_state[SAID] = (ref, refused)
    if refused is None:
        changes.add(trace, Patch(ref.name, _row(ref), text))


def taken(look: Look, ref: Ref) -> str:
    """Where the element's value comes from if that is another text; else empty."""
    if look.compared is None or look.side == "before" or None in ref.index:
        return ""
    unfit = look.compared.applied.unfit
    place = Put(ref.name, tuple(ref.index), 0.0)
    last = None
    for change in decode(st.session_state[changes.EDITS]).in_force:
        if change not in unfit and covers(change, place):
            last = change
    if not isinstance(last, Patch):
        return ""
    return look.t("opened.change.from_text", text=quoted(last.text))


def _old(look: Look, ref: Ref) -> float | None:
    """What the element was, if it was there."""
    before = look.compared and look.compared.values_before(ref.name, ref.index)
    return None if before is None or np.isnan(before).any() else float(before)


def _drop(numbers: tuple[int, ...]) -> str:
    return f"drop.{'.'.join(map(str, numbers))}"


def _notes(t: Text, trace: PromptTrace, ref: Ref) -> list[str]:
    tied = ref.name == "embed.W_E" and trace.model.config.tied
    return [t("change_list.tied")] if tied else []


def _larger(t: Text, trace: PromptTrace, ref: Ref, found: Changes) -> list[dict]:
    ones = interventions.fitting(trace, ref)
    return [
        {"text": words, "on": on, "do": action}
        for words, on, action in interventions.actions(t, found, ones)
    ]


def _take(t: Text, trace: PromptTrace, ref: Ref) -> dict | None:
    """The field for another text, where the element belongs to a token."""
    if not _is_of_token(trace, ref):
        return None
    of, refused = st.session_state.get(SAID, (None, None))
    key, values = refused if refused and of == ref else ("", {})
    token = shown(trace.tokens[_position(trace, ref)])
    return {
        "label": t("opened.change.take"),
        "set": t("opened.change.take_set"),
        "hint": t("opened.change.take_hint"),
        "says": t("opened.change.take_says", token=token),
        "said": t(f"opened.change.refused.{key}", **values) if key else "",
    }


def _is_of_token(trace: PromptTrace, ref: Ref) -> bool:
    axes = elements.axes(trace, ref.name)
    return ref.name in trace and ("pos" in axes or "query" in axes)


def _position(trace: PromptTrace, ref: Ref) -> int:
    axes = elements.axes(trace, ref.name)
    return ref.index[axes.index("pos" if "pos" in axes else "query")]


def _row(ref: Ref) -> tuple[int | None, ...]:
    return (*ref.index[:-1], None) if len(ref.index) > 1 else ref.index


def _refused(trace: PromptTrace, ref: Ref, text: str) -> tuple[str, dict] | None:
    """Why the row cannot come from a text, as a key and its values; None if it can."""
    reading = engine.read(trace.model, text)
    n, at = len(reading.ids), _position(trace, ref)
    if reading.unknown:
        return "word", {"word": shown(reading.unknown[0])}
    if reading.instead:
        return "empty", {}
    if reading.cut or len(text) > MOST:
        return "long", {}
    if n <= at:
        return "short", {"n": n, "place": at + 1}
    if "key" in elements.axes(trace, ref.name) and n != len(trace):
        return "length", {"n": n, "here": len(trace)}
    return None
