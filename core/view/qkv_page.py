"""The parts of the Q, K, V page that depend on the model."""

from __future__ import annotations

import streamlit as st

from core.view import matrix, rotation, shared_heads
from core.view import qkv_pictures as pictures
from core.view.html import div, esc, para, tag, tiny
from core.view.lesson import Lesson

SMALL = 12  # numbers per token up to which whole matrices are written out


def project(lesson: Lesson) -> None:
    """x times W is q, k and v: every matrix with its numbers, or as pictures for wide models."""
    look = lesson.view.look
    config = look.trace.model.config
    words = pictures.words(look)
    lesson.part("projection", **words)
    if config.bias_qkv:
        lesson.say("projection.bias")
    if config.d_model <= SMALL:
        _written_out(lesson)
    else:
        letter = look.state.choice(pictures.LETTER, pictures.LETTERS, "Q")
        st.html(pictures.projection(look, letter))
        lesson.say("projection.choose")
        lesson.matrices("weights", [pictures.weights(look, letter, f"W_{letter}")], hint=False)
        lesson.say("projection.all")
        titles = {letter: lesson.text(f"jobs.{letter}.title") for letter in pictures.LETTERS}
        cuts = [pictures.projected(look, letter, title) for letter, title in titles.items()]
        lesson.matrices("qkv", cuts, follow=True)
    steps = [pictures.name(look, part) for part in "qkv"]
    lesson.formula(steps)
    _identity(lesson)


def _written_out(lesson: Lesson) -> None:
    look = lesson.view.look
    for letter in pictures.LETTERS:
        cuts = [
            matrix.cut(look.trace, pictures.source(look), title="X"),
            pictures.weights(look, letter, f"· W_{letter}"),
            pictures.projected(look, letter, f"= {letter}"),
        ]
        lesson.matrices(f"projection_{letter}", cuts, hint=letter == "Q", follow=True)


def _identity(lesson: Lesson) -> None:
    """What it means where every W is the identity, or where that can be seen."""
    difference = pictures.identity(lesson.view.look)
    if difference is None:
        lesson.elsewhere("identity.there", model="worked-example", preset="part-2")
        return
    said = lesson.text("identity.here", difference=tiny(difference))
    back = lesson.view.state.link(model="worked-example", preset="block")
    link = tag("a", esc(lesson.text("identity.back")), cls="pill", **back)
    st.html(div("notice", para(said), link, role="note"))


def shared(lesson: Lesson) -> None:
    """That key and value are those of several heads, where they are."""
    look = lesson.view.look
    config = look.trace.model.config
    if config.n_kv_heads < config.n_heads:
        lesson.say("jobs.shared", **pictures.words(look) | {"n": config.n_kv_heads})


def turned(lesson: Lesson) -> None:
    """Of a model with rotary positions: how the place turns query and key, and what comes out."""
    look = lesson.view.look
    if not rotation.turns(look):
        return
    words = pictures.words(look) | rotation.words(look)
    lesson.part("turned", **words)
    for letter, head in (("q", look.head), ("k", look.kv_head)):
        lesson.say(f"turned.{letter}", i=str(head))
        st.html(rotation.clocks(look, letter, head))
    names = rotation.steps(look)
    lesson.pictures(rotation.AT, names)
    lesson.say("turned.keeps" if rotation.place(look) else "turned.first")
    for letter, pair in (("Q", names[:2]), ("K", names[2:])):
        here = (pictures.head_of(look, letter), None, None)
        titles = [look.t(f"steps.attn.{name.rpartition('.')[2]}.title") for name in pair]
        cuts = [
            matrix.cut(look.trace, name, here, title=title)
            for name, title in zip(pair, titles, strict=True)
        ]
        lesson.matrices(f"turned_{letter}", cuts, follow=True, numbers=True)
    lesson.formula([names[1], names[3]])


def heads(lesson: Lesson) -> None:
    """All heads beside each other, one of them to choose."""
    look = lesson.view.look
    words = pictures.words(look)
    if words["kv"] == look.n_heads:
        lesson.part("heads", **words)
    else:
        lesson.part("shared", **words | {"n": words["kv"]})
        st.html(shared_heads.picture(look))
    if look.n_heads == 1:
        lesson.elsewhere("heads.single", model="worked-example", preset="block")
        return
    matrix.heads(look, pictures.name(look, "q"), key="qkv.heads")
    square = words["both"] == words["d"]
    lesson.say("heads.square" if square else "heads.own", **words)
    lesson.why("big", **words)


def lives(lesson: Lesson) -> None:
    """What is stored and what is computed anew for each text."""
    lesson.part("lives")
    st.html(pictures.kept_and_gone(lesson.view.look))
    causal = lesson.view.model.config.causal
    lesson.say("lives.grow", n=lesson.view.model.config.n_ctx)
    lesson.say("lives.two_weights")
    if causal:
        lesson.why("cache")
