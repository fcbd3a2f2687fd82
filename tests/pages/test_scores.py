"""The Scores page: four matrices, one row followed, and why each step is there."""

import html
import re

import numpy as np
import pytest

from core.models.catalogue import load
from tests.support.app import boards, click, components, drawn, open_page, pictures, rows, said

EXAMPLE = {"model": "worked-example"}


def example(preset="part-2", **query):
    return open_page("scores", **EXAMPLE, preset=preset, **query)


def square(at, title):
    """The matrix of that title."""
    found = [p for board in boards(at) for p in board["panels"] if p["title"] == title]
    return found[-1]


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
    for query, factor in (({}, "1.11"), ({"dropout": "0.5"}, "2.00")):
        panel = square(example(**query), "The shares")
        assert f"1/(1 − p) = {factor}" in panel["note"]


def test_dropout_rate_and_draw_are_kept_in_the_link():
    at = example(dropout="0.5", dropout_draw=7)
    assert at.query_params["dropout"] == "0.5" and at.query_params["dropout_draw"] == "7"
    assert "dropout_draw=8" in drawn(at)
    at.select_slider(key="dropout").set_value("0.3").run()
    assert at.query_params["dropout"] == "0.3"


def test_a_draw_is_always_the_same_and_another_one_differs():
    drawn_ones = [
        square(example(dropout="0.5", dropout_draw=draw), "One roll of the dice")
        for draw in (2, 2, 3)
    ]
    same, again, other = (one["values"] for one in drawn_ones)
    assert same == again != other
    for one in drawn_ones:
        assert one["struck"] == [i for i, value in enumerate(one["values"]) if value == 0]


def test_nonsense_in_the_link_is_named_and_replaced():
    at = open_page("scores", dropout="2", dropout_draw="-1", head="99")
    assert "dropout" in said(at) and "0 to 999" in said(at)
    assert "= 1.11" in square(at, "The shares")["note"]


def test_scores_are_symmetric_in_the_example_with_one_head():
    text = said(example())
    assert "For every pair of tokens the score is the same both ways" in text
    assert "“먹었다” on “나는” and “나는” on “먹었다”: 0.61" in text
    assert "up to 0:" not in text and "In general it is not" not in text


def test_scores_of_a_trained_head_are_not_symmetric():
    text = said(open_page("scores", model="bundled"))
    largest = re.search(r"differ from their mirror image by up to ([\d.]+)", text).group(1)
    assert float(largest) > 1 and "In this head it is." not in text


def test_one_token_has_no_mirror_image():
    assert "With a single token there is nothing to compare" in said(example(prompt="나는"))


def test_a_small_width_does_not_saturate_and_the_page_says_so():
    # Row [0.61, 0.94, 1.33] not divided: exp(1.33) / (exp(.61) + exp(.94) + exp(1.33)) = 0.46.
    text = said(example())
    assert "d_k is 3, too small to saturate" in text
    assert "the largest share of this row is 0.46, against 0.41 divided" in text


def test_a_row_with_one_key_saturates_by_itself():
    assert "“나는” can see one token only" in said(example("part-5", token=0))


def test_what_is_said_of_a_wide_row_is_what_it_shows():
    at = open_page("scores", model="bundled", layer=2, token=3)
    shares = [line[2] for line in rows(at, "followed two")[1:-1]]
    largest = max(float(share.lstrip("< ")) for share in shares)
    text = said(at)
    assert f"the largest share of this row is {largest:.2f}" in text or largest < 0.9
    assert ("is left. Divided, it is" in text) == (largest > 0.9)
    assert "too small to saturate" not in text


def arithmetic(at):
    """The sums of shares that the page works out, as they are written."""
    found = re.findall(r'<div class="entry">(.*?)</div>', drawn(at), re.S)
    return [html.unescape(re.sub("<[^>]+>", "", one)) for one in found]


def test_every_share_of_a_short_text_opens():
    # The source's X, with the identity for W_Q and W_K: row 1 of X·Xᵀ/√3, by hand.
    x = np.array([[0.2, 1.0, 0.1], [0.9, 0.1, 0.4], [0.6, 0.4, 0.9]])
    powers = np.exp(x @ x[1] / np.sqrt(3))
    open_share, seen = powers[0] / powers.sum(), powers[0] / powers[:2].sum()
    at = example(taken_row=1, taken_column=0, dropout="0.5", dropout_draw=3)
    without, after, first = (float(one.rpartition("= ")[2]) for one in arithmetic(at)[:3])
    assert without == pytest.approx(open_share, rel=1e-3)
    assert after == pytest.approx(seen, rel=1e-3) and first == pytest.approx(seen, rel=1e-3)
    titles = ("No mask at all", "Softmax, then 0, then ÷ sum", "−∞ first, then softmax")
    assert [square(at, title)["open"] for title in titles] == [[1, 0]] * 3
    assert "blocks.0.attn.scores_scaled~0-1-0&at=mask_sum" in drawn(at).replace("&amp;", "&")
    (panel,) = components(click(at, open="blocks.0.attn.scores_scaled~0-1-0"), "opened")
    assert "Scaled score of 밥을 (1) on 나는 (0)" in panel["name"]


def test_what_dropout_leaves_is_a_share_that_opens():
    at = example(dropout="0.5")
    panel = square(at, "One roll of the dice")
    kept = next(i for i, value in enumerate(panel["values"]) if value)
    at = click(at, taken_row=kept // 3, taken_column=kept % 3)
    share = square(at, "The shares")["values"][kept]
    assert arithmetic(at)[-1] == f"{share:.4g}·2 = {2 * share:.4g}"
    assert f"open=blocks.0.attn.weights~0-{kept // 3}-{kept % 3}" in drawn(at)


def test_the_models_own_shares_are_its_steps_and_open_as_such():
    own = square(example("part-5"), "−∞ first, then softmax")
    assert own["name"] == "blocks.0.attn.weights" and own["editable"]


def test_numbers_are_offered_for_a_click_only_where_they_are_written():
    hints = [
        boards(open_page("scores", prompt=prompt))[0]["hint"]
        for prompt in ("the cat", "the cat " * 20)
    ]
    assert hints[0].startswith("Click a number")
    assert "Click a number" not in hints[1] and "Point at a cell" in hints[1]


def test_both_ways_of_masking_agree():
    assert re.search(r"between the two ways: (0|[\d.]+·10⁻¹[⁶⁷⁸])", said(example("part-5")))


def test_a_model_without_blocks_gets_a_word_and_a_link():
    at = example("part-1")
    assert "has no block" in said(at) and 'data-set="preset=block"' in drawn(at)


def test_a_row_set_by_hand_is_said_to_be_and_what_it_adds_up_to():
    before = load("worked-example", preset="block").trace("나는 밥을 먹었다")
    row = before["blocks.0.attn.weights"][0, 2].tolist()
    total, exact = f"{row[0] + 0.9 + row[2]:.2f}", f"{row[0] + 0.9 + row[2]:.4g}"
    edits = "v1~~blocks.0.attn.weights~0-2-1~0.9"
    here = {"preset": "block", "edits": edits, "token": 2, "open": "blocks.0.attn.weights~0-2-0"}
    at = open_page("scores", model="worked-example", **here)
    text = said(at)
    assert "set by hand (Shares), so these do not follow" in text
    assert f"Its shares add up to {total}" in text
    assert f"On the left they add up to {total}" in text
    assert "the rows already add up to 1" not in text
    notes = [panel["note"] for data in boards(at) for panel in data["panels"]]
    by_hand = f"set shares by hand here, so the row of “먹었다” adds up to {total}"
    assert by_hand in " ".join(notes) and "that row need not add up to 1" in " ".join(notes)
    assert not any("each row adds up to 1" in note for note in notes)
    (opened,) = components(at, "opened")
    assert f"together they add up to {exact}" in str(opened) and "All shares" not in str(opened)
    beside = open_page("scores", model="worked-example", **here | {"token": 1})
    assert "set by hand (Shares)" not in said(beside)
    assert f"adds up to {total}" in square(beside, "−∞ first, then softmax")["note"]


@pytest.mark.parametrize("step, name", [("scores", "Raw"), ("scores_scaled", "Scaled")])
def test_scores_set_by_hand_are_said_not_to_follow(step, name):
    edits = f"v1~~blocks.0.attn.{step}~0-2-0~2.5"
    at = open_page("scores", model="worked-example", preset="block", edits=edits, token=2)
    assert f"set by hand ({name})" in said(at) and "Its shares add up to 1.00" in said(at)
    assert re.search(rf"{step}\[0, 2, 0\] = 2.5\d* +\(set by hand\)", said(at))
    assert "=  =" not in said(at) and "= = " not in said(at)
    notes = [panel["note"] for data in boards(at) for panel in data["panels"]]
    assert sum("some set by hand" in note for note in notes) == 1


LONG = {"model": "bundled", "prompt": "the cat sat on the mat and he was not here at all again"}


def last_panel(at, name):
    """The numbers of the last matrix of a kind, with the labels of its rows and columns."""
    found = [p for board in boards(at) for p in board["panels"] if name in p["name"]]
    panel = found[-1]
    rows, columns = ([one["at"] for one in panel[side]] for side in ("rows", "columns"))
    return panel, np.array(panel["values"]).reshape(len(rows), len(columns)), rows, columns


def shares_by_hand(causal, head=0):
    """The shares of the first block from its scaled scores, in plain numpy."""
    scores = load("bundled").trace(LONG["prompt"])["blocks.0.attn.scores_scaled"][head].numpy()
    powers = np.exp(scores.astype(np.float64)) * (np.tri(len(scores)) if causal else 1)
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("way", ["open", "after"])
def test_every_way_of_masking_can_be_read_in_numbers(way):
    at = open_page(
        "scores", **LONG, masked_by=way, dropout_side="before", taken_row=5, taken_column=2
    )
    panel, values, rows, columns = last_panel(at, "weights_made")
    expected = shares_by_hand(causal=way != "open")
    row = rows.index(5)
    assert values[row] == pytest.approx(expected[5, columns], abs=1e-6)
    assert panel["open"] == [row, columns.index(2)] and not panel["editable"]
    share = arithmetic(at)[0].rpartition("= ")[2]
    assert float(share) == pytest.approx(expected[5, 2], rel=1e-3)


def test_the_models_own_mask_opens_the_models_own_number():
    at = open_page("scores", **LONG, masked_by="first", dropout_side="before")
    panels = [p for board in boards(at) for p in board["panels"]]
    assert [p["name"] for p in panels[-2:]] == ["blocks.0.attn.weights"] * 2
    assert 'data-set="masked_by=open"' in drawn(at)


def test_a_share_that_was_struck_out_says_so_and_another_what_it_became():
    at = open_page("scores", **LONG, dropout="0.5")
    _, values, rows, columns = last_panel(at, "weights_made")
    row = len(rows) - 1
    for place, said_of in (
        (values[row] == 0, "struck out in this roll"),
        (values[row] > 0, "·2 ="),
    ):
        column = columns[int(np.flatnonzero(place)[0])]
        at = click(at, taken_row=rows[row], taken_column=column)
        assert said_of in said(at) + " ".join(arithmetic(at))
    kept = values[row] > 0
    assert values[row][kept] == pytest.approx(
        2 * shares_by_hand(True)[rows[row]][columns][kept], abs=1e-6
    )


def test_pictures_of_what_the_page_works_out_are_not_mixed_up():
    at = open_page("scores", **LONG | {"prompt": LONG["prompt"] * 2}, masked_by="after")
    drawn_ones = [one["image"] for one in pictures(at)]
    assert len(drawn_ones) == len(set(drawn_ones)) == 2
