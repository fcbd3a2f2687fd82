"""Logits: the last row becomes a score for every token, and the scores become probabilities."""

import streamlit as st

from core.analysis.residual import NotDefined, stream_steps
from core.view import frame, lens, logits_page
from core.view.html import number, para, percent, shown
from core.view.lesson import Lesson
from core.view.mlp_page import GPT3
from core.view.stripes import tiny


def dot_products(lesson, view, look):
    config, here = view.model.config, shown(look.trace.tokens[look.token])
    found = logits_page.candidates(look)
    rank = logits_page.chosen(look, found)
    lesson.part("dot", n=config.n_vocab, d=config.d_model, token=here)
    if config.n_vocab > logits_page.WIDE:
        lesson.say("dot.top", n=logits_page.WIDE, total=config.n_vocab, token=here)
    lesson.matrices("dot", logits_page.cuts(look, found), follow=True)
    st.html(logits_page.choice(look, found, rank) + logits_page.product(look, found[rank]))
    lesson.pictures("product", [logits_page.read(look), "logits"])
    lesson.formula(["logits", "probs"], [(look.token, found[rank].id)] * 2)


def probabilities(lesson, view, look):
    found, total = logits_page.candidates(look), view.model.config.n_vocab
    best = shown(found[0].text)
    lesson.part("softmax", total=total, token=shown(look.trace.tokens[look.token]))
    st.html(logits_page.bars(look, found))
    lesson.pictures("bars", ["logits", "probs"])
    st.html(para(logits_page.share(look, found), "says"))
    top = {"logit": number(found[0].logit), "share": percent(found[0].prob)}
    lesson.say("softmax.greedy", token=best, **top)
    word = view.state.text("word", "")
    st.text_input(lesson.text("ask.label"), key="word", persist_state="session", max_chars=80)
    if word.strip():
        st.html(logits_page.asked(look, word))


def lens_part(lesson, look):
    lesson.part("lens")
    try:
        here = lens.chosen(look)
        st.html(lens.grid(look, here))
    except NotDefined:
        lesson.say("lens.undefined")
        return
    step = stream_steps(look.trace)[here]
    block, part = lens.column_name(look, step)
    token = shown(look.trace.tokens[look.token])
    lesson.say("lens.here", token=token, place=f"{block} {part}".strip())
    st.html(lens.top(look, step))
    lesson.say("lens.last", difference=tiny(lens.error(look)))


with frame.page("logits") as view:
    lesson, look = Lesson(view), view.look
    has_norm = "ln_f.out" in look.trace
    lesson.part("norm" if has_norm else "no_norm", token=shown(look.trace.tokens[look.token]))
    st.html(logits_page.final_rows(look))
    lesson.pictures("rows", logits_page.final_steps(look))
    if has_norm:
        lesson.formula(["ln_f.mean", "ln_f.var", "ln_f.mean_square", "ln_f.normed", "ln_f.out"])
    dot_products(lesson, view, look)
    probabilities(lesson, view, look)
    lesson.part("every", token=shown(look.trace.tokens[-1]))
    st.html(logits_page.every_row(look))
    st.html(para(logits_page.hits(look), "says"))
    lens_part(lesson, look)
    config = view.model.config
    size = logits_page.table_size(config)
    lesson.why("why_tied" if config.tied else "why_untied", saved=size)
    lesson.why("why_last")
    lesson.why("why_softmax")
    lesson.why("why_gpt3", numbers=logits_page.table_size(GPT3))
    lesson.end()
