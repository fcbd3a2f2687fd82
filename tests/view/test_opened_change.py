"""The opened number can be changed, and so can what it is a part of, in every model."""

import pytest

from core.changes import Patch, Put, decode
from core.graph import Ref
from core.view import opened, opened_change
from core.view.elements import decode as trail_of
from tests.support.app import call, components, open_page

HERE = {"model": "worked-example", "preset": "block"}
W_Q = "blocks.0.attn.W_Q~1-0-1"


def panel(at):
    return components(at, "opened")[-1].get("change")


def visit(link, **query):
    return open_page("scores", open=link, **(HERE | query))


def offered(link, **query):
    return [one["text"] for one in panel(visit(link, **query))["larger"]]


def changes(at):
    return [entry.change for entry in decode(at.session_state["edits"]).entries]


def trace_of(at):
    from core.view import engine

    model = engine.load(at.session_state["model"], at.session_state["preset"])
    return model.trace(at.session_state["prompt"])


def test_a_number_can_be_set_and_restored():
    at = visit(W_Q)
    assert panel(at)["value"] == 0.0
    assert panel(at)["restore"] is None
    ref = Ref("blocks.0.attn.W_Q", (1, 0, 1))
    call(at, opened_change.put, trace_of(at), ref, 0.8)
    assert changes(at) == [Put("blocks.0.attn.W_Q", (1, 0, 1), 0.8)]
    assert panel(at)["value"] == 0.8
    assert components(at, "opened")[-1]["says"].startswith("Set by hand")
    text, do = panel(at)["restore"]
    assert text == "Restore 0"
    call(at, opened_change.do, do)
    assert changes(at) == []
    assert panel(at)["value"] == 0.0


@pytest.mark.parametrize("value", [None, True, "0.8", [1], {}, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_is_passed_over(value):
    at = visit(W_Q)
    call(at, opened_change.put, trace_of(at), Ref("blocks.0.attn.W_Q", (1, 0, 1)), value)
    assert changes(at) == []


@pytest.mark.parametrize(
    "asked", [None, 5, "put", {}, {"link": W_Q}, {"link": "x", "put": 1.0}, {"link": W_Q, "do": 7}]
)
def test_nonsense_from_the_browser_changes_nothing(asked):
    at = visit(W_Q)
    trace = trace_of(at)
    at.session_state[opened.KEY] = {"change": asked}
    call(at, opened._acting(trace, trail_of(W_Q)))
    assert changes(at) == []


@pytest.mark.parametrize(
    ("link", "larger"),
    [
        ("embed.W_E~1-0", ["this whole row"]),
        ("blocks.0.ln_1.gamma~1", ["all of block 0"]),
        ("blocks.0.resid_mid~1-0", ["this whole row", "all of block 0"]),
        (W_Q, ["this whole row", "head 1 ", "the attention of block 0", "all of block 0"]),
        (
            "blocks.0.attn.weights~0-1-1",
            ["this whole row", "head 0 ", "the attention of block 0", "all of block 0"],
        ),
        (
            "blocks.0.attn.concat~1-3",
            ["this whole row", "head 1 ", "the attention of block 0", "all of block 0"],
        ),
        ("blocks.0.attn.out~1-2", ["this whole row", "the attention of", "all of block 0"]),
        (
            "blocks.0.mlp.hidden~1-4",
            ["this whole row", "neuron 4", "the MLP of block 0", "all of block 0"],
        ),
        ("blocks.0.mlp.b_1~4", ["neuron 4", "the MLP of block 0", "all of block 0"]),
        ("logits~2-3", ["this whole row"]),
    ],
)
def test_what_can_be_switched_off_fits_the_element(link, larger):
    texts = offered(link)
    assert len(texts) == len(larger)
    assert all(part in text for part, text in zip(larger, texts, strict=True))


def test_a_token_id_cannot_be_changed():
    assert panel(visit("tokens.ids~1")) is None


def test_every_model_offers_it_and_the_output_matrix_is_named():
    at = open_page("embedding", model="bundled", open="embed.W_E~262-3")
    assert panel(at)["value"] is not None
    assert panel(at)["largest"] == pytest.approx(3.4028e38, rel=1e-4)
    assert panel(at)["notes"] == [
        "W_E is the output matrix too: this also changes how the logits are read off."
    ]
    assert panel(visit("embed.W_E~1-1"))["notes"] == []


def test_before_the_changes_nothing_is_offered():
    at = visit(W_Q, edits="v1~~scaled~off", side="before")
    assert list(panel(at)) == ["notes"]


def test_a_row_is_taken_from_another_text():
    at = visit("blocks.0.attn.out~1-0")
    ref = Ref("blocks.0.attn.out", (1, 0))
    call(at, opened_change.take, trace_of(at), ref, "나는 물을")
    assert changes(at) == [Patch("blocks.0.attn.out", (1, None), "나는 물을")]
    other = trace_of(at).model.trace("나는 물을")
    assert panel(at)["value"] == pytest.approx(other.value("blocks.0.attn.out", (1, 0)))
    assert panel(at)["take"]["said"] == ""
    assert "Taken from another text, “나는 물을”" in components(at, "opened")[-1]["says"]


def test_a_number_set_while_looking_at_the_difference_leads_to_after():
    at = visit(W_Q, edits="v1~~blocks.0.attn.W_Q~1-0-0~0.5", side="difference")
    assert at.session_state["side"] == "difference"
    call(at, opened_change.put, trace_of(at), Ref("blocks.0.attn.W_Q", (1, 0, 1)), 0.8)
    assert at.session_state["side"] == "after" and panel(at)["value"] == 0.8


@pytest.mark.parametrize(
    ("link", "text", "said"),
    [
        ("blocks.0.attn.out~2-0", "나는 물을", "has 2 tokens only, and this row is token number 3"),
        ("blocks.0.attn.out~2-0", "", "Type a text"),
        ("blocks.0.attn.out~2-0", "hello", "does not know the word hello"),
        ("blocks.0.attn.out~2-0", "나는 " * 30, "too long"),
        ("blocks.0.attn.scores~0-1-0", "나는 물을", "only from a text with 3 tokens"),
    ],
)
def test_a_text_that_does_not_fit_is_said_at_the_field(link, text, said):
    at = visit(link)
    call(at, opened_change.take, trace_of(at), trail_of(link)[-1], text)
    assert said in panel(at)["take"]["said"]
    assert changes(at) == []


def test_a_weight_is_not_taken_from_another_text():
    assert panel(visit(W_Q))["take"] is None
    at = visit(W_Q)
    call(at, opened_change.take, trace_of(at), trail_of(W_Q)[-1], "나는 물을 마셨다")
    assert changes(at) == []
