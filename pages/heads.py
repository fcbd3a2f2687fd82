"""Heads: the weighted sum, all heads beside each other, and how W_O mixes them."""

import streamlit as st

from core.view import frame, interventions, matrix
from core.view import heads_pictures as pictures
from core.view.lesson import Lesson

with frame.page("heads") as view:
    lesson, look = Lesson(view), view.look
    if not look.n_layers:
        lesson.elsewhere("missing", preset="block")
    else:
        steps = [pictures.step(look, name) for name in ("heads", "concat", "out")]
        words = pictures.words(look)
        lesson.part("sum", **words)
        with lesson.of_block():
            st.html(pictures.weighted_sum(look))
            lesson.say("product.says")
            lesson.matrices("product", pictures.product(look), follow=True, numbers=True)
        lesson.part("concat", **words)
        lesson.switches("heads")
        if look.n_heads > 1:
            matrix.heads(look, pictures.step(look, "weights"))
        else:
            lesson.elsewhere("single", preset="part-3")
        st.html(pictures.side_by_side(look))
        lesson.without(*interventions.of_heads(look))
        lesson.part("wo", anchor="stop-wo", **words)
        st.html(pictures.mixed(look))
        lesson.matrices("mixing", pictures.mixing(look), follow=True, numbers=True)
        lesson.formula(steps)
        lesson.part("shape", **words)
        st.html(pictures.shapes(look))
        lesson.part("one", **words)
        st.html(pictures.one_projection(look))
        lesson.say("one.choose", i=str(look.head))
        lesson.matrices("one", pictures.of_one_head(look), follow=True, numbers=True)
        with st.expander(view.t("lesson.code")):
            st.code(pictures.both_ways(), language="python")
        lesson.why("roles", "line", "divide", "contiguous")
    lesson.end()
