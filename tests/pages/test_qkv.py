"""The Q, K, V page: three projections, heads, what is kept and what is not."""

import re

import pytest

from tests.support.app import boards, components, drawn, open_page, panels, rows, said
from tests.support.close import assert_close


def example(preset="block", **query):
    return open_page("qkv", model="worked-example", preset=preset, **query)


def test_shape_of_the_bundled_projection():
    text = said(open_page("qkv", model="bundled", layer=3, head=2, token=1))
    assert "4 × 160 × 40" in text


def test_preset_without_blocks_offers_one_with():
    text = said(example("part-1"))
    assert "no Q, K or V" in text and "Show a variant with attention" in text


@pytest.mark.parametrize("preset", ["part-2", "part-5"])
def test_identity_projections_leave_x_as_it_is(preset):
    at = example(preset)
    assert "Q = K = V = X. Largest difference: 0." in said(at)
    shown = panels(at)
    assert shown["= Q"] == shown["= K"] == shown["= V"] == shown["X"]
    assert_close(shown["X"], [[0.2, 1.0, 0.1], [0.9, 0.1, 0.4], [0.6, 0.4, 0.9]], 1e-12)


@pytest.mark.parametrize(("head", "kept"), [(0, slice(0, 2)), (1, slice(1, 3))])
def test_two_heads_read_different_numbers(head, kept):
    shown = panels(example("part-3", head=head))
    assert shown["= Q"] == [row[kept] for row in shown["X"]]


def test_head_is_chosen_from_the_picture():
    (heads,) = components(example(head=1), "heads")
    assert heads["current"] == 1 and len(heads["heads"]) == 2


def test_single_head_offers_several():
    text = said(example("part-2"))
    assert "a single head" in text and "Show two heads" in text


def test_sizes_of_what_stays_and_what_goes():
    at = open_page("qkv", model="bundled", prompt="In the beginning God created the")
    table = {row[0]: row[1:] for row in rows(at, "plain stacked worded facts-table")}
    assert table["W_Q"] == ["4 × 160 × 40", *2 * ["25,600 · 102 KB"], "in the model’s file"]
    assert table["Q"][:3] == ["4 × 6 × 40", "960 · 3.84 KB", "40,960 · 164 KB"]
    assert table["A"][:3] == ["4 × 6 × 6", "144 · 576 B", "262,144 · 1.05 MB"]
    assert "kept on" in table["K"][3] and "kept on" not in table["Q"][3]


def test_without_a_mask_nothing_is_cached():
    table = {row[0]: row[1:] for row in rows(example("part-2"), "plain stacked worded facts-table")}
    assert table["K"][3] == table["Q"][3]


@pytest.mark.parametrize("text", ["", "x" * 3000, "<img src=x> $x$ {curly}", "👩‍👩‍👧"])
def test_any_text_is_answered(text):
    assert "<img src=x>" not in drawn(open_page("qkv", model="bundled", prompt=text))


def test_nonsense_in_the_link_is_replaced():
    at = open_page("qkv", model="bundled", letter="💥", head="9", layer="-1", token="x")
    assert "“💥”" in said(at)


@pytest.mark.parametrize("letter", ["Q", "K", "V"])
def test_the_picture_of_a_projection_is_clicked_to_read_its_numbers(letter):
    at = open_page("qkv", model="bundled", letter=letter)
    (chosen,) = re.findall(
        r'<a class="choice here" aria-current="true"[^>]*data-set="(.*?)"', drawn(at)
    )
    assert chosen == f"letter={letter}"
    window = boards(at)[0]["panels"][0]
    assert window["name"] == f"blocks.0.attn.W_{letter}" and window["mode"] == "numbers"
