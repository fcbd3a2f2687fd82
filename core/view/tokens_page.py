"""What the Tokens page shows, for a tokenizer of byte pairs and for one of words."""

from __future__ import annotations

import streamlit as st

from core.models.bpe import PieceMerges, PreSplit
from core.view import engine
from core.view import tokens_pictures as pictures
from core.view.frame import View
from core.view.html import div, esc, numbered, para, shown, tag

PIECE_BEFORE = "_piece_before"
MANY_DIGITS = 9  # more than any tokenizer leaves together that cuts numbers at all


def byte_pair(view: View) -> None:
    """Text, pieces, bytes, merges, IDs."""
    t, tokenizer = view.t, view.model.tokenizer
    ids = list(view.reading.ids) if view.reading.instead else tokenizer.prompt_ids(view.prompt)
    text = "" if view.reading.instead else view.prompt
    seen = para(t("tokens.text.says"), "says") + pictures.seen_text(t, text, len(ids))
    _step(1, t("tokens.text.title"), seen + _about_mark(view, text))
    split = tokenizer.explain(text)
    if split:
        here = view.state.index("piece", len(split), pictures.interesting(split))
        says = para(_cuts(view), "says")
        _step(2, t("tokens.pieces.title"), says + pictures.pieces(t, view.state, split, here))
        _one_piece(view, split[here], here)
    result = pictures.token_list(t, tokenizer, ids, view.reading.cut)
    says = para(t("tokens.ids.says"), "says")
    characters = pictures.split_characters(t, tokenizer, ids)
    _step(4 if split else 2, t("tokens.ids.title"), says + result + characters)


def words(view: View) -> None:
    """A vocabulary of whole words, and what is wrong with it."""
    t, tokenizer = view.t, view.model.tokenizer
    ids = list(view.reading.ids)
    says = para(t("tokens.text.says_words"), "says")
    _step(1, t("tokens.text.title"), says + pictures.seen_text(t, view.prompt, len(ids)))
    says = para(t("tokens.words.says", n=view.model.config.n_vocab), "says")
    _step(2, t("tokens.words.title"), says + pictures.word_list(t, tokenizer, ids))
    result = pictures.token_list(t, tokenizer, ids, 0)
    _step(3, t("tokens.ids.title"), para(t("tokens.ids.says_words"), "says") + result)
    if engine.is_here(engine.FIRST_CHOICE):
        link = tag(
            "a",
            esc(t("tokens.words.real")),
            cls="pill",
            **view.state.link(model=engine.FIRST_CHOICE, prompt=view.prompt),
        )
        st.html(div("try", link))


def why(view: View) -> str:
    """What is gained by pieces of words, and what some vocabularies lose all the same."""
    n_lost = len(view.model.tokenizer.unknown)
    every = view.t("tokens.why.lost", n=n_lost) if n_lost else view.t("tokens.why.every")
    return " ".join((view.t("tokens.why.says"), every, view.t("tokens.why.name")))


def _cuts(view: View) -> str:
    """The rule by which this model's tokenizer cuts; how it cuts digits is tried out."""
    longest = max(len(piece.text) for piece in view.model.tokenizer.explain("0" * MANY_DIGITS))
    digits = view.t("tokens.pieces.digits", n=longest) if longest < MANY_DIGITS else ""
    says = view.t("tokens.pieces.says"), digits, view.t("tokens.pieces.click")
    return " ".join(filter(None, says))


def _step(number: int, title: str, body: str) -> None:
    st.html(tag("section", numbered(number, title), body, cls="step"))


def _about_mark(view: View, text: str) -> str:
    """Typed literally, the name of a special token is text like any other."""
    tokenizer = view.model.tokenizer
    mark = next((mark for mark in tokenizer.special_tokens if mark in text), None)
    if mark is None:
        return ""
    n, token_id = len(tokenizer.encode(mark)), tokenizer.special_tokens[mark]
    says = view.t("tokens.mark", mark=mark, n=n, id=str(token_id))
    return div("notice", para(says), role="note")


def _one_piece(view: View, piece: PreSplit, index: int) -> None:
    """One piece under the magnifying glass: its bytes and, one by one, its merges."""
    t = view.t
    says = para(t("tokens.merges.bytes"), "says") + pictures.byte_row(t, piece)
    _step(3, t("tokens.merges.title", piece=shown(piece.text)), says)
    merged, part = pictures.first_merges(view.model.tokenizer, piece)
    done = _merges_done(view, merged, index)
    rows = pictures.merge_rows(t, merged, done)
    note = para(t("tokens.merges.part", n=part)) if part < len(piece.text) else ""
    st.html(tag("section", para(t("tokens.merges.says"), "says"), note, rows, cls="step"))


def _merges_done(view: View, merged: PieceMerges, index: int) -> int:
    """How many merges to show; all of them when another piece is opened."""
    most = len(merged.merges)
    if st.session_state.get(PIECE_BEFORE, index) != index:
        view.state.put("merge", most)
    st.session_state[PIECE_BEFORE] = index
    done = view.state.index("merge", most + 1, most)
    if most:
        with st.container(key="stepper"):
            st.slider(
                view.t("tokens.merges.slider", n=most),
                0,
                most,
                key="merge",
                persist_state="session",
            )
    return done
