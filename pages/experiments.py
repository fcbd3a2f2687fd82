"""Experiments: ready changes to start with one click, each with a question."""

import streamlit as st

from core.view import experiments, frame

with frame.page("experiments") as view:
    st.html(experiments.intro(view.t) + experiments.cards(view.look))
