"""Q, K, V: each token asks, answers and offers, through three learned projections."""

import streamlit as st

from core.view import frame, qkv_page
from core.view import qkv_pictures as pictures
from core.view.lesson import Lesson

with frame.page("qkv") as view:
    lesson = Lesson(view)
    if not view.look.n_layers:
        lesson.elsewhere("no_block", model="worked-example", preset="part-2")
    else:
        lesson.part("jobs", **pictures.words(view.look))
        with lesson.of_block():
            st.html(pictures.jobs(view.look))
        qkv_page.shared(lesson)
        lesson.why("three")
        qkv_page.project(lesson)
        lesson.why("linear")
        qkv_page.turned(lesson)
        qkv_page.heads(lesson)
        qkv_page.lives(lesson)
        lesson.part("two")
        st.html(pictures.one_or_two_texts(view.look))
        lesson.why("history")
    lesson.end()
