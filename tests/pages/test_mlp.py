"""The MLP page: the printed numbers, the curve, and the experiments."""

import html
import json
import re

import numpy as np
import pytest

from tests.support.app import boards, components, drawn, open_page, panels, pictures, rows, said


def example(preset="part-4-mlp", **query):
    return open_page("mlp", model="worked-example", preset=preset, **query)


def cells(at):
    """The numbers of each row of the hourglass."""
    vectors = re.findall(r'<span class="vec">(.*?)</span>', drawn(at), re.S)
    return [re.findall(r">([^<]+)<", vector) for vector in vectors]


@pytest.mark.parametrize(("preset", "has_mlp"), [("part-4", True), ("part-5", False)])
def test_hourglass_stands_where_there_is_an_mlp(preset, has_mlp):
    assert ('class="glass"' in drawn(example(preset))) == has_mlp


def test_width_of_the_bundled_mlp():
    assert "640" in said(open_page("mlp", model="bundled", layer=3, token=1))


def test_printed_numbers_of_the_hidden_row():
    reads, hidden, act, out, *_ = cells(example())
    assert reads == ["0.74", "0.44", "0.77"]
    assert hidden[:4] == ["1.61", "−0.40", "1.21", "−0.33"]
    assert (act[1], act[3]) == ("−0.14", "−0.12")
    assert len(out) == 3


def test_table_sets_gelu_beside_relu():
    table = rows(example(), "plain figures")
    assert table[2] == ["1", "−0.40", "−0.14", "0.20", "0.00", "0.00"]
    assert table[4][1:] == ["−0.33", "−0.12", "0.25", "0.00", "0.00"]
    assert "2 of the 6 numbers" in said(example())


def test_flat_point_and_the_gap_to_the_exact_curve():
    text = said(example())
    assert "near z = −0.75" in text
    assert "differ most at z = −2.70, by 0.00047" in text


def test_curve_has_the_tokens_own_numbers_on_it():
    at = example()
    (chart,) = components(at, "curve")
    assert chart["flat"]["text"] == "slope 0 at z = −0.75"
    assert chart["points"]["z"][:4] == pytest.approx([1.61, -0.40, 1.21, -0.33], abs=0.006)
    assert chart["points"]["name"] == "blocks.0.mlp.act~2"
    assert not at.get("plotly_chart")  # before somebody asks for it


def test_closer_look_is_drawn_when_it_is_opened():
    at = example()
    at.session_state["mlp.zoom"] = True
    at.run()
    assert not at.exception
    (chart,) = at.get("plotly_chart")
    layout = json.loads(chart.proto.spec)["layout"]
    low, high = layout["xaxis"]["range"]
    assert low < -2.70 < high  # where the two differ most


def test_one_matrix_is_the_product():
    at = example()
    assert "which is only rounding" in said(at)
    drawn_rows = panels(at)["W_1·W_2, one matrix of 3 × 3"]
    assert drawn_rows[0] == pytest.approx([0.70, -0.30, -0.40])  # [1, -1, 0, 0, 1, -1] · W_2


def test_number_of_the_one_matrix_has_its_arithmetic():
    at = example(one_row=0, one_column=2)
    assert "row 0 of W_1 times column 2 of W_2" in said(at)
    made = re.search(r'<div class="entry">(.*?)</div>', drawn(at), re.S).group(1)
    written = html.unescape(re.sub("<[^>]+>", "", made))
    summed, value = written.replace("−", "-").split(" = ")
    assert float(value) == -0.4
    first, *others = re.split(" ([+-]) ", summed)
    terms = [
        first,
        *(sign.strip("+") + term for sign, term in zip(*[iter(others)] * 2, strict=True)),
    ]
    products = [np.prod([float(factor.strip("()")) for factor in t.split("·")]) for t in terms]
    assert len(products) == 6
    assert sum(products) == pytest.approx(-0.4)
    assert "open=blocks.0.mlp.W_1~0-0" in made and "at=entry" in made


def test_other_token_does_not_move_this_one():
    table = rows(example(), "plain twice")
    assert table[1][-1] == "0"
    assert float(table[2][-1]) > 0.1
    assert "moves by up to 0.162" in said(example())


def test_blanked_token_is_chosen_in_the_link():
    at = example(other=0)
    assert "Only “나는” itself changed" in said(at)
    assert "0" in at.query_params["other"]


def test_later_token_is_hidden_by_the_mask():
    assert "comes later than" in said(example("block", token=0, other=2))


def test_single_token_has_no_other():
    assert "only one token" in said(example(prompt="나는"))


def test_neurons_with_what_they_promote():
    text = said(example())
    assert "Neuron 0" in text and "먹었다 +0.84" in text  # 1.52·0.5·1.1


def test_gpt3_has_twice_as_much_in_its_mlp():
    table = rows(example(), "plain figures stacked")
    assert table[0][2:4] == ["MLP W_1 W_2", "Attention W_Q W_K W_V W_O"]
    assert table[-1][1:] == [
        "12,288 → 49,152 → 12,288 (× 4)",
        "1,207,959,552",
        "603,979,776",
        "2 : 1",
    ]
    assert "3 → 6 → 3 (× 2)" in table[-2][1]
    assert "about 1.2 billion" in said(example())
    assert "약 12억 개" in said(example(lang="ko"))


def test_variant_without_an_mlp_says_where_to_find_one():
    at = example("part-2")
    assert "has no MLP" in said(at) and "preset=part-4-mlp" in drawn(at)


def test_number_opens_from_the_link():
    at = example(open="blocks.0.mlp.act~2-1")
    assert 'aria-current="true"' in drawn(at)


@pytest.mark.parametrize("query", [{"other": "💥"}, {"other": 99}, {"open": "nonsense"}])
def test_nonsense_in_the_link_does_no_harm(query):
    assert "Expand, bend, contract" in said(example(**query))


def test_hostile_text_stays_text():
    at = open_page("mlp", model="bundled", prompt="<b>x</b> **y** $z$ <script>")
    assert "<script>" not in drawn(at) and "<b>x" not in drawn(at)


@pytest.mark.parametrize("tokens", [41, 100, 256])
def test_long_text_is_a_picture_whose_window_shows_the_token(tokens):
    words = " and the king said" * 64
    prompt = words[: len(" and the king said") * (tokens // 4)] + " and" * (tokens % 4)
    at = open_page("mlp", model="bundled", prompt=prompt, token=tokens - 1)
    (picture, *_) = [one for one in pictures(at) if one["title"] == "Hidden"]
    assert picture["size"] == [tokens, 640] and picture["seen"] == [tokens - 1, None]
    panels = [panel for board in boards(at) for panel in board["panels"]]
    (window, *_) = [one for one in panels if one["name"].endswith("mlp.hidden")]
    assert [row["at"] for row in window["rows"]] == list(range(tokens - 10, tokens))
    assert window["follow"] == 9
    assert all(len(one["rows"]) <= 20 for one in panels)
