"""The parts of the Position page that depend on the model."""

from __future__ import annotations

import streamlit as st

from core.graph.ops import Interpolation, Stretch
from core.view import matrix, rotation, window
from core.view import position_kinds as drawn
from core.view import position_pictures as pictures
from core.view.html import div, para, shown, tiny
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.strip import page_link

# By how a model says where a token stands: the texts that begin the page and its experiment.
LEADS = {"added": "lead", "turned": "lead_turned", "none": "lead_none"}
ORDERS = {"added": "order", "turned": "order_turned", "none": "order_none"}


def way(look: Look) -> str:
    """How this model says where a token stands."""
    if rotation.turns(look):
        return "turned"
    return "added" if "embed.position" in look.trace else "none"


def turn(lesson: Lesson) -> None:
    """Of a model with rotary positions: by which angles this token's query turns."""
    look = lesson.view.look
    words = {"token": shown(look.trace.tokens[look.token]), "head": str(look.head)}
    lesson.part("turn", **words, **rotation.words(look))
    match look.trace.model.config.rotary_stretch:
        case Interpolation(factor):
            lesson.say("turn.interpolated", factor=f"{factor:g}")
        case Stretch(factor, few, many, n_ctx):
            limits = {"few": f"{few:g}", "many": f"{many:g}"}
            lesson.say("turn.stretched", ctx=n_ctx, factor=f"{factor:g}", **limits)
    with lesson.of_block():
        st.html(rotation.clocks(look, "q", look.head))
    lesson.pictures(rotation.AT, rotation.steps(look)[:2])
    if not rotation.place(look):
        st.html(para(look.t("qkv.turned.first"), "says"))
    lesson.formula(rotation.steps(look)[1:2])
    st.html(page_link(lesson.view.state, lesson.text("turn.link"), "qkv"))


def add(lesson: Lesson) -> None:
    """A row for each place, and the sum of both."""
    look = lesson.view.look
    if "embed.W_P" not in look.trace.weights:
        lesson.elsewhere("no_table", model="worked-example", preset="block")
        return
    config = look.trace.model.config
    words = {"place": str(look.token), "token": shown(look.trace.tokens[look.token])}
    lesson.part("places", ctx=config.n_ctx, d=config.d_model, n=len(look.trace), **words)
    small = config.n_ctx <= pictures.SMALL
    note = "" if small else lesson.text("places.part")
    lesson.matrices("places", [pictures.places(look, lesson.text("places.table"), note)])
    lesson.part("sum", n=len(look.trace), d=config.d_model, **words)
    names = {"embed.token": "X", "embed.position": "+ P", "embed.sum": "= H₀"}
    whole = 3 * len(look.trace) * config.d_model <= window.CELLS
    index = (None, None) if whole else ([look.token], None)
    cuts = [matrix.cut(look.trace, name, index, title=title) for name, title in names.items()]
    if not whole:
        lesson.say("sum.one_row", **words)
    lesson.matrices("sum", cuts, hint=False, follow=whole)
    lesson.formula(["embed.position", "embed.sum"])


def order(lesson: Lesson) -> None:
    """The same tokens in another order, without positions and with them."""
    turns = rotation.turns(lesson.view.look)
    lesson.part(ORDERS[way(lesson.view.look)])
    look = lesson.excerpt()
    test = pictures.reordered(look.trace)
    if test is None:
        st.html(div("notice", para(lesson.text("order.alone")), role="note"))
        return
    lesson.say("order.rows")
    st.html(pictures.moved_rows(look, test))
    if turns:
        lesson.say("order_turned.rows")
    if not look.n_layers:
        lesson.elsewhere("order.blocks", preset="block")
        return
    last = shown(look.trace.tokens[-1])
    lesson.say("order_none.last" if way(look) == "none" else "order.last", token=last)
    st.html(pictures.two_orders(look, test))
    if look.n_layers > 1 and look.trace.model.config.causal:
        (_, first), *_, (block, deep) = pictures.depth(look, test)
        values = {"first": tiny(first), "deep": tiny(deep), "block": str(block)}
        lesson.why("leak", token=last, **values)


def kinds(lesson: Lesson) -> None:
    """Learned, computed and turned rows of places, as curves and compared."""
    look = lesson.view.look
    config = look.trace.model.config
    tables = drawn.tables(look)
    lesson.part("kinds", d=config.d_model)
    if "turned" in tables:
        lesson.say("kinds.turned", token=shown(look.trace.tokens[look.token]))
    if (n := len(next(iter(tables.values())))) < config.n_ctx:
        lesson.say("kinds.some", n=n, total=config.n_ctx)
    st.html(drawn.curves(look, tables))
    lesson.say("alike.reads", place=str(look.token))
    st.html(drawn.alike(look, tables))
    if "learned" not in tables:
        lesson.say("alike.computed")
    else:
        lesson.say("alike.made_up" if config.n_ctx <= pictures.SMALL else "alike.trained")


def distance(lesson: Lesson) -> None:
    """Rotary positions: only the distance counts."""
    look = lesson.view.look
    lesson.part("distance")
    if not look.n_layers:
        lesson.elsewhere("order.blocks", preset="block")
        return
    if look.trace.model.config.d_head < 2:
        lesson.elsewhere("distance.no_pair", preset="block")
        return
    q, k, q_turned, k_turned = drawn.vectors(look)
    added = "learned_dots" if "embed.W_P" in look.trace.weights else "sinusoidal_dots"
    tokens = {"query": shown(look.trace.tokens[look.token]), "target": shown(look.trace.tokens[0])}
    lesson.say("clocks.reads", **tokens)
    st.html(drawn.clocks(look, q_turned, k_turned))
    lesson.say("distance.reads", **tokens)
    rotary = drawn.distances(look, q_turned, k_turned, "rotary")
    st.html(div("two", rotary, drawn.distances(look, q, k, added)))


def limit(lesson: Lesson) -> None:
    """What happens past the last row of the table."""
    look = lesson.view.look
    if "embed.W_P" not in look.trace.weights:
        return
    config = look.trace.model.config
    lesson.part("limit", ctx=config.n_ctx, last=config.n_ctx - 1)
    st.html(pictures.room(look))
    lesson.say("limit.cut", "result", **pictures.too_long(look))
