"""Scores: raw, scaled, masked and as shares; one row followed; and why each step is there."""

import streamlit as st

from core.view import frame, matrix, scores_masks
from core.view import scores_pictures as pictures
from core.view.lesson import Lesson

with frame.page("scores") as view:
    lesson, look = Lesson(view), view.look
    if not look.n_layers:
        lesson.elsewhere("missing", preset="block")
    else:
        lesson.part("four")
        with lesson.of_block():
            lesson.switches("scaled", "mask")
            cuts = pictures.chosen(look, "matrix", pictures.four(look), "four.choose")
            lesson.matrices("four", list(cuts.values()), follow=True)
            if look.n_heads > 1:
                lesson.say("heads", i=str(look.layer), n=look.n_heads)
                matrix.heads(look, pictures.names(look)[-1])
        lesson.part("followed", token=pictures.plain(look, look.token))
        st.html(pictures.followed(look))
        lesson.formula(pictures.names(look))
        lesson.part("wide")
        st.html(pictures.saturation(look))
        lesson.say("row.says", token=pictures.plain(look, look.token))
        st.html(pictures.this_row(look))
        key, values = pictures.row_note(look)
        lesson.say(key, **values)
        lesson.part("mask" if look.trace.model.config.causal else "unmasked")
        scores_masks.masks(lesson)
        lesson.part("dropout")
        scores_masks.dropout(lesson)
        key, values = pictures.mirror(look)
        lesson.why(key, **values)
        lesson.why("two", **pictures.counts(look))
        lesson.why("exp", "buffer")
    lesson.end()
