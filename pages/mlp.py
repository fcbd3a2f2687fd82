"""MLP: each token by itself, wider, through a curve, and back."""

import streamlit as st

from core.analysis import mlp
from core.view import frame, mlp_curve, mlp_more, mlp_page
from core.view.html import number, shown
from core.view.lesson import Lesson
from core.view.stripes import tiny

PRESETS = {"preset": "part-4-mlp"}


def steps(lesson, view, look):
    config = view.model.config
    here = {"token": shown(look.trace.tokens[look.token]), "block": str(look.layer)}
    lesson.part("steps", **here, small=config.d_model, wide=config.d_mlp)
    if not config.norms and "attn" not in config.residual:
        lesson.say("raw.says")
    st.html(mlp_page.glass(look))
    lesson.pictures("glass", mlp_page.steps(look))
    lesson.formula(mlp_page.steps(look)[1:])


def curve(lesson, view, look):
    token, activation = shown(look.trace.tokens[look.token]), view.model.config.activation
    lesson.part("curve", curve=mlp_page.CURVES[activation])
    values = mlp_page.values_before_curve(look)
    many = len(values) > mlp_curve.FEW
    figure = mlp_curve.figure(view.t, activation, values, look.token, token)
    st.html(mlp_curve.legend(view.t, activation, look.token, token, many))
    st.plotly_chart(figure, key="mlp.curve", config={"displayModeBar": False})
    count = mlp_curve.silenced(look)
    if count["negative"]:
        lesson.say("curve.dead", n=count["negative"], total=count["total"], token=token)
    if count["always"]:
        lesson.say("curve.always", n=count["always"])
    if not many:
        st.html(mlp_curve.table(look))
    gap = mlp_curve.tanh_gap()
    lesson.say("curve.gap", z=number(gap.z), size=number(gap.size, 5))


def one_matrix(lesson, view, look):
    lesson.part("one")
    if view.model.config.gated:
        lesson.say("one.gated")
        return
    found = mlp.without_curve(look.trace, look.layer, look.token)
    st.html(mlp_more.one_matrix(look, found))
    sizes = {"difference": tiny(found.difference), "curve": number(found.curve)}
    lesson.say("one.same" if found.difference else "one.same_exactly", **sizes)


def alone(lesson, view, look):
    lesson.part("alone")
    token, total = shown(look.trace.tokens[look.token]), view.model.config.d_mlp
    if total > mlp_more.BUSIEST:
        lesson.say("alone.busiest", n=mlp_more.BUSIEST, total=total, token=token)
    lesson.matrices("all", mlp_more.cuts(look), follow=True)
    other = mlp_more.other_token(look)
    if other is None:
        lesson.say("alone.single")
        return
    lesson.say("alone.test")
    st.html(mlp_more.choose_other(look, other) + mlp_more.alone(look, other))


with frame.page("mlp") as view:
    lesson, look = Lesson(view), view.look
    if look.n_layers and view.model.config.d_mlp:
        steps(lesson, view, look)
        curve(lesson, view, look)
        one_matrix(lesson, view, look)
        alone(lesson, view, look)
        lesson.part("memory", n=mlp_more.NEURONS, token=shown(look.trace.tokens[look.token]))
        st.html(mlp_more.memory(look))
        lesson.pictures("memory", mlp_page.steps(look)[-2:-1])
        lesson.say("memory.note")
        lesson.part("size_part", numbers=mlp_page.gpt3_mlp())
        st.html(mlp_page.sizes(look))
        lesson.why("why_wide")
        lesson.why("why_gelu", flat=number(mlp_curve.flat_at()))
        lesson.why("why_share")
        lesson.why("why_dropout")
    else:
        lesson.elsewhere("none", **PRESETS)
    lesson.end()
