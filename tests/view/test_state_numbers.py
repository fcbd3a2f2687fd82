"""Numbers among the parameters of a run: what a link may ask for, and what is said otherwise."""

import math

import pytest
from streamlit.testing.v1 import AppTest

from core.view.state import read_number


def _numbers():
    import streamlit as st

    from core.view.state import State

    state = State()
    warmth = state.number("warmth", 0, 2, 0.8)
    count = state.number("count", 0, 50, 40, whole=True)
    st.text(repr((warmth, count)))
    st.text(state.address())
    st.text(repr(state.publish()))


def shown(**query):
    at = AppTest.from_function(_numbers)
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception
    return [text.value for text in at.text]


def test_defaults_are_not_in_the_address():
    assert shown() == ["(0.8, 40)", "?", "[]"]


def test_a_link_sets_them_and_they_stay_in_the_address():
    values, address, notices = shown(warmth="1.25", count="7")
    assert (values, address, notices) == ("(1.25, 7)", "?warmth=1.25&count=7", "[]")


@pytest.mark.parametrize("raw", ["nan", "-0.1", "2.001", "inf", "1e999", "", "x", "1_0", "٣"])
def test_what_cannot_be_is_said_and_replaced(raw):
    values, _, notices = shown(warmth=raw)
    assert values == "(0.8, 40)"
    assert "link.between" in notices and "'used': '0.8'" in notices


def test_what_the_session_cannot_hold_is_replaced():
    at = AppTest.from_function(_numbers).run()
    at.session_state["warmth"], at.session_state["count"] = math.nan, 3.5
    at.run()
    assert at.text[0].value == "(0.8, 40)"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), (" 0,5 ", 0.5), (".5", 0.5), ("1.", 1), ("1e-3", 0.001), ("+2", 2), ("−0", 0)],
)
def test_numbers_as_people_type_them(text, value):
    assert read_number(text, 0, 10) == value


def test_a_whole_number_is_an_int():
    assert isinstance(read_number("4.0", 0, 10, whole=True), int)
    assert read_number("4.5", 0, 10, whole=True) is None
    assert read_number("9" * 40, 0, 1e60) is None
