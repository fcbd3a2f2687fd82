"""Heads: the weighted sum, all heads beside each other, and how W_O mixes them."""

import streamlit as st

from core.view import frame, heads_page, matrix
from core.view.lesson import Lesson

with frame.page("heads") as view:
    lesson, look = Lesson(view), view.look
    if not look.n_layers:
        lesson.elsewhere("missing", preset="block")
    else:
        steps = [heads_page.step(look, name) for name in ("heads", "concat", "out")]
        token, config = heads_page.token_here(look), look.trace.model.config
        lesson.part("sum", token=token)
        st.html(heads_page.weighted_sum(look))
        lesson.say("product.says")
        lesson.matrices("product", heads_page.product(look), follow=True)
        lesson.part("concat", n=look.n_heads, token=token)
        if look.n_heads > 1:
            matrix.heads(look, heads_page.step(look, "weights"))
        else:
            lesson.elsewhere("single", preset="part-3")
        st.html(heads_page.side_by_side(look))
        lesson.part("wo", anchor="stop-wo", token=token)
        st.html(heads_page.mixed(look))
        lesson.matrices("mixing", heads_page.mixing(look), follow=True)
        lesson.formula(steps)
        lesson.part("shape", joined=config.n_heads * config.d_head, d_model=config.d_model)
        st.html(heads_page.shapes(look))
        lesson.part("one", n=look.n_heads)
        st.html(heads_page.one_projection(look))
        with st.expander(view.t("lesson.code")):
            st.code(heads_page.both_ways(), language="python")
        for why in ("roles", "line", "divide", "contiguous"):
            lesson.why(why)
    lesson.end()
