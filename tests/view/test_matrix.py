"""Slices, labels, marks and scales of the matrices, before a browser draws them."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import core
from core.graph import Ref
from core.view import scale
from core.view.board import board, image, numbers
from core.view.cut import cut, digits_for, take
from core.view.figures import pooled
from core.view.look import Look
from core.view.texts import speaker
from core.view.window import _start, asked_for, corner_of, is_large

APP = str(Path(__file__).parents[1] / "e2e" / "matrix_app.py")
HOSTILE = "<img src=x onerror=alert(1)> $x$ **b** ![i](https://example.org/i.png)"


@pytest.fixture(scope="module")
def model():
    return core.load("worked-example", preset="block")


@pytest.fixture(scope="module")
def trace(model):
    return model.trace(model.default_prompt)


def look_at(trace, token=2, language="en"):
    return Look(speaker(language), trace, None, 0, 0, token)


def panel(trace, *cuts, **options):
    return board(look_at(trace), cuts, **options)["panels"][0]


def test_a_head_of_an_attention_array_is_query_by_key(trace):
    found = cut(trace, "blocks.0.attn.scores", (1, None, None))
    assert np.array_equal(found.values, trace["blocks.0.attn.scores"][1].numpy())
    assert (found.rows.word, found.columns.word) == ("query", "key")


def test_transposed_rows_are_columns_and_cells_keep_their_elements(trace):
    found = cut(trace, "blocks.0.attn.k", (0, None, None), transposed=True)
    assert np.array_equal(found.values, trace["blocks.0.attn.k"][0].T.numpy())
    assert (found.rows.word, found.columns.word) == ("d_head", "pos")
    row, column = found.place(Ref("blocks.0.attn.k", (0, 2, 1)))
    assert found.values[row, column] == trace.value("blocks.0.attn.k", (0, 2, 1))


def test_one_axis_of_tokens_is_a_column_and_any_other_a_row(trace):
    assert cut(trace, "blocks.0.ln_1.mean").values.shape == (3, 1)
    assert cut(trace, "blocks.0.ln_1.gamma").values.shape == (1, 3)


def test_a_list_picks_some_of_an_axis(trace):
    found = cut(trace, "logits", (2, [5, 0]))
    assert found.columns.at == (5, 0)
    assert found.values.tolist() == [[trace.value("logits", (2, 5)), trace.value("logits", (2, 0))]]
    assert found.place(Ref("logits", (2, 0))) == (0, 1)
    assert found.place(Ref("logits", (2, 1))) is None
    assert found.place(Ref("logits", (1, 0))) is None
    assert found.place(Ref("probs", (2, 0))) is None


@pytest.mark.parametrize("rows", [[0, 1, 2], [1, 2], [2, 0, 2], []])
@pytest.mark.parametrize("columns", [None, [0, 1], [2, 1]])
def test_places_of_one_head_are_taken_as_numpy_does(trace, rows, columns):
    whole = trace["blocks.0.attn.scores"].numpy()
    wanted = whole[1][np.ix_(rows, range(3) if columns is None else columns)]
    assert np.array_equal(take(trace, "blocks.0.attn.scores", (1, rows, columns)), wanted)


def test_places_that_follow_each_other_are_not_copied(trace):
    taken = take(trace, "blocks.0.attn.scores", (1, [0, 1, 2], [1, 2]))
    assert np.shares_memory(taken, trace["blocks.0.attn.scores"].numpy())


@pytest.mark.parametrize("index", [(None, None, None), (0, 0, 0), (None, None)])
def test_only_one_or_two_axes_can_be_drawn(trace, index):
    with pytest.raises(ValueError, match="one or two"):
        cut(trace, "blocks.0.attn.scores", index)


def test_weights_can_be_drawn_too(trace, model):
    found = cut(trace, "blocks.0.attn.W_Q", (1, None, None))
    assert np.array_equal(found.values, model.weights["blocks.0.attn.W_Q"][1].numpy())


def test_masked_are_the_infinite_scores_and_the_shares_of_the_same_keys(trace):
    later = np.triu(np.ones((3, 3), bool), 1)
    for name in ("scores_masked", "weights"):
        found = cut(trace, f"blocks.0.attn.{name}", (0, None, None))
        assert np.array_equal(found.masked, later)
    assert cut(trace, "blocks.0.attn.scores", (0, None, None)).masked is None


def test_a_share_of_zero_that_nobody_masked_does_not_look_masked():
    model = core.load("worked-example", preset="part-2")
    trace = model.trace(model.default_prompt)
    assert cut(trace, "blocks.0.attn.weights", (0, None, None)).masked is None
    assert cut(trace, "embed.onehot").masked is None


def test_repeated_tokens_keep_their_own_row_and_column(model):
    trace = model.trace("밥을 밥을 밥을")
    drawn = panel(trace, cut(trace, "blocks.0.attn.weights", (0, None, None)))
    assert [(row["text"], row["index"]) for row in drawn["rows"]] == [
        ("밥을", "0"),
        ("밥을", "1"),
        ("밥을", "2"),
    ]
    assert len({row["spoken"] for row in drawn["rows"]}) == 3
    assert len(drawn["values"]) == 9


def test_the_colour_scale_belongs_to_the_whole_step(trace):
    ends = {cut(trace, "blocks.0.attn.scores", (head, None, None)).limit for head in (0, 1)}
    assert ends == {scale.end(trace, "blocks.0.attn.scores")}
    assert scale.end(trace, "blocks.0.attn.scores_masked") < math.inf


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([1.0, 0.0], 0),
        ([0.2, 0.9, 0.1], 1),
        ([1.05, 0.32], 2),
        ([0.6062177826491071], 2),
        ([0.0123, -0.0456], 3),
        ([1e-5], 5),
        ([123.456], 1),
        ([-np.inf, 0.5], 1),
        ([], 0),
    ],
)
def test_as_many_digits_as_it_takes(values, digits):
    assert digits_for(np.array(values)) == digits


def test_float32_rounding_does_not_cost_digits():
    assert digits_for(torch.tensor([0.2, 0.9, 0.1]).double().numpy(), 4) == 1


def test_infinity_survives_the_way_to_the_browser():
    assert numbers(np.array([[-np.inf, np.inf, np.nan, 1 / 3]])) == [None, "∞", "NaN", 1 / 3]


def test_numbers_come_with_as_many_digits_as_their_type_has():
    thirds = np.array([1 / 3, 0.1])
    assert numbers(thirds) == [1 / 3, 0.1]
    assert numbers(thirds.astype(np.float32)) == [0.333333343, 0.100000001]
    assert numbers(thirds, np.dtype(np.float32)) == [0.333333333, 0.1]


def test_nine_digits_are_those_that_python_writes():
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    any_size = bits.view(np.float32)
    halves = (bits % 2**24 * 2.0 ** -(bits % 37.0)).astype(np.float32)  # many end at a half
    values = np.concatenate([any_size[np.isfinite(any_size)], halves, np.float32([0, -0.0, 1e9])])
    written = [float(f"{value:.9g}") for value in values.tolist()]
    assert np.array(numbers(values)).tobytes() == np.array(written).tobytes()


def test_the_opened_cell_and_what_it_was_computed_from_are_marked(trace):
    name = "blocks.0.attn.q"
    ref = Ref(name, (0, 2, 1))
    drawn = panel(
        trace, cut(trace, name, (0, None, None)), open_at=[ref], parts={Ref(name, (0, 1, 0))}
    )
    assert drawn["open"] == (2, 1)
    assert drawn["parts"] == [2]
    other_head = panel(trace, cut(trace, name, (1, None, None)), open_at=[ref], parts={ref})
    assert other_head["open"] is None
    assert other_head["parts"] == []


def test_the_row_of_the_token_where_we_look_is_followed(trace):
    attention = cut(trace, "blocks.0.attn.scores", (0, None, None))
    assert panel(trace, attention, follow=True)["follow"] == 2
    assert panel(trace, attention)["follow"] is None
    weight = cut(trace, "blocks.0.attn.W_Q", (0, None, None))
    assert panel(trace, weight, follow=True)["follow"] is None


def test_labels_of_tokens_and_heads_can_be_picked_and_of_dimensions_not(trace):
    assert cut(trace, "blocks.0.attn.q", (0, None, None)).picks == {"row": "token"}
    assert cut(trace, "blocks.0.attn.scores", (0, None, None)).picks == {
        "row": "token",
        "column": "token",
    }
    assert cut(trace, "blocks.0.attn.q", (None, None, 0)).picks["row"] == "head"
    assert cut(trace, "blocks.0.attn.W_Q", (0, None, None)).picks == {}


def test_old_values_come_along(trace):
    name = "blocks.0.attn.q"
    old = trace[name][0].numpy() + 1
    drawn = panel(trace, cut(trace, name, (0, None, None), before=old))
    assert drawn["before"] == numbers(old)
    legends = board(look_at(trace), [cut(trace, name, (0, None, None), before=old)])["legends"]
    assert "changed" in {legend["kind"] for legend in legends}


def test_few_numbers_are_written_and_many_are_colours(trace):
    small = cut(trace, "blocks.0.attn.scores", (0, None, None))
    assert panel(trace, small)["mode"] == "numbers"
    wide = cut(trace, "logits", (0, [0] * 25))
    assert panel(trace, wide)["mode"] == "colours"


def test_a_window_keeps_labels_and_elements(trace):
    part = cut(trace, "blocks.0.attn.scores_masked", (0, None, None)).window((1, 0), (2, 2))
    assert part.rows.at == (1, 2)
    assert part.masked.tolist() == [[False, False], [False, False]]
    assert part.place(Ref("blocks.0.attn.scores_masked", (0, 2, 1))) == (1, 1)


@pytest.mark.parametrize(
    "state",
    [
        *(None, {}, {"corners": "x"}, {"corners": []}, {"corners": ["x"]}, {"corners": [{}]}),
        *({"corners": [{"corner": at}]} for at in ("x", [1, 2])),
        *({"corners": [{"corner": at, "seen": [None, None]}]} for at in ([1], [None, 2], [0.5, 1])),
        *({"corners": [{"corner": [1, 2], "seen": seen}]} for seen in ("x", [1], [math.nan, None])),
    ],
)
def test_nonsense_moves_no_window(state):
    assert asked_for(state, 0) is None


def test_each_window_of_an_element_is_moved_by_itself():
    moved = [{"corner": [3, 4], "seen": [None, 2]}, None, {"corner": [5, 6], "seen": [1, None]}]
    assert [asked_for({"corners": moved}, i) for i in range(4)] == [*moved, None]


@pytest.mark.parametrize("corner", [[0, 0], [-5, 99], [1, 2], [10**30, -(10**30)]])
def test_a_window_is_always_inside(corner):
    for seen in ([None, None], [19, None], [0, 29]):
        asked = {"corner": corner, "seen": [None, None]}
        row, column = corner_of(asked, (20, 30), (12, 12), seen)
        assert 0 <= row <= 8
        assert 0 <= column <= 18


def test_a_window_shows_the_row_where_we_look_until_it_is_moved_away():
    assert corner_of(None, (256, 12), (10, 12), [255, None]) == [246, 0]
    assert corner_of(None, (256, 12), (10, 12), [3, None]) == [0, 0]
    moved = {"corner": [100, 0], "seen": [255, None]}
    assert corner_of(moved, (256, 12), (10, 12), [255, None]) == [100, 0]  # by hand
    assert corner_of(moved, (256, 12), (10, 12), [104, None]) == [100, 0]  # there already
    assert corner_of(moved, (256, 12), (10, 12), [254, None]) == [245, 0]
    assert corner_of(moved, (256, 12), (10, 12), [7, None]) == [7, 0]


def test_a_window_begins_where_the_row_is_largest_until_it_is_moved_away(trace):
    scores = replace(cut(trace, "blocks.0.attn.scores_masked", (0, None, None)), masked=None)
    values = np.zeros((256, 256))
    values[255, 100], values[255, 30], values[255, 200], values[9, 254] = -5, 4, -np.inf, 1
    large = replace(scores, values=values)
    assert _start(large, [255, None], [10, 8]) == 96  # the largest in the middle
    assert _start(large, [9, None], [10, 8]) == 248  # and inside
    assert _start(large, [0, None], [10, 8]) == 0
    assert _start(large, [None, None], [10, 8]) is None
    assert _start(large, [255, 3], [10, 8]) is None  # a number that is looked at is shown
    assert corner_of(None, (256, 256), (10, 8), [255, None], 96) == [246, 96]
    moved = {"corner": [100, 7], "seen": [255, None]}
    assert corner_of(moved, (256, 256), (10, 8), [255, None], 50) == [100, 7]  # another head
    assert corner_of(moved, (256, 256), (10, 8), [9, None], 248) == [9, 248]


@pytest.mark.parametrize(
    ("shape", "large"),
    [
        *(((20, 12), False), ((21, 12), True), ((256, 12), True), ((41, 41), False)),
        *(((64, 64), False), ((65, 65), True), ((25, 160), False), ((26, 160), True)),
    ],
)
def test_tall_matrices_and_those_of_many_cells_are_pictures(trace, shape, large):
    found = replace(cut(trace, "blocks.0.resid_in"), values=np.zeros(shape))
    assert is_large(found) == large


def test_pooling_keeps_the_strongest_value_and_its_sign():
    values = np.array([[1.0, -3.0, 0.5, 0.1, 2.0]])
    assert pooled(values, widest=3).tolist() == [[-3.0, 0.5, 2.0]]
    assert np.shares_memory(pooled(values, widest=5), values)
    assert (pooled(values, widest=5) == values).all()


def test_pooling_hides_only_what_is_masked_as_a_whole():
    values = np.array([[1.0, -np.inf, -np.inf, -np.inf], [2.0, -5.0, -np.inf, -np.inf]])
    assert pooled(values, 2, 1).tolist() == [[-5.0, -np.inf]]


def test_pictures_are_drawn_for_every_kind(trace):
    for name in ("scores_masked", "weights"):
        picture = image(cut(trace, f"blocks.0.attn.{name}", (0, None, None)))
        assert picture.startswith("data:image/png;base64,")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_runs_and_reads_a_link(language):
    at = AppTest.from_file(APP, default_timeout=60)
    at.query_params["lang"] = language
    at.query_params["open"] = "blocks.0.attn.scores~0-2-1"
    at.run()
    assert not at.exception
    assert "blocks.0.attn.scores~0-2-1" in at.query_params["open"]


@pytest.mark.parametrize(
    "link", ["x", "~", "blocks.0.attn.scores~9-9-9", HOSTILE, "a~1~b", "logits~x-x", "%00", "٣~٣"]
)
def test_a_nonsense_link_opens_nothing_and_raises_nothing(link):
    at = AppTest.from_file(APP, default_timeout=60)
    at.query_params["open"] = link
    at.run()
    assert not at.exception
