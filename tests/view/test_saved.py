"""Opening a file: the same view again, one step that can be undone; a bad one changes nothing."""

import json

import pytest

from core.view import saved
from tests.support.app import call, click, components, open_app, open_page, said

EDITS = "v1~~blocks.0.attn.W_Q~1-0-1~0.8~~-scaled~off"
HERE = {"model": "worked-example", "preset": "block"}


def file_of(at):
    return components(at, "file")[0]["text"]


def view(at, *keys):
    return {key: at.session_state[key] for key in (*keys, "model", "prompt", "edits", "token")}


def test_an_opened_file_is_the_same_view_again():
    made = open_page(
        "tokens", **HERE, edits=EDITS, prompt="나는 물을", was="나는 밥을", token=0, side="before"
    )
    keys = ("was", "side", "preset")
    other = open_page("tokens", model="bundled", prompt="Hello")
    call(other, saved.open_file, file_of(made), "tokens")
    assert view(other, *keys) == view(made, *keys)
    assert file_of(other) == file_of(made)
    assert "The file is open" in said(other)


def test_opening_a_file_is_one_step_back_to_another_model_and_text():
    made = file_of(open_page("tokens", **HERE, edits=EDITS, prompt="나는 물을 마셨다"))
    at = open_page("tokens", model="bundled", prompt="Once upon", edits="v1~~mask~off", token=0)
    before = view(at)
    call(at, saved.open_file, made, "tokens")
    after = view(at)
    assert after != before
    click(at, do="undo")
    assert view(at) == before
    click(at, do="redo")
    assert view(at) == after
    click(at, do="undo")
    assert view(at) == before


def test_what_the_other_model_had_of_changes_can_be_had_back_too():
    made = file_of(open_page("tokens", **HERE, edits=EDITS))
    at = open_page("tokens", **HERE, edits="v1~~mask~off")
    click(at, model="bundled")
    call(at, saved.open_file, made, "tokens")
    click(at, do="undo")
    assert at.session_state["model"] == "bundled"
    click(at, **HERE)
    assert at.session_state["edits"] == EDITS
    click(at, do="undo")
    assert at.session_state["edits"] == "v1~~mask~off"


def test_opening_a_file_for_the_same_model_is_one_step():
    made = file_of(open_page("tokens", **HERE, edits=EDITS, prompt="나는 물을 마셨다"))
    at = open_page("tokens", **HERE, edits="v1~~mask~off")
    before = view(at)
    call(at, saved.open_file, made, "tokens")
    assert at.session_state["edits"] == EDITS
    assert at.session_state["was"] == ""
    click(at, do="undo")
    assert view(at) == before


def test_a_file_leads_to_the_page_that_it_was_saved_on():
    made = file_of(open_page("scores", **HERE, edits=EDITS, open="logits~2-1"))
    at = open_app("tokens", model="bundled")
    call(at, saved.open_file, made, "tokens")
    assert "Scores: where each token looks" in said(at)
    assert at.session_state["open"] == "logits~2-1"
    click(at, do="undo")
    assert at.session_state["model"] == "bundled"


def test_a_page_that_does_not_exist_is_left_out():
    values = json.loads(file_of(open_page("tokens", **HERE, edits=EDITS)))
    values["look"]["page"] = "nowhere"
    at = open_page("tokens", model="bundled")
    call(at, saved.open_file, json.dumps(values), "tokens")
    assert at.session_state["edits"] == EDITS


@pytest.mark.parametrize(
    ("text", "said_in_words"),
    [
        ("", "no file that Ripple saved"),
        ("not json", "no file that Ripple saved"),
        ("[" * 500_000, "no file that Ripple saved"),
        ('{"a":' * 200_000, "no file that Ripple saved"),
        ("\ud800", "no file that Ripple saved"),
        (" " * 1_000_001, "holds more than we take"),
        ('{"ripple": 99}', "another version"),
        ('{"ripple": NaN}', "not as Ripple saved it"),
        ('{"ripple": 1, "model": "../../etc/passwd"}', "not as Ripple saved it"),
    ],
)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_file_that_cannot_be_read_is_said_once_and_changes_nothing(text, said_in_words, language):
    at = open_page("tokens", **HERE, edits=EDITS, lang=language)
    before = view(at)
    call(at, saved.open_file, text, "tokens")
    assert view(at) == before
    if language == "en":
        assert said(at).count("Nothing was changed.") == 1
        assert said_in_words in said(at)
    else:
        assert said(at).count("아무것도 바꾸지 않았어요.") == 1


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("model", "gpt-9", "“gpt-9”, which is not here"),
        ("preset", "part-9", "variant “part-9”"),
        ("size", "d_model-99", "a size that this model cannot have"),
        ("size", "nonsense", "a size that this model cannot have"),
    ],
)
def test_a_file_about_what_is_not_here_is_said(field, value, words):
    made = json.loads(file_of(open_page("tokens", **HERE, edits=EDITS)))
    at = open_page("tokens", model="bundled")
    before = view(at)
    call(at, saved.open_file, json.dumps(made | {field: value}), "tokens")
    assert words in said(at)
    assert view(at) == before


def test_a_file_that_looks_where_nothing_is_looks_somewhere_else():
    made = json.loads(file_of(open_page("tokens", **HERE, edits=EDITS)))
    made["look"] |= {"token": 99, "side": "sideways"}
    at = open_page("tokens", model="bundled")
    call(at, saved.open_file, json.dumps(made), "tokens")
    assert at.session_state["token"] == 2
    assert at.session_state["side"] == "after"
    assert at.session_state["edits"] == EDITS


def test_a_link_that_brings_changes_of_its_own_is_one_step_too():
    at = open_page("tokens", **HERE, edits="v1~~mask~off")
    before = view(at)
    click(at, edits=EDITS, prompt="나는 물을 마셨다")
    assert at.session_state["edits"] == EDITS
    click(at, do="undo")
    assert view(at) == before


def test_another_size_is_saved_and_has_changes_of_its_own():
    made = open_page("tokens", **HERE, size="d_model-4", edits="v1~~embed.W_E~0-3~2.0")
    at = open_page("tokens", **HERE, edits="v1~~mask~off")
    before = view(at)
    call(at, saved.open_file, file_of(made), "tokens")
    assert at.session_state["size"] == "d_model-4"
    assert at.session_state["edits"] == "v1~~embed.W_E~0-3~2.0"
    click(at, do="undo")
    assert at.session_state["size"] == ""
    assert view(at) == before
