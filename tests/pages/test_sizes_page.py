"""The Sizes page: published figures appear, fields follow the card, nothing crashes."""

import math
import re

import pytest
import torch

import core
from core.analysis import recall
from tests.support.app import open_page, rows, said


@pytest.mark.parametrize(
    ("card", "figures"),
    [
        ("GPT-2 small", ["124,439,808", "163,037,184", "84,934,656"]),
        ("GPT-3 175B", ["617,558,016", "= 9,663,676,416 B = 9.00 GiB"]),
        (
            "Llama 3 8B",
            ["8,030,261,248", "1,342,177,280", "5,637,144,576", "131,072 B", "524,288 B"],
        ),
    ],
)
def test_published_figures(card, figures):
    shown = said(open_page("sizes", card=card))
    for figure in figures:
        assert figure in shown


def test_changed_numbers_are_used_and_go_when_another_card_is_chosen():
    at = open_page("sizes", card="Llama 3 8B", c_n_kv_heads=32)
    assert "32, as this model has it 524,288 B 1 one for all" in said(at)
    at.session_state["_click"] = "card=GPT-2 small"
    at.run()
    assert not at.exception
    assert "124,439,808" in said(at)
    assert at.session_state["c_n_kv_heads"] == 12


def test_numbers_that_no_model_can_have_are_said():
    shown = said(open_page("sizes", card="Llama 3 8B", c_n_kv_heads=5))
    assert "32 query heads cannot share 5 pairs of keys and values evenly" in shown
    assert "8,030,261,248" in shown


@pytest.mark.parametrize(
    ("query", "english", "korean"),
    [
        ({"card": "GPT-2 small", "c_n_kv_heads": 5}, "12 query heads cannot share 5", "12의 약수"),
        ({"card": "Llama 3 8B", "c_d_head": 127}, "d_head = 127 is odd", "127은 홀수예요"),
    ],
)
def test_why_no_model_can_have_them_is_said_in_the_language_of_the_page(query, english, korean):
    for lang, words in (("en", english), ("ko", korean)):
        text = said(open_page("sizes", lang=lang, **query))
        assert words in text
        assert ("as it was published" in text) == (lang == "en")


def test_limits_are_written_as_people_do():
    text = said(open_page("sizes", card="GPT-2 small", c_d_model="0"))
    assert "c_d_model = “0”" in text and "1 to 100,000" in text and "768." in text


def test_nonsense_in_a_link_is_said_and_the_default_used():
    shown = said(open_page("sizes", card="GPT-9", len="-3", people="many", kv="int1"))
    assert "GPT-9" in shown
    assert "124,439,808" in shown


def test_it_fits_or_not():
    assert "It fits" in said(open_page("sizes", memory_gib=1))
    no = said(open_page("sizes", card="GPT-3 175B", memory_gib=80))
    needed = (174_604_259_328 * 2 + 9 * 2**30 + 4 * 50257) / 2**30
    assert f"{needed - 80:,.2f} GiB are missing" in no


def test_four_tokens_against_exp_by_hand():
    at = open_page("sizes")
    scores = [1.2, 4.1, 3.0, 0.4]
    powers = [math.exp(score) for score in scores]
    half = [math.exp(score / 2) for score in scores]
    expected = {
        "scores, as printed": scores,
        "weights, as printed": [0.05, 0.60, 0.31, 0.04],
        "softmax of the scores": [power / sum(powers) for power in powers],
        "softmax, scores divided by √4": [power / sum(half) for power in half],
        "softmax, later words hidden": [*(p / sum(powers[:3]) for p in powers[:3]), 0],
        "divided by √4 and hidden": [*(p / sum(half[:3]) for p in half[:3]), 0],
    }
    found = {row[0]: row[1:] for row in rows(at, "sums plain") if row[0] in expected}
    assert found == {name: [f"{v:.2f}" for v in values] for name, values in expected.items()}


def test_recall_is_measured_on_the_model():
    shown = said(open_page("sizes", fact="Emma"))
    model = core.load("bundled")
    text = recall.text_with_fact("Emma", 6)
    assert text.count("The servant’s name was") == 2
    logits = model.forward(text)[-1].double()
    emma = model.tokenizer.encode(" Emma")[0]
    share = torch.softmax(logits, -1)[emma].item()
    assert re.search(rf"Best at the end: {100 * share:.1f} %", shown)


def test_a_model_of_six_words_offers_the_bundled_one():
    assert "Measure it with the bundled GPT" in said(open_page("sizes", model="worked-example"))


def test_each_block_shares_its_matrices_out_between_attention_and_mlp():
    """GPT-3: W_Q, W_K, W_V and W_O are d·d each, W_1 and W_2 d·4d: 4 to 8."""
    shown = said(open_page("sizes", card="GPT-3 175B"))
    attention, mlp = 4 * 12288**2, 2 * 12288 * 4 * 12288
    assert f"attention has {attention:,} of them and the MLP {mlp:,}: 1 to 2." in shown
    assert (f"{attention / 1e9:.3f}", f"{mlp / 1e9:.3f}") == ("0.604", "1.208")


def test_shared_keys_and_values_are_a_part_of_those_for_each_head():
    at = open_page("sizes", card="Llama 3 8B")
    parts = {
        row[1]: row[2] for row in rows(at, "sums plain stacked") if row[0] != "Keys and values"
    }
    assert [parts[held] for held in ("524,288 B", "131,072 B", "16,384 B")] == ["1", "1/4", "1/32"]


def test_factors_are_called_in_the_language_of_the_page():
    shown = said(open_page("sizes", lang="ko"))
    assert "k, v × n_layers × n_kv_heads × d_head × 바이트 × 토큰 × 동시에 쓰는 사람" in shown
    assert " and " not in shown.split("The servant")[0]


@pytest.mark.parametrize(
    ("people", "words"), [(1, "tokens for 1 person."), (3, "each of 3 people.")]
)
def test_one_person_is_no_people(people, words):
    assert words in said(open_page("sizes", people=people))
