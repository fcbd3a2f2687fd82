"""Logits: the last row becomes a score for every token, and the scores become probabilities."""

import streamlit as st

from core.analysis.residual import NotDefined, stream_steps
from core.models.published import GPT3
from core.view import frame, logits_lens
from core.view import logits_pictures as pictures
from core.view.html import number, para, percent, shown, tiny
from core.view.lesson import Lesson


def dot_products(lesson, view, look):
    config, here = view.model.config, shown(look.trace.tokens[look.token])
    found = pictures.candidates(look)
    rank = pictures.chosen(look, found)
    lesson.part("dot", n=config.n_vocab, d=config.d_model, token=here)
    if config.n_vocab > pictures.WIDE:
        lesson.say("dot.top", n=pictures.WIDE, total=config.n_vocab, token=here)
    if (rows := pictures.read_rows(look)) is not None:
        ends = {"first": str(rows[0]), "last": str(rows[-1])}
        lesson.say("dot.rows", n=len(rows), total=len(look.trace), **ends)
    lesson.matrices("dot", pictures.cuts(look), follow=True, numbers=True)
    st.html(pictures.choice(look, found, rank) + pictures.product(look, found[rank]))
    lesson.pictures("product", [pictures.read(look), "logits"])
    lesson.formula(["logits", "probs"], [(look.token, found[rank].id)] * 2)


def probabilities(lesson, view, look):
    found, total = pictures.candidates(look), view.model.config.n_vocab
    best = shown(found[0].text)
    lesson.part("softmax", total=total, token=shown(look.trace.tokens[look.token]))
    st.html(pictures.bars(look, found))
    lesson.pictures("bars", ["logits", "probs"])
    st.html(para(pictures.share(look, found), "says"))
    top = {"logit": number(found[0].logit), "share": percent(found[0].prob)}
    lesson.say("softmax.greedy", token=best, **top)
    word = view.state.text("word", "")
    st.text_input(lesson.text("ask.label"), key="word", persist_state="session", max_chars=80)
    if word.strip():
        st.html(pictures.asked(look, word))


def lens_part(lesson, look):
    lesson.part("lens")
    try:
        here = logits_lens.chosen(look)
        st.html(logits_lens.grid(look, here))
    except NotDefined:
        lesson.say("lens.undefined")
        return
    step = stream_steps(look.trace)[here]
    block, part = logits_lens.column_name(look, step)
    token = shown(look.trace.tokens[look.token])
    lesson.say("lens.here", token=token, place=f"{block} {part}".strip())
    st.html(logits_lens.top(look, step))
    lesson.say("lens.last", difference=tiny(logits_lens.error(look)))


with frame.page("logits") as view:
    lesson, look = Lesson(view), view.look
    has_norm = "ln_f.out" in look.trace
    lesson.part("norm" if has_norm else "no_norm", token=shown(look.trace.tokens[look.token]))
    st.html(pictures.final_rows(look))
    lesson.pictures("rows", pictures.final_steps(look))
    if has_norm:
        lesson.formula(["ln_f.mean", "ln_f.var", "ln_f.mean_square", "ln_f.normed", "ln_f.out"])
    dot_products(lesson, view, look)
    probabilities(lesson, view, look)
    lesson.part("every", token=shown(look.trace.tokens[-1]))
    st.html(pictures.every_row(look))
    st.html(para(pictures.hits(look), "says"))
    lens_part(lesson, look)
    config = view.model.config
    size = pictures.table_size(config)
    lesson.why("why_tied" if config.tied else "why_untied", saved=size)
    lesson.why("why_last", "why_softmax")
    lesson.why("why_gpt3", numbers=pictures.table_size(GPT3))
    lesson.end()
