"""The list of pages, and the frame around the one that is shown."""

import streamlit as st

from core.view.frame import frame
from core.view.strip import OVERVIEW

PAGES = [
    st.Page("pages/overview.py", title="Overview", default=True),
    st.Page("pages/tokens.py", title="Tokens"),
    st.Page("pages/embedding.py", title="Embedding"),
    st.Page("pages/position.py", title="Position"),
    st.Page("pages/qkv.py", title="Q, K, V"),
    st.Page("pages/scores.py", title="Scores"),
    st.Page("pages/heads.py", title="Heads"),
    st.Page("pages/norm.py", title="LayerNorm and residual"),
    st.Page("pages/mlp.py", title="MLP"),
    st.Page("pages/logits.py", title="Logits"),
    st.Page("pages/sampling.py", title="Sampling"),
    st.Page("pages/generation.py", title="Generation"),
    st.Page("pages/stream.py", title="Residual stream"),
    st.Page("pages/sizes.py", title="Sizes"),
    st.Page("pages/experiments.py", title="Experiments"),
]

page = st.navigation(PAGES, position="hidden")
with frame(page.url_path or OVERVIEW):
    page.run()
