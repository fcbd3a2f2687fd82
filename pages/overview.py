"""Overview: a text goes in, every step of the model is seen, the next token comes out."""

import streamlit as st

from core.view import frame, prompt
from core.view.engine import drawn
from core.view.html import div, esc, para, tag
from core.view.overview_belt import belt_section
from core.view.overview_candidates import next_section
from core.view.overview_path import path_section
from core.view.overview_ripple import ripple_section

EXAMPLES = ("truth", "happy", "korean")

with frame.page("overview") as view:
    t = view.t
    st.html(tag("h1", esc(t("overview.title")), id="stop-text") + para(t("overview.lead"), "lead"))
    with st.container(key="ask", horizontal=True, vertical_alignment="center"):
        prompt.prompt_box(t, label_visibility="collapsed")
        st.button(t("overview.show"), type="primary", key="show")
    frame.examples(view, EXAMPLES)
    ripple_section(view.look)
    st.html(div("overview", belt_section(view.look), next_section(view.look)))
    st.html(drawn("path", view.identity, lambda: path_section(view.look)))
