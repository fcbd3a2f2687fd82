"""The Korean words of the worked example are explained to who reads another language."""

import json

import pytest

from core.view.texts import LANGUAGES, gloss, speaker
from tests.support.app import ROOT, drawn, open_page, rows

EXAMPLE = json.loads((ROOT / "assets/worked_example.json").read_text("utf-8"))
WORDS = [word for word in EXAMPLE["words"] if word.isalpha()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_has_a_meaning_except_for_who_can_read_it(language):
    meanings = [gloss(speaker(language), word) for word in WORDS]
    assert len(WORDS) == 11
    assert all(meanings) if language == "en" else not any(meanings)


@pytest.mark.parametrize("word", ["", ".", "the", "나", "{", "나는.", "one"])
def test_other_words_have_none(word):
    assert gloss(speaker("en"), word) == ""


def test_tokens_page_says_what_the_words_mean():
    at = open_page("tokens", model="worked-example", lang="en")
    lines = rows(at, "plain")
    assert lines[0] == ["Word", "Meaning", "ID", "In your text"]
    assert lines[3][:3] == ["먹었다", "ate", "2"] and lines[6][:2] == [".", ""]
    assert '<span class="gloss">ate</span>' in drawn(at)
    assert 'title="ate"' in drawn(at)  # the token in the sidebar


def test_words_to_choose_from_say_what_they_mean():
    html = drawn(open_page("tokens", model="worked-example", lang="en", prompt="cat"))
    assert '>물을 <small class="gloss">water (what is drunk)</small></a>' in html


def test_nobody_explains_korean_in_korean():
    at = open_page("tokens", model="worked-example", lang="ko", prompt="cat")
    assert "gloss" not in drawn(at) and len(rows(at, "plain")[0]) == 3


def test_belt_says_it_where_one_points():
    html = drawn(open_page("overview", model="worked-example", lang="en"))
    assert 'title="ate · Look at token 2' in html
