"""Traces are kept for everybody, each under exactly its own tokens."""

import pytest

from core.view import engine


@pytest.mark.parametrize("is_long", [False, True])
def test_the_same_tokens_have_the_same_trace_and_others_another(is_long, monkeypatch):
    monkeypatch.setattr(engine, "LONG", 1 if is_long else 2)
    trace = engine.trace("bundled", "", (1, 23))
    assert engine.trace("bundled", "", (1, 23)) is trace
    assert trace.ids == [1, 23] and engine.trace("bundled", "", (12, 3)).ids == [12, 3]
