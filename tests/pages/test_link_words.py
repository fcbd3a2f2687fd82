"""What a link names and the page lacks is said in the words of the page."""

import pytest

from tests.support.app import drawn, open_page, said


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"model": "nope"}, "model = “nope”, which does not exist here. We show “Bundled GPT”"),
        ({"experiment": "nope"}, "experiment = “nope”, which does not exist here. It is left out."),
        ({"model": "worked-example", "preset": "nope"}, "We show “The whole block” instead"),
    ],
)
def test_shown_titles_and_not_keys(query, words):
    text = said(open_page("tokens", **query))
    assert words in text and "“”" not in text


def test_examples_name_the_model_they_lead_to():
    other = '<small class="gloss">Bundled GPT</small>'
    assert other in drawn(open_page("overview", model="worked-example", preset="block"))
    assert other not in drawn(open_page("overview", model="bundled"))
