"""Residual and LayerNorm: what is added, why gradients need it, and one row being normed."""

import streamlit as st

from core.view import frame, norm_placement, norm_residual
from core.view import norm_pictures as pictures
from core.view.lesson import Lesson
from core.view.strip import page_link

with frame.page("norm") as view:
    lesson, look = Lesson(view), view.look
    token = pictures.plain(look, look.token)
    parts = norm_residual.additions(look)
    lesson.part("add", anchor="stop-residual", token=token)
    with lesson.of_block():
        lesson.switches("residual")
        for part in parts:
            st.html(norm_residual.added(look, part))
    if parts:
        lesson.matrices("sums", norm_residual.sums(look, parts[0]), follow=True, numbers=True)
        lesson.formula([norm_residual.step(look, part) for part in parts])
    else:
        lesson.elsewhere("no_residual", preset="part-4")
    st.html(page_link(view.state, view.t("stream.follow"), "stream"))
    lesson.part("deep", **norm_residual.depth())
    st.html(norm_residual.gradients(look))
    lesson.say("deep.why", **norm_residual.depth())
    place = pictures.chosen(look) if pictures.norms(look) else ""
    lesson.part(pictures.in_steps(look, place), anchor="stop-norm", token=token)
    if place:
        st.html(pictures.choice(look, place) + pictures.step_by_step(look, place))
        lesson.matrices("learned", pictures.learned(look, place), numbers=True)
        lesson.say("order.says", cls="outcome", order=pictures.order(look, place))
        if each := pictures.each_token(look, place):
            st.html(each)
            lesson.pictures("each", pictures.measures(look, place))
        for i, cuts in enumerate(pictures.boards(look, place)):
            lesson.matrices(f"norm{i}", cuts, follow=True, numbers=True)
        lesson.formula(pictures.steps(look, place))
        lesson.part(pictures.said(look, "along"))
        st.html(pictures.directions(look, place))
    else:
        lesson.elsewhere("no_norm", preset="part-4")
    lesson.part("placement")
    st.html(norm_placement.diagram(look))
    lesson.switches("norm")
    if norm_placement.has_both(look):
        short = lesson.excerpt()
        lesson.say("placement.effect", token=pictures.plain(short, short.token))
        st.html(norm_placement.placements(short))
    else:
        lesson.elsewhere("no_placement", preset="block")
    if place:
        lesson.why(*pictures.questions(look, place), **pictures.facts(look, place))
    lesson.why(pictures.said(look, "rms"), "shapes", "training")
    with st.expander(lesson.text("code")):
        st.code(norm_placement.block_code(), language="python")
    lesson.end()
