"""The size of the worked example: chosen in the sidebar, kept for each preset, in every link."""

from __future__ import annotations

import streamlit as st

from core.models.config import ConfigError
from core.models.example_size import LIMITS, read, write
from core.models.model import Model
from core.models.worked_example import other_sizes, settings
from core.view.engine import Reading
from core.view.html import div, esc, para, tag
from core.view.state import State
from core.view.texts import Text

SIZE = "size"  # session and address
OWNER, KEPT = "_size_of", "_size_kept"  # session: whose it is; those of the other presets


def chosen(state: State, preset: str) -> str:
    """The size in this run: what a link asks for, else what the session has for the preset.

    A link to a preset that names no size means the preset's own.
    """
    if st.session_state.get(OWNER) != preset:
        kept = st.session_state.setdefault(KEPT, {})
        kept[st.session_state.get(OWNER, "")] = st.session_state.get(SIZE, "")
        st.session_state[SIZE], st.session_state[OWNER] = kept.get(preset, ""), preset
    if "preset" in state.asked and SIZE not in state.asked:
        state.put(SIZE, "")
    asked = state.text(SIZE, "")
    try:
        size = write(other_sizes(preset, asked))
    except ConfigError:
        state.say("size.link")
        size = ""
    state.put(SIZE, size)
    return size


def controls(t: Text, state: State, model: Model, reading: Reading) -> None:
    """Folded: every size with one step less and one more."""
    rows = [_row(t, state, model, name) for name in LIMITS]
    rows.insert(0, _tokens(t, state, model, reading))
    with st.expander(t("size.title")):
        st.html(div("sizes", *rows) + para(t("size.new"), "aside"))
    if model.size:
        back = tag("a", esc(t("size.own")), cls="pill", **state.link(size=""))
        names = ", ".join(f"{t(f'size.{name}')} {n}" for name, n in read(model.size).items())
        st.html(div("sized", para(t("size.other", sizes=names), "aside"), back))


def _row(t: Text, state: State, model: Model, name: str) -> str:
    """One size: less, how much it is, more."""
    now, own = getattr(model.config, name), settings(model.preset)[name]
    links = []
    for step in (-1, 1):
        sizes = read(model.size) | {name: now + step}
        inside = LIMITS[name][0] <= now + step <= LIMITS[name][1]
        goal = state.link(size=write({n: k for n, k in sizes.items() if (n, k) != (name, own)}))
        links.append(goal if inside else None)
    return _stepper(t, t(f"size.{name}"), now, *links)


def _tokens(t: Text, state: State, model: Model, reading: Reading) -> str:
    """How long the text is: without its last word, or with the next word of the list."""
    ids, decode = reading.ids, model.tokenizer.decode
    less = state.link(prompt=decode(ids[:-1])) if len(ids) > 1 else None
    longer = [*ids, (ids[-1] + 1) % model.config.n_vocab]
    more = state.link(prompt=decode(longer)) if len(ids) < model.config.n_ctx else None
    return _stepper(t, t("size.tokens"), len(ids), less, more)


def _stepper(t: Text, name: str, now: int, less: dict | None, more: dict | None) -> str:
    ends = [
        tag("a", sign, cls="step", aria_label=t(f"size.{key}", what=name), **goal)
        if goal
        else tag("span", sign, cls="step", aria_disabled="true")
        for sign, key, goal in (("−", "less", less), ("+", "more", more))
    ]
    return div("size", tag("span", esc(name)), ends[0], tag("b", str(now)), ends[1])
