"""MLP: each token by itself, wider, through a curve, and back."""

import streamlit as st

from core.analysis import mlp
from core.models.gpt import CURVES
from core.view import (
    frame,
    interventions,
    mlp_curve,
    mlp_experiments,
    mlp_one_matrix,
    mlp_zoom,
    window,
)
from core.view import mlp_pictures as pictures
from core.view.html import number, shown, tiny
from core.view.lesson import Lesson
from core.view.unfold import unfold


def steps(lesson, view, look):
    config = view.model.config
    here = {"token": shown(look.trace.tokens[look.token]), "block": str(look.layer)}
    lesson.part(pictures.said(look, "steps"), **here, small=config.d_model, wide=config.d_mlp)
    with lesson.of_block():
        if not config.norms and "attn" not in config.residual:
            lesson.say("raw.says")
        st.html(pictures.glass(look))
    lesson.pictures("glass", pictures.steps(look))
    learned(lesson, look)
    lesson.without(*interventions.of_mlp(look))
    lesson.formula(pictures.steps(look)[1:])


def learned(lesson, look):
    """The learned numbers, to be read and changed; those of a wide model when asked for."""
    cuts = pictures.learned(look)
    if not any(window.is_large(cut, numbers=True) for cut in cuts):
        lesson.matrices("learned", cuts)
        return
    names = ", ".join(cut.title for cut in cuts)
    folded = unfold(lesson.text("learned", names=names), "mlp.unfolded")
    if folded.open:
        with folded:
            lesson.matrices("learned", cuts, numbers=True)


def curve(lesson, view, look):
    token, activation = shown(look.trace.tokens[look.token]), view.model.config.activation
    lesson.part(pictures.said(look, "curve"), curve=CURVES[activation])
    lesson.switches("activation")
    many = view.model.config.d_mlp > mlp_curve.FEW
    st.html(mlp_curve.legend(view.t, activation, look.token, token, many))
    mlp_curve.draw(look, "mlp.curve")
    lesson.pictures("curve", [mlp_curve.after(look)])
    count = mlp_curve.silenced(look)
    if count["negative"]:
        lesson.say("curve.dead", n=count["negative"], total=count["total"], token=token)
    if count["always"]:
        lesson.say("curve.always", n=count["always"])
    if not many:
        st.html(mlp_curve.table(look))
    if not mlp_curve.is_gelu(activation):
        return
    gap = mlp_curve.tanh_gap()
    lesson.say("curve.gap", z=number(gap.z), size=number(gap.size, 5))
    zoom = unfold(lesson.text("zoom.asks"), "mlp.zoom")
    if zoom.open:
        with zoom:
            lesson.say("zoom.says")
            mlp_zoom.draw(view.t)


def one_matrix(lesson, view, look):
    lesson.part(pictures.said(look, "one"))
    if view.model.config.gated:
        return
    found = mlp.without_curve(look.trace, look.layer, look.token)
    at = mlp_one_matrix.chosen(look, found)
    lesson.matrices("one", [mlp_one_matrix.cut(look, found)], chosen=at)
    st.html(mlp_one_matrix.entry(look, at))
    lesson.pictures("entry", [f"blocks.{look.layer}.mlp.{name}" for name in ("W_1", "W_2")])
    st.html(mlp_one_matrix.ways(look, found))
    sizes = {"difference": tiny(found.difference), "curve": number(found.curve)}
    lesson.say("one.same" if found.difference else "one.same_exactly", **sizes)


def alone(lesson, view, look):
    lesson.part(pictures.said(look, "alone"))
    token, total = shown(look.trace.tokens[look.token]), view.model.config.d_mlp
    if total > mlp_experiments.FEW:
        lesson.say("alone.all", total=total, token=token)
    lesson.matrices("all", mlp_experiments.cuts(look), follow=True, numbers=True)
    other = mlp_experiments.other_token(look)
    if other is None:
        lesson.say("alone.single")
        return
    lesson.say("alone.test")
    st.html(mlp_experiments.choose_other(look, other) + mlp_experiments.alone(look, other))


with frame.page("mlp") as view:
    lesson, look = Lesson(view), view.look
    if look.n_layers and view.model.config.d_mlp:
        steps(lesson, view, look)
        curve(lesson, view, look)
        one_matrix(lesson, view, look)
        alone(lesson, view, look)
        here = shown(look.trace.tokens[look.token])
        lesson.part(pictures.said(look, "memory"), n=mlp_experiments.NEURONS, token=here)
        st.html(mlp_experiments.memory(look))
        lesson.pictures("memory", pictures.steps(look)[-2:-1])
        lesson.say("memory.note")
        lesson.part("size_part", numbers=pictures.gpt3_mlp())
        st.html(pictures.sizes(look))
        kind = "silu" if view.model.config.activation == "silu" else "gelu"
        whys = "why_wide", f"why_{kind}", "why_share", "why_dropout"
        lesson.why(*whys, flat=number(mlp_curve.flat_at(kind)))
    else:
        lesson.elsewhere("none", preset="part-4-mlp")
    lesson.end()
