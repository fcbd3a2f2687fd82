"""What components say to the server."""

import json
import math

import pytest
import streamlit as st

from core.view import embedding_plane, links, matrix, opened
from core.view.component import PARTS, _part, as_bytes, said


def test_what_was_forgotten_is_nothing_said(monkeypatch):
    """Streamlit may run a callback after the element's state was dropped with a page."""
    monkeypatch.setattr(st, "session_state", {"known": {"go": 1}})
    assert said("known", "go") == 1
    assert said("known", "open") is None
    assert said("gone", "go") is None


@pytest.mark.parametrize(
    "callback",
    [links.remember_click, opened._go, embedding_plane._moved, lambda: matrix._picked("gone")],
)
def test_a_click_of_a_page_that_is_gone_changes_nothing(monkeypatch, callback):
    state = {}
    monkeypatch.setattr(st, "session_state", state)
    callback()
    assert state == {}


@pytest.mark.parametrize("name", PARTS)
def test_each_part_of_the_browser_side_says_once_what_draws_it(name):
    script = _part(name)
    assert script.count("const draw = function ") == 1
    assert "export default" not in script


def test_data_is_read_back_as_it_was_and_never_what_json_lacks():
    data = {"text": "눈 \ud800 <", "values": [0.1, -0.0, 1e-45, None, "∞"]}
    assert json.loads(as_bytes(data)) == data
    for value in (math.inf, math.nan):
        with pytest.raises(ValueError):
            as_bytes({"values": [value]})
