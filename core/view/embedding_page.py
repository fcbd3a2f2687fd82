"""The parts of the Embedding page that depend on the model."""

from __future__ import annotations

import streamlit as st

from core.models.published import GPT3
from core.view import embedding_pictures as pictures
from core.view import matrix
from core.view.html import number, shown
from core.view.lesson import Lesson


def _words(lesson: Lesson) -> dict[str, object]:
    """What the texts say about the token where we look."""
    look = lesson.view.look
    config, own = look.trace.model.config, look.trace.ids[look.token]
    return {
        "token": shown(look.trace.tokens[look.token]),
        "id": str(own),
        "n": len(look.trace),
        "d": config.d_model,
        "vocab": config.n_vocab,
    }


def _small(lesson: Lesson) -> bool:
    return lesson.view.model.config.n_vocab <= pictures.SMALL


def lookup(lesson: Lesson) -> None:
    """The token's row in the table."""
    look = lesson.view.look
    lesson.part("lookup", **_words(lesson))
    part = "" if _small(lesson) else lesson.text("lookup.part")
    cuts = [
        pictures.table(look, lesson.text("lookup.table"), part),
        pictures.own_row(look, "embed.token", lesson.text("lookup.row")),
    ]
    lesson.matrices("lookup", cuts)
    lesson.say("lookup.order" if _small(lesson) else "lookup.neighbours")


def multiply(lesson: Lesson) -> None:
    """The same row as a product, and why nobody computes it that way."""
    look = lesson.view.look
    lesson.part("product", **_words(lesson))
    if _small(lesson):
        cuts = [
            pictures.own_row(look, "embed.onehot", lesson.text("product.onehot")),
            pictures.table(look, lesson.text("product.table")),
        ]
        lesson.matrices("product", cuts, hint=False, legend=False)
    else:
        st.html(pictures.onehot_lines(look, [look.token]))
    st.html(pictures.written_product(look))
    lesson.say("product.ways", **_words(lesson))
    st.html(pictures.both_ways(look))
    share = pictures.written_share(pictures.zero_share(GPT3.n_vocab))
    work = GPT3.n_vocab * GPT3.d_model
    lesson.say("product.gpt3", share=share, zeros=GPT3.n_vocab - 1, work=work)


def sentence(lesson: Lesson) -> None:
    """All tokens in one product."""
    look, small = lesson.view.look, _small(lesson)
    lesson.part("sentence", **_words(lesson))
    cuts = [matrix.cut(look.trace, "embed.token", title="= X" if small else "X")]
    if small:
        ids = [str(i) for i in range(look.trace.model.config.n_vocab)]
        onehot = matrix.cut(look.trace, "embed.onehot", title="O", column_labels=ids)
        cuts = [onehot, matrix.cut(look.trace, "embed.W_E", title="· W_E"), *cuts]
    else:
        st.html(pictures.onehot_lines(look, look.rows("onehot")))
    lesson.matrices("sentence", cuts, hint=False, follow=True)
    own = look.trace.ids[look.token]
    lesson.formula(["embed.onehot", "embed.token"], [(look.token, own), (look.token, 0)])


def near(lesson: Lesson) -> None:
    """Which tokens lie nearest, and what that is worth."""
    look, model = lesson.view.look, lesson.view.model
    own = look.trace.ids[look.token]
    first, second, cos = pictures.made_up()
    made_up = {"first": first, "second": second, "cos": number(cos)}
    lesson.part("near_small" if _small(lesson) else "near", **_words(lesson))
    st.html(pictures.neighbours(look))
    if _small(lesson):
        lesson.say("near.made_up", "result", **made_up)
        lesson.elsewhere("near.real", model="bundled")
        return
    config, twins = model.config, pictures.twins(look.trace, own)
    chance = number(pictures.chance(config.n_vocab, config.d_model))
    lesson.say("near.chance", n=config.n_vocab - 1, d=config.d_model, chance=chance)
    if twins:
        lesson.say("near.twins", "notice", n=twins, token=shown(look.trace.tokens[look.token]))
    lesson.why("made_up", **made_up)
