"""What this visitor changed: kept for each model in the session, and in the address.

The session is the truth; the address follows it like everything else (see `state`). Every change
is one step that can be undone. Changes of one model wait while another one is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import streamlit as st

from core.changes import BadLink, Changes, Patch, Put, Switch, chosen, decode, encode
from core.graph import EditError, Ref
from core.models.model import Model, PromptTrace
from core.view.state import State

EDITS = "edits"  # session and address: the changes of the model that is shown
OWNER, KEPT = "_edits_of", "_edits_kept"  # session: whose they are; those of other models
PAST, FUTURE = "_edits_past", "_edits_future"
LONGEST_PAST = 200


def identity(model: Model) -> str:
    """What tells one set of changes from another."""
    return f"{model.key}/{model.preset or ''}"


def begin(state: State, model: Model) -> Changes:
    """The changes in this run: what a link asks for, else what the session has for the model.

    A link that cannot be read is said in a notice, and nothing is changed.
    """
    owner = identity(model)
    before = _text(owner)
    if st.session_state.get(OWNER) != owner:
        _kept()[st.session_state.get(OWNER, "")] = st.session_state.get(EDITS, "")
        st.session_state[EDITS], st.session_state[OWNER] = before, owner
    text = state.text(EDITS, "")
    try:
        found = decode(text)
    except BadLink as error:
        state.say(f"changes.link.{error.kind}")
        st.session_state[EDITS], found = "", Changes()
    if before and text != before:  # what a link replaces can be had back
        _remember(owner, before)
    return _do(state.asked.get("do", ""), model, found)


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


def can_undo() -> bool:
    return bool(_stack(PAST, st.session_state.get(OWNER, "")))


def can_redo() -> bool:
    return bool(_stack(FUTURE, st.session_state.get(OWNER, "")))


def _do(action: str, model: Model, found: Changes) -> Changes:
    """What a clicked link of the list or of a switch asks for, as `drop.3` or `add.scaled~off`.

    Nonsense does nothing.
    """
    verb, _, rest = action.partition(".")
    owner = identity(model)
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 6 else -1
    if verb == "undo":
        undo()
    elif verb == "redo":
        redo()
    elif verb == "reset":
        _update(owner, lambda changes: Changes())
    elif verb == "drop" and 0 <= number < len(found):
        _update(owner, lambda changes: changes.without(number))
    elif verb == "flip" and 0 <= number < len(found):
        _update(owner, lambda changes: changes.toggled(number))
    elif verb == "add":
        try:
            new = decode(f"v1~~{rest}")
        except BadLink:
            return found
        _update(owner, lambda changes: _without_own(changes.with_entries(new.entries), model))
    return decode(_text(owner))


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
    if stack := _stack(source, owner):
        _stack(target, owner).append(_text(owner))
        _write(owner, stack.pop())


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
