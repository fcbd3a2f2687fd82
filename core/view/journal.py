"""What is typed into numbers: read from the browser without any trust, applied once and in order.

The browser numbers everything that is typed and sends it until it is acknowledged (see
assets/components/editing/journal.js). Here each number is applied once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakValueDictionary

import streamlit as st

from core.graph import EditError, Ref
from core.models.model import PromptTrace
from core.view import changes

APPLIED = "_journal"  # session: for each client the last number that was applied
TRACES = "_journal_traces"  # session: for each set of changes the trace that was drawn last
MOST_ENTRIES, MOST_CELLS = 500, 4096  # as many cells as a matrix has at most
MOST_CLIENTS = 8
CLIENT = re.compile(r"[a-z0-9]{1,40}")


@dataclass(frozen=True)
class Entry:
    """One thing that was done. cells: elements and their new values, None for the unedited one.

    travel: undo or redo, instead of cells. of: whose changes they are.
    """

    n: int
    travel: str = ""
    of: str = ""
    cells: tuple[tuple[Ref, float | None], ...] = ()


def drawn(trace: PromptTrace) -> str:
    """Remember a trace whose numbers can now be edited; returns whose changes those are."""
    of = changes.identity(trace.model)
    st.session_state.setdefault(TRACES, WeakValueDictionary())[of] = trace
    return of


def is_editable(trace: PromptTrace, name: str) -> bool:
    """Whether elements can be set by hand: weights, and steps that are computed."""
    return name in trace.weights or (name in trace and trace.graph[name].op.editable)


def acknowledged() -> dict[str, int]:
    """For each client the last number that was applied."""
    return dict(st.session_state.get(APPLIED, {}))


def receive(sent: object) -> None:
    """Apply what is new in a journal. For callbacks. Nonsense is passed over, never an error."""
    if not isinstance(sent, dict) or not isinstance(sent.get("list"), list):
        return
    client = sent.get("client")
    if not isinstance(client, str) or not CLIENT.fullmatch(client):
        return
    applied = st.session_state.setdefault(APPLIED, {})
    for entry in sorted(_entries(sent["list"][:MOST_ENTRIES]), key=lambda entry: entry.n):
        if entry.n > applied.get(client, 0):
            _apply(entry)
            applied[client] = entry.n
    while len(applied) > MOST_CLIENTS:
        applied.pop(next(iter(applied)))


def _apply(entry: Entry) -> None:
    if entry.travel:
        (changes.undo if entry.travel == "undo" else changes.redo)()
        return
    trace = st.session_state.get(TRACES, {}).get(entry.of)
    if trace is None:
        return
    try:
        trace.check_edits({ref.name: {ref.index: value or 0.0} for ref, value in entry.cells})
        puts = [(ref, value) for ref, value in entry.cells if value is not None]
        if puts:
            changes.edit_cells(trace, puts)
        if restored := [ref for ref, value in entry.cells if value is None]:
            changes.restore_cells(trace, restored)
    except EditError:  # such an element is no longer there, or never was
        return


def _entries(sent: list) -> Iterator[Entry]:
    """What can be read. A number whose rest is nonsense stands for nothing, but is used up."""
    for one in sent:
        if not isinstance(one, dict) or not _is_index(n := one.get("n")):
            continue
        travel, of = one.get("travel"), one.get("of")
        if travel in ("undo", "redo"):
            yield Entry(n, travel=travel)
        elif isinstance(of, str):
            yield Entry(n, of=of, cells=_cells(one.get("name"), one.get("cells")))
        else:
            yield Entry(n)


def _cells(name: object, sent: object) -> tuple[tuple[Ref, float | None], ...]:
    """All of the cells, or none if one of them is nonsense."""
    if not isinstance(name, str) or not isinstance(sent, list) or len(sent) > MOST_CELLS:
        return ()
    cells = []
    for one in sent:
        if not isinstance(one, list) or len(one) != 2 or not isinstance(one[0], list):
            return ()
        index, value = one
        if not all(map(_is_index, index)) or not (value is None or _is_number(value)):
            return ()
        cells.append((Ref(name, tuple(index)), None if value is None else float(value)))
    return tuple(cells)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_number(value: object) -> bool:
    """Whether it is a number that a float can be; whole ones can be too large for that."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
