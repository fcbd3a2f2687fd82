"""In which numbers a model is computed: float32, or bfloat16 where there is a graphics card."""

from __future__ import annotations

import streamlit as st

from core.models.device import pick_device
from core.view.html import para
from core.view.state import State
from core.view.texts import Text

PRECISION, EXACT, ROUGH = "precision", "float32", "bfloat16"


def chosen(state: State) -> str:
    """What the link or the session says."""
    return state.choice(PRECISION, (EXACT, ROUGH), EXACT)


def control(t: Text) -> None:
    """The choice, where it saves time: a processor is no faster with shorter numbers.

    Whoever came by a link to bfloat16 finds the way back everywhere.
    """
    rough = st.session_state[PRECISION] == ROUGH
    if pick_device().type == "cpu" and not rough:
        return
    st.selectbox(
        t("precision.label"),
        (EXACT, ROUGH),
        key=PRECISION,
        persist_state="session",
        format_func=lambda name: t(f"precision.{name}"),
    )
    if rough:
        st.html(para(t("precision.says"), "aside"))
