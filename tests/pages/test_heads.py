"""The Heads page: the weighted sum, all heads beside each other, and W_O."""

import re

import pytest

from tests.support.app import boards, drawn, open_page, pictures, rows, said, stacked


def example(preset="part-3", **query):
    return open_page("heads", model="worked-example", preset=preset, **query)


def test_size_of_the_bundled_output_projection():
    text = said(open_page("heads", model="bundled", layer=3, head=2, token=1))
    assert "160 × 160" in text


def test_printed_row_comes_out_of_attention():
    totals = [row for row in stacked(example()) if row[0] == "attention out"]
    assert totals[0][1:] == ["0.74", "0.44", "0.77"]


def test_weighted_sum_lists_each_token_and_adds_up():
    at = example("part-2")
    lines = [row for row in stacked(at) if "×" in row[0]]
    assert [line[0].split(" ×")[0] for line in lines] == ["0.27", "0.32", "0.41"]
    (total,) = (row[1:] for row in stacked(at) if row[0] == "sum, z")
    for column, value in enumerate(map(float, total), 1):
        parts = sum(float(line[column]) for line in lines)
        assert parts == pytest.approx(value, abs=0.015)


def test_masked_tokens_take_no_part():
    lines = [row for row in stacked(example("part-5", token=1)) if "×" in row[0]]
    assert len(lines) == 2


def test_heads_are_joined_without_arithmetic():
    found = stacked(example())
    heads = [row[1:] for row in found if row[0].startswith("head ")][:2]
    (joined,) = (row[1:] for row in found if row[0] == "joined")
    assert joined[:2] == heads[0]


def test_shapes_of_known_models():
    table = rows(example(), "plain shapes stacked")
    assert table[1][1:] == ["2", "2", "4", "3", "4 × 3", "no"]
    assert table[3] == ["GPT-3", "96", "128", "12,288", "12,288", "12,288 × 12,288", "yes"]


def test_one_projection_is_computed_both_ways_and_its_code_shown():
    at = example()
    assert "1 call instead of 2" in said(at) and "Largest difference: 0" in said(at)
    assert any("def split_by_view" in block.value for block in at.code)


def test_a_single_head_gets_a_word_and_a_link():
    at = example("part-2")
    assert "a single head" in said(at) and 'data-set="preset=part-3"' in drawn(at)


def test_a_model_without_blocks_gets_a_word_and_a_link():
    at = example("part-1")
    assert "has no block" in said(at) and 'data-set="preset=block"' in drawn(at)


@pytest.mark.parametrize("words", [12, 200])
def test_every_factor_of_both_products_is_shown_at_any_length(words):
    at = open_page("heads", model="bundled", prompt=" and the king said" * (words // 4))
    shown = pictures(at)
    titles = [one["title"] for one in shown]
    titles += [panel["title"] for board in boards(at) for panel in board["panels"]]
    for title in ("A, the shares", "V, the values", "Z = A·V", "joined", "W_O", "joined · W_O"):
        assert title in titles
    sizes = {one["title"]: one["size"] for one in shown}
    assert sizes["W_O"] == [160, 160]
    assert sizes["joined"] == sizes["joined · W_O"] == [words, 160]


def test_a_heads_part_of_the_one_product_is_chosen_and_read():
    at = open_page("heads", model="bundled", head=2)
    links = re.findall(r'<th colspan="40"[^>]*><a [^>]*data-set="head=(\d)"([^>]*)', drawn(at))
    assert [int(head) for head, _ in links] == [0, 1, 2, 3] * 2
    assert [int(head) for head, rest in links if "aria-current" in rest] == [2, 2]
    grids = [panel for board in boards(at) for panel in board["panels"]]
    weights, queries = grids[-2:]
    assert (weights["name"], queries["name"]) == ("blocks.0.attn.W_Q", "blocks.0.attn.q")
    assert weights["index"][0] == queries["index"][0] == 2 and weights["mode"] == "numbers"
