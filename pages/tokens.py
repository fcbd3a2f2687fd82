"""Tokens: from the text that was typed to the IDs that the model reads."""

import streamlit as st

from core.view import frame
from core.view.html import esc, para, tag
from core.view.tokens_page import byte_pair, why, words
from core.view.tokens_pictures import is_byte_pair

with frame.page("tokens") as view:
    t = view.t
    st.html(tag("h1", esc(t("tokens.title"))) + para(t("tokens.lead"), "lead"))
    if is_byte_pair(view.model.tokenizer):
        byte_pair(view)
    else:
        words(view)
    st.html(tag("h2", esc(t("tokens.why.title")), cls="ruled") + para(why(view)))
