"""Scores: raw, scaled, masked and as shares; one row followed; and why each step is there."""

import streamlit as st

from core.view import frame, matrix, scores_masks, scores_page
from core.view.lesson import Lesson

with frame.page("scores") as view:
    lesson, look = Lesson(view), view.look
    if not look.n_layers:
        lesson.elsewhere("missing", preset="block")
    else:
        lesson.part("four")
        cuts = scores_page.chosen(look, view.state, scores_page.four(look))
        lesson.matrices("four", cuts, follow=True)
        if look.n_heads > 1:
            lesson.say("heads", i=str(look.layer), n=look.n_heads)
            matrix.heads(look, scores_page.names(look)[-1])
        lesson.part("followed", token=scores_page.plain(look, look.token))
        st.html(scores_page.followed(look))
        lesson.formula(scores_page.names(look))
        lesson.part("wide")
        st.html(scores_page.saturation(look))
        lesson.say("row.says", token=scores_page.plain(look, look.token))
        st.html(scores_page.this_row(look))
        lesson.part("mask" if look.trace.model.config.causal else "unmasked")
        st.html(scores_masks.masks(look))
        lesson.part("dropout")
        scores_masks.dropout(look, view.state)
        lesson.why("mirror", **scores_page.mirror(look))
        lesson.why("two", **scores_page.counts(look))
        lesson.why("exp")
        lesson.why("buffer")
    lesson.end()
