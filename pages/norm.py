"""Residual and LayerNorm: what is added, why gradients need it, and one row being normed."""

import streamlit as st

from core.view import frame, norm_page, placement_page, residual_page
from core.view.lesson import Lesson
from core.view.strip import page_link

with frame.page("norm") as view:
    lesson, look = Lesson(view), view.look
    token = norm_page.plain(look, look.token)
    parts = residual_page.additions(look)
    lesson.part("add", anchor="stop-residual", token=token)
    for part in parts:
        st.html(residual_page.added(look, part))
    if parts:
        lesson.matrices("sums", residual_page.sums(look, parts[0]), follow=True)
        lesson.formula([residual_page.PLACES[part] for part in parts])
    else:
        lesson.elsewhere("no_residual", preset="part-4")
    st.html(page_link(view.state, view.t("stream.follow"), "stream"))
    lesson.part("deep", **residual_page.depth())
    st.html(residual_page.gradients(look))
    lesson.say("deep.why", **residual_page.depth())
    lesson.part("steps", anchor="stop-norm", token=token)
    if norm_page.norms(look):
        place = norm_page.choose(look, view.state)
        st.html(norm_page.step_by_step(look, place))
        lesson.say("order.says", cls="outcome", order=norm_page.order(look, place))
        for i, cuts in enumerate(norm_page.boards(look, place)):
            lesson.matrices(f"norm{i}", cuts, follow=True)
        lesson.formula(norm_page.steps(look, place))
        lesson.part("along")
        st.html(norm_page.directions(look, place))
    else:
        lesson.elsewhere("no_norm", preset="part-4")
    lesson.part("placement")
    st.html(placement_page.diagram(look))
    if placement_page.has_both(look):
        lesson.say("placement.effect", token=token)
        st.html(placement_page.placements(look))
    else:
        lesson.elsewhere("no_placement", preset="block")
    if norm_page.norms(look):
        facts = norm_page.facts(look, place)
        for why in ("zero", "biased", "eps", "learned"):
            lesson.why(why, **facts)
    lesson.why("rms")
    lesson.why("shapes")
    lesson.why("training")
    with st.expander(lesson.text("code")):
        st.code(placement_page.block_code(), language="python")
    lesson.end()
