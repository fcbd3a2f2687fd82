"""The Scores page: four matrices, one row followed, and why each step is there."""

import re

from tests.support.app import drawn, open_page, rows, said

EXAMPLE = {"model": "worked-example"}


def example(preset="part-2", **query):
    return open_page("scores", **EXAMPLE, preset=preset, **query)


def followed(at):
    """The table that follows one row: without its head and its sums."""
    return rows(at, "followed")[1:-1]


def test_bundled_model_divides_by_the_root_of_its_width():
    at = open_page("scores", model="bundled", layer=1, head=1, token=2)
    assert "√40" not in said(at) and "÷ 6.32" in drawn(at)


def test_printed_row_is_followed_through_all_four():
    lines = followed(example())[:3]
    raw, scaled, shares = ([line[i] for line in lines] for i in (1, 2, 5))
    assert raw[2] == "1.33"
    assert scaled == ["0.35", "0.54", "0.77"]
    assert shares == ["0.27", "0.32", "0.41"]


def test_followed_row_is_that_of_the_token_we_look_at():
    lines = followed(example("part-5", token=0))[:3]
    assert [line[3] for line in lines] == ["0.61", "−∞", "−∞"]
    assert [line[5] for line in lines] == ["1.00", "0.00", "0.00"]


def test_long_text_shows_the_largest_shares_and_says_how_many_are_left():
    at = open_page("scores", model="bundled", prompt="the cat " * 20, token=30)
    labels = [line[0] for line in rows(at, "followed")[1:]]
    assert "24 other tokens" in labels and any("later tokens" in label for label in labels)


def test_not_divided_the_softmax_saturates_as_the_width_grows():
    largest = [float(n) for n in re.findall(r"largest\s+([\d.]+) %", said(example()))]
    without, divided = largest[:5], largest[5:]
    assert without == sorted(without) and without[-1] > 95
    assert max(divided) < 40


def test_dropout_says_what_the_rest_is_multiplied_by():
    assert "1/(1 − p) = 1.11" in said(example())
    assert "1/(1 − p) = 2.00" in said(example(dropout="0.5"))


def test_dropout_rate_and_draw_are_kept_in_the_link():
    at = example(dropout="0.5", dropout_draw=7)
    assert at.query_params["dropout"] == "0.5" and at.query_params["dropout_draw"] == "7"
    assert "dropout_draw=8" in drawn(at)
    at.select_slider(key="dropout").set_value("0.3").run()
    assert at.query_params["dropout"] == "0.3"


def test_a_draw_is_always_the_same_and_another_one_differs():
    squares = [drawn(example(dropout="0.5", dropout_draw=draw)) for draw in (2, 2, 3)]
    assert squares[0] == squares[1]
    assert squares[0].count("✕ 0") + squares[2].count("✕ 0") > 0 and squares[0] != squares[2]


def test_nonsense_in_the_link_is_named_and_replaced():
    at = open_page("scores", dropout="2", dropout_draw="-1", head="99")
    assert "dropout" in said(at) and "0 to 999" in said(at)
    assert "= 1.11" in said(at)


def test_scores_are_symmetric_in_the_example_with_one_head():
    assert "mirror image by up to 0:" in said(example())
    assert "mirror image by up to 0:" not in said(open_page("scores", model="bundled"))


def test_both_ways_of_masking_agree():
    assert re.search(r"between the two ways: (0|[\d.]+·10⁻¹[⁶⁷⁸])", said(example("part-5")))


def test_a_model_without_blocks_gets_a_word_and_a_link():
    at = example("part-1")
    assert "has no block" in said(at) and 'data-set="preset=block"' in drawn(at)
