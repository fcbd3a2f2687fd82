"""The model card: a model's few numbers, taken from a well-known one and changed at will."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from core import sizes
from core.models.config import Config
from core.view import engine, model_names
from core.view.frame import View
from core.view.html import div, para, picks
from core.view.state import State

CARD = "card"
CURRENT, BUNDLED = "current", "bundled"
# What can be changed, and up to where.
NUMBERS = {
    "n_layers": 1_000,
    "d_model": 100_000,
    "n_heads": 1_000,
    "n_kv_heads": 1_000,
    "d_head": 10_000,
    "d_mlp": 1_000_000,
    "n_vocab": 10_000_000,
    "n_ctx": 10_000_000,
}
SWITCHES = ("tied", "gated")
SEEN = "_card_seen"  # session: the card whose numbers are in the fields


def cards(view: View) -> dict[str, Config]:
    """The cards by key: the model that is looked at, the bundled one, the published ones."""
    found = {CURRENT: view.model.config}
    if BUNDLED in engine.entries() and view.model.key != BUNDLED:
        found[BUNDLED] = engine.load(BUNDLED, "").config
    return found | dict(sizes.CARDS)


def choose(view: View) -> tuple[str, Config]:
    """Draw the choice of card and its fields; return what it is called and its config.

    Numbers that no model can have are said, and the card is taken as it was published.
    """
    t, state, known = view.t, view.state, cards(view)
    key = state.choice(CARD, list(known), "GPT-2 small")
    links = ((title(view, name), name == key, state.link(card=name)) for name in known)
    st.html(picks(t("sizes.card.choose"), links))
    config = known[key]
    _follow(state, key, config)
    with st.container(key="card_numbers", horizontal=True, gap="small"):
        wanted = {name: _number(view, config, name, most) for name, most in NUMBERS.items()}
    with st.container(key="card_switches", horizontal=True, gap="medium"):
        wanted |= {name: _switch(view, config, name) for name in SWITCHES}
    own = all(getattr(config, name) == value for name, value in wanted.items())
    if own:
        return key, config
    if why := _impossible(config, wanted):
        says = para(t(f"sizes.card.{why}", **wanted)) + para(t("sizes.card.as_published"))
        st.html(div("notice", says, role="alert"))
        return key, config
    return key, replace(config, **wanted)


def title(view: View, key: str) -> str:
    """What a card is called."""
    if key == CURRENT:
        return view.t("sizes.card.current", name=model_names.title(view.t, view.model.key))
    return view.t(f"models.{BUNDLED}.title") if key == BUNDLED else key


def _impossible(config: Config, wanted: Mapping[str, int]) -> str:
    """Why no model can have these numbers, as a text's key; "" if one can."""
    if wanted["n_heads"] % wanted["n_kv_heads"]:
        return "uneven"
    return "odd" if config.position == "rotary" and wanted["d_head"] % 2 else ""


def _follow(state: State, key: str, config: Config) -> None:
    """The fields of another card begin with its numbers."""
    before = st.session_state.get(SEEN)
    st.session_state[SEEN] = (key, config)
    if before in (None, (key, config)):
        return
    for name in (*NUMBERS, *SWITCHES):
        if _field(name) not in state.asked:
            state.put(_field(name), _value(config, name))


def _field(name: str) -> str:
    return f"c_{name}"


def _value(config: Config, name: str) -> int | str:
    value = getattr(config, name)
    return value if name in NUMBERS else "yes" if value else "no"


def _number(view: View, config: Config, name: str, most: int) -> int:
    least = 0 if name in ("n_layers", "d_mlp") else 1
    own = _value(config, name)
    value = view.state.number(_field(name), least, max(most, own), own, whole=True)
    st.number_input(
        name,
        least,
        max(most, own),
        key=_field(name),
        help=view.t(f"sizes.card.help.{name}"),
        persist_state="session",
        width=170,
    )
    return int(value)


def _switch(view: View, config: Config, name: str) -> bool:
    options = {"yes": True, "no": False}
    value = view.state.choice(_field(name), list(options), _value(config, name))
    st.segmented_control(
        view.t(f"sizes.card.{name}"),
        list(options),
        key=_field(name),
        required=True,
        format_func=lambda option: view.t(f"sizes.card.{option}"),
        persist_state="session",
    )
    return options[value]
