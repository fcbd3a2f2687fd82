"""The Position page: the printed sum, the other order, places compared, the end of the table."""

import re

import pytest

import core
from core.view import engine
from tests.support.app import boards, drawn, open_page, panels, rows, said
from tests.support.close import assert_close


def example(preset="part-2", **query):
    return open_page("position", model="worked-example", preset=preset, **query)


def test_bundled_model_names_the_end_of_its_table():
    assert "256" in said(open_page("position", model="bundled", layer=3, head=2, token=1))


def test_printed_sum():
    shown = panels(example("part-1"))
    assert shown["X"] == [[0.2, 0.9, 0.1], [0.8, 0.1, 0.3], [0.4, 0.3, 0.9]]
    assert shown["+ P"] == [[0, 0.1, 0], [0.1, 0, 0.1], [0.2, 0.1, 0]]
    assert_close(shown["= H₀"], [[0.2, 1.0, 0.1], [0.9, 0.1, 0.4], [0.6, 0.4, 0.9]], 1e-12)


def test_same_word_has_the_same_row_only_without_places():
    moved = [row for row in rows(example(), "plain stacked facts-table") if "→" in row[1]]
    assert [row[:3] for row in moved] == [["나는", "0 → 1", "0"], ["밥을", "1 → 0", "0"]]
    assert all(float(row[3]) > 0 for row in moved)


def test_last_token_notices_the_order_only_with_places():
    table = re.search(r'<table class="orders">.*', drawn(example()), re.S).group()
    without, with_places = re.findall(r"<b>([^<]*)</b>", table)[:2]
    assert without == "0" or "10⁻" in without
    assert float(with_places) > 0.01


def test_deep_models_find_the_order_through_the_mask():
    at = open_page("position", model="bundled", prompt="The cat sat on the mat")
    assert "Is the order then really lost without places?" in said(at)
    first, deep = re.search(
        r"only by (\S+·10⁻\S+), .* the difference is (\S+)\.", said(at)
    ).groups()
    assert first and float(deep) > 0.001


def test_preset_without_blocks_offers_one_with():
    text = said(example("part-1"))
    assert "no block" in text and "Show the whole block" in text


@pytest.mark.parametrize("prompt", ["나는", "나는 나는 나는", "나는 밥을"])
def test_text_without_another_order_says_so(prompt):
    assert "no other order" in said(example(prompt=prompt))


def test_rotary_columns_are_constant_and_learned_ones_are_not():
    text = said(example("block"))
    spreads = re.findall(r"Largest difference within a column: (\S+)", text)
    assert spreads[0] == "0" or "10⁻" in spreads[0]
    assert float(spreads[1]) > 0.01


def test_clocks_keep_their_angle():
    angles = re.findall(r"<figcaption>[^<]*<b>([0-9.]+)°</b>", drawn(example("block")))
    assert len(angles) == 4 and len(set(angles)) == 1


def test_too_long_text_is_cut_at_the_front():
    text = said(example())
    assert "until it has 11 tokens: the model keeps the last 8 and drops 3" in text
    text = said(open_page("position", model="bundled"))
    assert "until it has 259 tokens: the model keeps the last 256 and drops 3" in text


def test_long_text_shows_one_row_of_the_sum():
    at = open_page("position", model="bundled", prompt="word " * 200, token=100)
    (board,) = [board for board in boards(at) if len(board["panels"]) == 3]
    assert [len(panel["rows"]) for panel in board["panels"]] == [1, 1, 1]


@pytest.mark.parametrize("text", ["", "x" * 3000, "<img src=x> $x$ {curly}", "👩‍👩‍👧"])
def test_any_text_is_answered(text):
    assert "<img src=x>" not in drawn(open_page("position", model="bundled", prompt=text))


@pytest.mark.parametrize("position", ["sinusoidal", "none"])
def test_model_without_a_table_of_places_says_so(position, monkeypatch):
    model = core.load("worked-example", preset="block", position=position)
    monkeypatch.setattr(engine, "load", lambda key, preset: model)
    monkeypatch.setattr(engine, "trace", lambda key, preset, ids: model.trace(list(ids)))
    assert "no table of places" in said(example("block"))


def test_a_model_without_places_is_not_said_to_add_any():
    text = said(open_page("position", model="bundled", do="add.position~none"))
    assert "no row of places is added" in text and "place adds a row of its own" not in text
    assert "With places it is not" not in text
