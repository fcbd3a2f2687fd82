"""What this visitor changed: kept for each model in the session, and in the address.

The session is the truth; the address follows it like everything else (see `state`). Every change
is one step that can be undone. Changes of one model wait while another one is looked at. A link or
file that brings changes of its own is one step too: undone, it gives back the whole view.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from core.changes import BadLink, Changes, Patch, Put, Switch, chosen, decode, encode
from core.changes.link import MOST
from core.graph import EditError, Ref
from core.models.model import Model, PromptTrace
from core.view.state import CLICK, GO, State, tell

EDITS = "edits"  # session and address: the changes of the model that is shown
OWNER, KEPT = "_edits_of", "_edits_kept"  # session: whose they are; those of other models
PAST, FUTURE = "_edits_past", "_edits_future"
LONGEST_PAST = 200
SHOWN = "_shown"  # session: all parameters of the view that was drawn last, and its page
LEFT = "_left"  # session: the view that a link with changes of its own leads away from
VIEW = "?"  # how a whole view begins in the history; all other steps are changes as in a link
BACK = "back"  # what is done when a view is shown again: nothing to be remembered
NUMBERS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(\.[0-9]{1,5}(-[0-9]{1,5})?){0,99}")


def identity(model: Model) -> str:
    """What tells one set of changes from another; those in bfloat16 are the same ones."""
    return f"{model.key}/{model.variant if model.preset else ''}"


def begin(state: State, model: Model) -> Changes:
    """The changes in this run: what a link asks for, else what the session has for the model.

    A link that cannot be read is said in a notice, and nothing is changed.
    """
    owner = identity(model)
    before, same = _text(owner), st.session_state.get(OWNER) == owner
    if not same:
        _kept()[st.session_state.get(OWNER, "")] = st.session_state.get(EDITS, "")
        st.session_state[EDITS], st.session_state[OWNER] = before, owner
    text = state.text(EDITS, "")
    try:
        found = decode(text)
    except BadLink as error:
        state.say(f"changes.link.{error.kind}")
        st.session_state[EDITS], found = "", Changes()
    left = st.session_state.pop(LEFT, "")
    back = state.asked.get("do") == BACK
    if before and text != before and not back and not (left and same):
        _remember(owner, before)  # what a link replaces can be had back
    if left:
        _remember(owner, left)
    return _do(state.asked.get("do", ""), model, found)


def waiting(model: Model) -> list[tuple[str, str, int]]:
    """Where the model has more changes, in other variants or sizes: preset, size and how many."""
    found = []
    for owner in _kept():
        key, _, variant = owner.rpartition("/")  # a key may be a path
        if key != model.key or not variant or owner == st.session_state.get(OWNER):
            continue
        if n := len(decode(_text(owner))):
            preset, _, size = variant.partition("~")
            found.append((preset, size, n))
    return found


def edit_cells(trace: PromptTrace, cells: Sequence[tuple[Ref, float]]) -> None:
    """Set elements by hand, as one step of the history. For callbacks. Raises EditError."""
    for ref, value in cells:
        trace.check_edits({ref.name: {ref.index: value}})
        if math.isinf(value):
            raise EditError(f"{ref.name}{list(ref.index)} must be a finite number")
    puts = [Put(ref.name, tuple(ref.index), float(value)) for ref, value in cells]
    _update(identity(trace.model), lambda changes: changes.with_change(*puts))


def restore_cells(trace: PromptTrace, refs: Sequence[Ref]) -> None:
    """Take back what was set by hand at these elements. For callbacks."""
    places = [(ref.name, tuple(ref.index)) for ref in refs]
    _update(identity(trace.model), lambda changes: changes.without(*changes.at(*places)))


def add(trace: PromptTrace, change: Put | Patch | Switch) -> None:
    """Any other change. For callbacks."""
    _update(identity(trace.model), lambda changes: changes.with_change(change))


def undo() -> None:
    """Go one step back in the history of the model that is shown. For callbacks."""
    _travel(PAST, FUTURE)


def redo() -> None:
    """Go one step forward again. For callbacks."""
    _travel(FUTURE, PAST)


def before_run() -> None:
    """Before anything of a run is drawn: follow a link to undo or redo, or note what it leaves."""
    asked = dict(parse_qsl(st.session_state.get(CLICK, ""), keep_blank_values=True))
    verb = asked.get("do")
    if verb in ("undo", "redo"):
        del st.session_state[CLICK]
        (undo if verb == "undo" else redo)()
    elif EDITS in asked and verb != BACK and SHOWN in st.session_state:
        st.session_state[LEFT] = VIEW + urlencode(st.session_state[SHOWN])


def after_run(state: State, page: str) -> None:
    """Once a view is drawn: what it takes to come back to it."""
    st.session_state[SHOWN] = state.whole() | {"page": page, "do": BACK}


def can_undo() -> bool:
    return bool(_stack(PAST, st.session_state.get(OWNER, "")))


def can_redo() -> bool:
    return bool(_stack(FUTURE, st.session_state.get(OWNER, "")))


def _do(action: str, model: Model, found: Changes) -> Changes:
    """What a clicked link of the list or of a switch asks for, as `drop.3` or `add.scaled~off`.

    Nonsense does nothing. To undo and redo is done before: see `before_run`.
    """
    verb, _, rest = action.partition(".")
    owner = identity(model)
    if verb == "reset":
        _update(owner, lambda changes: Changes())
    elif verb == "drop" and (numbers := _numbers(rest, len(found))):
        _update(owner, lambda changes: changes.without(*numbers))
    elif verb == "flip" and (numbers := _numbers(rest, len(found))):
        _update(owner, lambda changes: _flipped(changes, numbers))
    elif verb == "add":
        try:
            new = decode(f"v1~~{rest}")
        except BadLink:
            return found
        _update(owner, lambda changes: _without_own(changes.with_entries(new.entries), model))
    return decode(_text(owner))


def _numbers(text: str, size: int) -> list[int]:
    """The entries that `3`, `3-14` or `2.5` stand for; none if one of them is not there."""
    if not NUMBERS.fullmatch(text):
        return []
    found: list[int] = []
    for part in text.split("."):
        first, _, last = part.partition("-")
        if int(last or first) >= size:
            return []
        found += range(int(first), int(last or first) + 1)
    return found


def _flipped(changes: Changes, numbers: Sequence[int]) -> Changes:
    """With these entries switched off; on again if all of them are off."""
    entries = list(changes.entries)
    on = not any(entries[i].on for i in numbers)
    for i in numbers:
        entries[i] = replace(entries[i], on=on)
    return Changes(tuple(entries))


def _without_own(changes: Changes, model: Model) -> Changes:
    """Without switches that are at the value which the model has by itself."""
    own = [
        i
        for i, entry in enumerate(changes.entries)
        if isinstance(entry.change, Switch)
        and entry.change.value == chosen(entry.change.setting, model.config)
    ]
    return changes.without(*own)


def _update(owner: str, change: Callable[[Changes], Changes]) -> None:
    before = _text(owner)
    after = encode(change(decode(before)))
    try:
        decode(after)
    except BadLink:  # more than a link can hold: rather nothing new than everything lost
        tell("change_list.too_many", most=MOST)
        return
    if after != before:
        _remember(owner, before)
        _write(owner, after)


def _remember(owner: str, text: str) -> None:
    past = _stack(PAST, owner)
    past.append(text)
    del past[:-LONGEST_PAST]
    _stack(FUTURE, owner).clear()


def _travel(source: str, target: str) -> None:
    owner = st.session_state.get(OWNER, "")
    if not (stack := _stack(source, owner)):
        return
    step = stack.pop()
    if not step.startswith(VIEW):
        _stack(target, owner).append(_text(owner))
        _write(owner, step)
        return
    view = dict(parse_qsl(step.removeprefix(VIEW), keep_blank_values=True))
    variant = "~".join(filter(None, (view.get("preset"), view.get("size"))))
    there = f"{view['model']}/{variant}"
    _stack(target, there).append(VIEW + urlencode(st.session_state[SHOWN]))
    st.session_state[CLICK] = urlencode(view)
    if view["page"] != st.session_state[SHOWN]["page"]:
        st.session_state[GO] = {"page": view["page"], "anchor": ""}


def _stack(name: str, owner: str) -> list[str]:
    return st.session_state.setdefault(name, {}).setdefault(owner, [])


def _kept() -> dict[str, str]:
    return st.session_state.setdefault(KEPT, {})


def _text(owner: str) -> str:
    """The changes of one model; those of a link that cannot be read are none."""
    here = st.session_state.get(OWNER) == owner
    text = st.session_state.get(EDITS, "") if here else _kept().get(owner, "")
    try:
        return encode(decode(text))
    except BadLink:
        return ""


def _write(owner: str, text: str) -> None:
    if st.session_state.get(OWNER) == owner:
        st.session_state[EDITS] = text
    else:
        _kept()[owner] = text
