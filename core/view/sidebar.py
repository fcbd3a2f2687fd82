"""The sidebar: language, model, text, where we look, and what was changed."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
import torch

from core.models.device import describe_device, use_threads
from core.models.model import Model, PromptTrace
from core.view import (
    change_list,
    changes,
    engine,
    model_choice,
    predict,
    prompt,
    resizing,
    saved,
)
from core.view.compare import SIDES, Comparison
from core.view.engine import Reading
from core.view.html import chip, esc, para, tag
from core.view.look import Look
from core.view.state import State
from core.view.strip import OVERVIEW
from core.view.texts import LANGUAGES, Text, gloss

TOKENS_BEFORE = "_tokens_before"


def sidebar(t: Text, state: State, page: str) -> tuple[str, Reading, Look]:
    """Draw it; return the text, what the model makes of it, and what the pages look at."""
    _brand(t)
    model = model_choice.choose(t, state)
    use_threads(sum(weight.nbytes for weight in model.weights.values()))
    sizes = st.container()
    text, was = prompt.read(state, model)
    changes.begin(state, model)
    if page != OVERVIEW:
        prompt.prompt_box(t)
    reading = engine.read(model, text)
    if model.preset:
        with sizes:
            resizing.controls(t, state, model, reading)
    above = st.container()
    look = _where(t, state, model, reading, _compared(model, reading, was))
    with above:
        change_list.draw(replace(look, compared=look.compared or look.hidden), text, was)
        saved.controls(look, page, text, was)
        if predict.offered(model.key):
            st.html(predict.switch(t, state))
    st.html(para(t("frame.device", device=_device(t, model.device)), "device"))
    return text, reading, look


def _device(t: Text, device: torch.device) -> str:
    """Where the model runs; the names of cards are the same in every language."""
    if device.type != "cpu":
        return describe_device(device)
    n = torch.get_num_threads()
    return t("frame.thread") if n == 1 else t("frame.threads", n=n)


def _compared(model: Model, reading: Reading, was: str) -> Comparison | None:
    """Before and after; None where nothing was changed."""
    edits = st.session_state[changes.EDITS]
    if not was and not edits:
        return None
    before = engine.read(model, was).ids if was else reading.ids
    return engine.compared(model.key, model.variant, reading.ids, before, edits)


def _brand(t: Text) -> None:
    """Whose page it is, and in which language: at the top, where nobody has to look for it."""
    with st.container(key="brand", horizontal=True, vertical_alignment="center"):
        st.html(tag("b", "Ripple"))
        st.segmented_control(
            t("frame.language"),
            list(LANGUAGES),
            key="lang",
            required=True,
            format_func=LANGUAGES.get,
            persist_state="session",
            label_visibility="collapsed",
        )
    st.html(para(t("frame.tagline"), "aside"))


def _where(
    t: Text, state: State, model: Model, reading: Reading, compared: Comparison | None
) -> Look:
    """Where we look: block, head and token, with sliders for those of which there are several."""
    side = state.choice("side", SIDES, SIDES[0]) if compared else SIDES[0]
    hidden = compared if predict.hides(state, compared) else None
    if hidden is not None:
        compared, side = None, "before"
    trace = hidden.before if hidden else _shown(model, reading, compared, side)
    n, config = len(trace), trace.model.config
    if st.session_state.get("token") == st.session_state.get(TOKENS_BEFORE, 0) - 1:
        state.put("token", n - 1)  # whoever looks at the last token goes on looking at the last
    st.session_state[TOKENS_BEFORE] = n
    sizes = {"layer": config.n_layers, "head": config.n_heads, "token": n}
    if not config.n_layers:
        del sizes["head"]
    defaults = {"token": n - 1}
    picked = {
        key: state.index(key, max(size, 1), defaults.get(key, 0)) for key, size in sizes.items()
    }
    st.html(tag("h2", esc(t("frame.where")), cls="group"))
    for key, size in sizes.items():
        if size > 1:
            st.slider(t(f"frame.{key}"), 0, size - 1, key=key, persist_state="session")
    token, place = trace.tokens[picked["token"]], picked["token"]
    st.html(chip(token, place, place, title=gloss(t, token) or None))
    where = picked["layer"], picked.get("head", 0), picked["token"]
    return Look(t, trace, state, *where, compared, side, hidden)


def _shown(model: Model, reading: Reading, compared: Comparison | None, side: str) -> PromptTrace:
    if compared is None:
        return engine.trace(model.key, model.variant, reading.ids)
    return compared.before if side == "before" else compared.after
