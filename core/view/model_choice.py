"""The choice of a model: those that are here, and the variants of the worked example."""

from __future__ import annotations

import streamlit as st

from core.models import catalogue
from core.models.catalogue import ModelEntry
from core.models.checkpoint import CheckpointError
from core.models.model import Model
from core.view import engine, host, model_more, precision, resizing
from core.view.html import para
from core.view.model_names import says, title, why_not
from core.view.state import State
from core.view.texts import Text

MODEL, PRESET = "model", "preset"
HAD = "_model_had"  # session: the last model that could be shown


def choose(t: Text, state: State) -> Model:
    """Draw the choice; return the model. One that cannot be had leaves the one there was."""
    here = engine.entries()
    model_more.greet(t, state, here)
    offered = _offered(t, state, here)
    first = next(iter(here))
    key = state.choice(MODEL, offered, first)
    try:
        model = _load(state, key, here)
    except CheckpointError as error:
        state.say("link.as_is", says=why_not(t, error))
        offered.remove(key)
        model_more.forget(key)
        key = st.session_state.get(HAD, first)
        state.put(MODEL, key)
        model = _load(state, key, here)
    st.session_state[HAD] = key
    _draw(t, state, model, offered, here)
    return model


def _offered(t: Text, state: State, here: dict[str, ModelEntry]) -> list[str]:
    """The models to choose among; a link may add a path, for whoever may look at paths.

    One that the catalogue has and that is not here leads to a notice instead.
    """
    asked = state.asked.get(MODEL)
    if asked and asked not in here:
        may_add = host.may_add_models()
        if (entry := catalogue.entry(asked)) is not None:
            fetchable = may_add and entry.download
            state.say("link.not_here" if fetchable else "link.not_here_yet", model=title(t, asked))
            state.asked = {key: value for key, value in state.asked.items() if key != MODEL}
        elif may_add and catalogue.is_path(asked):
            model_more.remember(asked)
    return [*here, *model_more.paths()]


def _load(state: State, key: str, here: dict[str, ModelEntry]) -> Model:
    """The model, in the variant that the link or the session says. Raises CheckpointError."""
    presets = here[key].presets if key in here else ()
    if not presets:
        rough = precision.chosen(state) == precision.ROUGH
        return engine.load(key, precision.ROUGH if rough else "")
    preset = state.choice(PRESET, presets, "block" if "block" in presets else presets[0])
    return engine.load(key, "~".join(filter(None, (preset, resizing.chosen(state, preset)))))


def _draw(
    t: Text, state: State, model: Model, offered: list[str], here: dict[str, ModelEntry]
) -> None:
    st.selectbox(
        t("frame.model"),
        offered,
        key=MODEL,
        persist_state="session",
        format_func=lambda key: title(t, key),
    )
    if model.preset:
        st.selectbox(
            t("frame.preset"),
            here[model.key].presets,
            key=PRESET,
            persist_state="session",
            format_func=lambda name: t(f"presets.{name}"),
        )
    elif precision.PRECISION in state.defaults:
        precision.control(t)
    st.html("".join(para(line, "aside") for line in says(t, model)))
    model_more.draw(t)
