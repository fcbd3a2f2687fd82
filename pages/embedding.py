"""Embedding: a token's ID becomes a row of numbers that one can compute with."""

import streamlit as st

from core.view import embedding_page, embedding_plane, frame
from core.view import embedding_pictures as pictures
from core.view.lesson import Lesson

with frame.page("embedding") as view:
    lesson = Lesson(view)
    embedding_page.lookup(lesson)
    embedding_page.multiply(lesson)
    embedding_page.sentence(lesson)

    lesson.part("angle")
    embedding_plane.plane(view.t, view.state)
    lesson.say("angle.animals")
    st.html(pictures.animals(view.look))
    lesson.why("ids")

    embedding_page.near(lesson)
    lesson.why("word2vec")

    lesson.part("pieces")
    st.html(pictures.splits())
    lesson.part("sizes")
    st.html(pictures.sizes(view.look))
    lesson.why("batch")
    lesson.end()
