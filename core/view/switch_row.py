"""The switches of the model beside what they change: one row of links for each."""

from __future__ import annotations

import streamlit as st

from core.changes import choices, chosen
from core.view import engine
from core.view.html import div, esc, para, tag
from core.view.look import Look


@st.cache_data(max_entries=256, show_spinner=False)
def possible(key: str, variant: str, setting: str) -> list[str]:
    """The values that a switch can have in a model, its own among them."""
    return choices(setting, engine.load(key, variant))


def rows(look: Look, *settings: str) -> str:
    """A row for each setting that can be another one in this model; else nothing."""
    drawn = list(filter(None, (_row(look, setting) for setting in settings)))
    return div("switches", *drawn) if drawn else ""


def _row(look: Look, setting: str) -> str:
    t, model = look.t, look.trace.model
    values = possible(model.key, model.variant, setting)
    if len(values) < 2:
        return ""
    own = chosen(setting, engine.load(model.key, model.variant).config)
    compared = look.compared or look.hidden
    now = chosen(setting, (compared.after.model if compared else model).config)
    links = (_link(look, setting, value, value == now, value == own) for value in values)
    name = t(f"switch.{setting}.name")
    row = div("picks", tag("span", esc(name)), *links, role="group", aria_label=name)
    note = t(f"switch.{setting}.says")
    if now != own:
        note = f"{t('switch.own', value=t(f'switch.{setting}.{own}'))} {note}"
    return div("switch-row switched" if now != own else "switch-row", row, para(note, "says"))


def _link(look: Look, setting: str, value: str, here: bool, own: bool) -> str:
    switched = " switched" if here and not own else ""
    return tag(
        "a",
        esc(look.t(f"switch.{setting}.{value}")),
        cls=f"pick here{switched}" if here else "pick",
        aria_current="true" if here else None,
        **look.state.link(do=f"add.{setting}~{value}"),
    )
