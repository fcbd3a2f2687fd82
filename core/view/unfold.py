"""Folded parts of a page whose content is drawn only once somebody unfolds them."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

LABELS = "_unfold_labels"  # session: what each part was called in the run before


def unfold(label: str, key: str) -> ExpanderContainer:
    """A part whose `open` says whether to draw what it holds.

    To Streamlit a part with another label is another one, folded. So that it stays as it is when
    the language changes, its state is then set anew.
    """
    labels = st.session_state.setdefault(LABELS, {})
    if key in st.session_state and labels.get(key) != label:
        st.session_state[key] = st.session_state[key]
    labels[key] = label
    return st.expander(label, key=key, on_change="rerun")
