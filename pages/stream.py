"""Residual stream: one token's belt through all blocks, and who pushed the predicted word."""

import streamlit as st

from core.analysis.residual import NotDefined, journey
from core.view import frame, interventions, logits_pictures, stream_pushes
from core.view import stream_pictures as pictures
from core.view.html import number, para, shown, tiny
from core.view.lesson import Lesson


def belt(lesson, view, look, stages):
    token = shown(look.trace.tokens[look.token])
    lesson.part("belt", token=token, n=view.model.config.d_model)
    if any(stage.replaces for stage in stages):
        lesson.elsewhere("replaced", preset="block")
    st.html(pictures.belt(look, stages))
    lesson.pictures("belt", pictures.steps(stages))
    lesson.without(*interventions.of_block(look))
    lesson.say("numbers.says", token=token, block=str(look.layer))
    if (wide := view.model.config.d_model) > pictures.NUMBERS:
        lesson.say("numbers.some", n=pictures.NUMBERS, wide=wide, token=token)
    lesson.matrices("block", pictures.cuts(look, stages))
    lesson.formula([name for name in look.trace.steps if name in pictures.adds(look)])


def lengths(lesson, look, stages):
    lesson.part("lengths")
    st.html(pictures.lengths(look, stages))
    lesson.say("lengths.most", **pictures.largest(look, stages))


def who(lesson, look):
    found = logits_pictures.candidates(look)
    rank = logits_pictures.chosen(look, found)
    against = stream_pushes.compared(look, found, rank)
    one, other = found[rank], None if against is None else found[against]
    names = {"token": shown(one.text), "other": shown(other.text) if other else ""}
    lesson.part("pushes", after=shown(look.trace.tokens[look.token]))
    others = stream_pushes.choice(look, found, rank, against)
    st.html(logits_pictures.choice(look, found, rank) + others)
    result = stream_pushes.pushes(look, one, other)
    lesson.say("pushes.difference" if other else "pushes.logit", **names)
    st.html(stream_pushes.waterfall(look, result) + stream_pushes.kinds(look, result))
    if other:
        times = stream_pushes.times(one, other)
        lesson.say("pushes.times", **names, total=number(result.total), x=times)
    if halves := stream_pushes.halves(look, result):
        st.html(para(halves, "says"))
    lesson.say("pushes.error" if result.error else "pushes.exact", error=tiny(result.error))


with frame.page("stream") as view:
    lesson, look = Lesson(view), view.look
    try:
        stages = journey(look.trace, look.token)
        if stages:
            belt(lesson, view, look, stages)
            lengths(lesson, look, stages)
        else:
            lesson.elsewhere("none", preset="block")
        who(lesson, look)
        lesson.why("why_add", "why_exact", "why_layers")
    except NotDefined:
        lesson.elsewhere("undefined", preset="block")
    lesson.end()
