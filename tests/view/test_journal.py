"""What the browser sends when a number is typed: applied once, in order, and never trusted."""

import json

import pytest
import streamlit as st
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as values

import core
from core.changes import decode
from core.view import changes, journal

MODEL = core.load("worked-example", preset="block", device="cpu")
W_Q = "blocks.0.attn.W_Q"


@pytest.fixture
def session(monkeypatch):
    """A visitor who looks at the worked example."""
    state = {changes.OWNER: changes.identity(MODEL), changes.EDITS: ""}
    monkeypatch.setattr(st, "session_state", state)
    state["trace"] = MODEL.trace([0, 1, 2])
    journal.drawn(state["trace"])
    return state


def edits(session):
    return [(c.name, c.index, c.value) for c in decode(session[changes.EDITS]).in_force]


def entry(n, *cells, name=W_Q, **more):
    return {"n": n, "of": changes.identity(MODEL), "name": name, "cells": list(cells)} | more


def send(*entries, client="abc"):
    journal.receive({"client": client, "list": list(entries)})


def test_each_number_is_applied_once_and_in_order(session):
    first, second = entry(1, [[0, 0, 0], 2.0]), entry(2, [[0, 0, 0], 3])
    send(first)
    send(second, first)
    send(first, second)
    assert edits(session) == [(W_Q, (0, 0, 0), 3.0)]
    assert journal.acknowledged() == {"abc": 2}
    send(entry(1, [[0, 1, 1], 5.0]), client="other")
    assert len(edits(session)) == 2
    assert journal.acknowledged() == {"abc": 2, "other": 1}


def test_a_paste_is_one_step_and_undo_has_its_place_in_the_order(session):
    paste = entry(1, *([[0, r, 0], 9.5] for r in range(3)))
    send(paste, entry(2, [[0, 0, 1], 4.0]), {"n": 3, "travel": "undo"})
    assert len(edits(session)) == 3
    send({"n": 4, "travel": "undo"})
    assert edits(session) == []
    send({"n": 5, "travel": "redo"}, {"n": 6, "travel": "redo"}, {"n": 7, "travel": "redo"})
    assert len(edits(session)) == 4


def test_nothing_restores_what_was_there_without_an_edit(session):
    send(entry(1, [[0, 0, 0], 2.0], [[0, 0, 1], 4.0]), entry(2, [[0, 0, 0], None]))
    assert edits(session) == [(W_Q, (0, 0, 1), 4.0)]


def test_an_edit_belongs_to_the_model_it_was_typed_for(session):
    other = core.load("worked-example", preset="part-2", device="cpu")
    trace = other.trace([0, 1])
    journal.drawn(trace)
    session[changes.OWNER] = changes.identity(other)
    send(entry(1, [[0, 0, 0], 2.0]))
    assert edits(session) == []
    session[changes.EDITS], session[changes.OWNER] = (
        session[changes.KEPT][changes.identity(MODEL)],
        changes.identity(MODEL),
    )
    assert edits(session) == [(W_Q, (0, 0, 0), 2.0)]


@pytest.mark.parametrize(
    "one",
    [
        entry(1, [[0, 0, 0], "0.5"]),
        entry(1, [[0, 0, 0], True]),
        entry(1, [[0, 0, 0], float("nan")]),
        entry(1, [[0, 0, 0], float("inf")]),
        entry(1, [[0, 0, 0], 10**400]),
        entry(1, [[0, 0, 0], [1.0]]),
        entry(1, [[0, 0], 1.0]),
        entry(1, [[0, 0, 9], 1.0]),
        entry(1, [[0, 0, -1], 1.0]),
        entry(1, [[0, 0, 0.0], 1.0]),
        entry(1, [[0, 0, None], 1.0]),
        entry(1, [[0, 0, 0], 1.0], [[0, 0, 9], 1.0]),
        entry(1, [[0, 0, 9], None]),
        entry(1, [[0, 0, 0], 1.0, 2]),
        entry(1, *[[[0, 0, 0], 1.0]] * 5000),
        entry(1, [[0], 3.0], name="tokens.ids"),
        entry(1, [[0, 0], 1.0], name="embed.onehot"),
        entry(1, [[0, 0, 0], 1.0], name="blocks.9.attn.W_Q"),
        entry(1, [[0, 0, 0], 1.0], name=None),
        entry(1, [[0, 0, 0], 1.0], of="another/model"),
        entry(1, [[0, 0, 0], 1.0], of=None),
        {"n": 1, "travel": "away"},
        {"n": 1},
        {"n": 1, "of": "x", "name": "y", "cells": "z"},
    ],
)
def test_nonsense_changes_nothing_and_is_not_asked_for_again(session, one):
    send(one)
    assert edits(session) == []
    assert journal.acknowledged() == {"abc": 1}
    send(entry(2, [[0, 0, 0], 2.0]))
    assert len(edits(session)) == 1


@pytest.mark.parametrize(
    "sent",
    [
        None,
        [],
        "x",
        {"client": "abc"},
        {"client": "abc", "list": "x"},
        {"client": 5, "list": [entry(1, [[0, 0, 0], 1.0])]},
        {"client": "x" * 99, "list": [entry(1, [[0, 0, 0], 1.0])]},
        {"client": "<b>", "list": [entry(1, [[0, 0, 0], 1.0])]},
        {
            "client": "abc",
            "list": [entry(n, [[0, 0, 0], 1.0]) for n in (True, -1, "1", 1.0, 2**60)],
        },
    ],
)
def test_what_is_no_journal_is_passed_over(session, sent):
    journal.receive(sent)
    assert edits(session) == []
    assert journal.acknowledged() == {}


anything = values.recursive(
    values.none()
    | values.booleans()
    | values.integers()
    | values.floats()
    | values.text(max_size=9),
    lambda inner: (
        values.lists(inner, max_size=4)
        | values.dictionaries(
            values.sampled_from(["client", "list", "n", "of", "name", "cells", "travel"]), inner
        )
    ),
    max_leaves=20,
)


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(anything, values.lists(anything, max_size=4), values.lists(anything, max_size=3))
def test_nothing_that_arrives_raises(session, sent, entries, cells):
    journal.receive(sent)
    journal.receive({"client": "abc", "list": [*entries, entry(1, *cells)]})
    assert all(decode(session[changes.EDITS]).in_force) or not session[changes.EDITS]
    json.dumps(journal.acknowledged())


def test_only_the_last_visitors_browser_tabs_are_remembered(session):
    for i in range(50):
        send(entry(1, [[0, 0, 0], float(i)]), client=f"tab{i}")
    assert len(journal.acknowledged()) == journal.MOST_CLIENTS
    assert "tab49" in journal.acknowledged()
