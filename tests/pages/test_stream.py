"""The page on the residual stream: the belt, the lengths, and who pushed the word."""

import re

import numpy as np
import pytest

import core
from tests.support.app import boards, drawn, open_page, rows, said


def example(preset="block", **query):
    return open_page("stream", model="worked-example", preset=preset, **query)


def bars(at):
    """Name and value of each bar of the waterfall."""
    pattern = r'class="fall.*?<span>(.*?)</span><span class="track.*?class="value">(.*?)<'
    found = re.findall(pattern, drawn(at), re.S)
    return [(re.sub("<[^>]+>", "", name), float(value.replace("−", "-"))) for name, value in found]


@pytest.mark.parametrize(("preset", "has_blocks"), [("part-2", True), ("part-1", False)])
def test_belt_is_drawn_where_there_are_blocks(preset, has_blocks):
    assert ('class="journey"' in drawn(example(preset))) == has_blocks


def test_belt_of_the_bundled_model_has_two_parts_in_each_block():
    at = open_page("stream", model="bundled", layer=3, token=1, rank=1, against=0)
    assert drawn(at).count('class="sum-row') == 14  # the head, the start, two parts in six blocks


def test_each_row_of_the_belt_adds_up():
    vectors = re.findall(r'<span class="vec">(.*?)</span>', drawn(example()), re.S)
    values = [
        [float(x.replace("−", "-")) for x in re.findall(r">([^<]+)<", vector)] for vector in vectors
    ]
    start, *rest = values
    assert start == [0.6, 0.4, 0.9]
    for before, added, after in (rest[:3], rest[3:6]):
        for a, b, c in zip(before, added, after, strict=True):
            assert a + b == pytest.approx(c, abs=0.011)
    assert rest[0] == start and rest[3] == rest[2]


def test_lengths_and_cosines():
    table = rows(example(), "plain lengths")
    # Rows as on the page: |(0.6, 0.4, 0.9)| = 1.15, plus (-1.50, 0.51, 0.43).
    assert table[1][1:] == ["1.64", "1.84", "−0.16"]
    assert "The row was 1.15 long" in said(example())


def test_bars_add_up_to_the_logit():
    *parts, (name, total) = bars(example())
    assert name == "Together"
    assert sum(value for _, value in parts) == pytest.approx(total, abs=0.03)
    logits = said(open_page("logits", model="worked-example", preset="block"))
    assert f"The largest logit is that of “.”, {total:.2f}" in logits


def test_every_candidate_can_be_explained():
    assert "pushed the logit of “밥을”" in said(example(rank=1))


def test_two_candidates_are_compared():
    text, found = said(example(against=1)), bars(example(against=1))
    assert "pushed “.” than “밥을”" in text
    *parts, (_, total) = found
    assert sum(value for _, value in parts) == pytest.approx(total, abs=0.03)
    times = float(re.search(r"is ([\d.]+) times as likely", text).group(1))
    assert times == pytest.approx(2.718281828**total, rel=0.02)


def test_comparison_with_itself_is_none():
    assert "than “" not in said(example(rank=1, against=1))


def test_early_and_late_blocks_by_the_numbers_only():
    at = open_page("stream", model="bundled")
    early, late = re.search(
        r"Blocks 0 to 2 together pushed (\S+), blocks 3 to 5 pushed (\S+)\.", said(at)
    ).groups()
    number = lambda text: float(text.replace("−", "-"))  # noqa: E731
    blocks = [(name, value) for name, value in bars(at) if name.startswith("Block")]
    assert sum(value for _, value in blocks[:6]) == pytest.approx(number(early), abs=0.05)
    assert sum(value for _, value in blocks[6:]) == pytest.approx(number(late), abs=0.05)


def test_variant_that_replaces_says_so():
    at = example("part-4-mlp")
    assert "takes the place of what was there" in said(at)
    assert drawn(at).count("sum-row gone") == 1 and "gone" not in drawn(example())


def test_variant_without_blocks_still_explains_the_logit():
    at = example("part-1")
    assert "has no blocks" in said(at)
    assert [name for name, _ in bars(at)] == ["Token", "Position", "Together"]


@pytest.mark.parametrize("query", [{"rank": 99}, {"against": "x"}, {"open": "a~b"}])
def test_nonsense_in_the_link_does_no_harm(query):
    assert "What each part adds" in said(example(**query))


def test_a_wide_row_says_how_its_columns_were_picked():
    """Those that changed most from the way in to the way out, worked out from the model itself."""
    at = open_page("stream", model="bundled", layer=3, prompt="In the beginning God created the")
    assert "160 numbers. These are the 12 that changed most in this block for “·the”" in said(at)
    trace = core.load("bundled").trace("In the beginning God created the")
    ways = (trace[f"blocks.3.{step}"][-1].numpy() for step in ("resid_out", "resid_in"))
    change = abs(np.subtract(*ways))
    expected = sorted(np.argsort(change)[-12:].tolist())
    shown = [[column["at"] for column in panel["columns"]] for panel in block_panels(at)]
    assert shown == [expected] * 5
    assert "changed most" not in said(example())


def block_panels(at):
    found = [board["panels"] for board in boards(at)]
    return next(panels for panels in found if panels[0]["name"] == "blocks.3.resid_in")


def titles(at):
    shown = [board["panels"] for board in boards(at)]
    found = next(panels for panels in shown if panels[-1]["name"].endswith("resid_out"))
    return [panel["title"] for panel in found]


def test_the_block_in_numbers_reads_as_sums():
    """What a sum is called names the row that comes out, and signs stand between the rows."""
    assert titles(example()) == [
        "The belt on its way in",
        "+ Attention’s contribution",
        "= The belt after attention",
        "+ MLP’s contribution",
        "= The belt on its way out",
    ]
    assert [title[0] for title in titles(example(lang="ko"))[1:]] == ["+", "=", "+", "="]


def test_where_a_part_replaces_nothing_is_said_to_be_added():
    assert any(title.startswith("→ ") for title in titles(example("part-4-mlp")))


def test_pages_say_first_what_to_do():
    said_first = "double-click it to change it."
    assert said_first in said(example())
    assert said_first not in said(open_page("sizes"))  # nothing of a trace can be opened there


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"predict": "on"}, "can be changed again once you have checked your guess"),
        ({"side": "before"}, "To change one, choose “After” above"),
        ({"side": "difference"}, "To change one, choose “After” above"),
    ],
)
def test_pages_say_where_numbers_cannot_be_changed(asked, words):
    where = {"model": "worked-example", "preset": "block", "edits": "v1~~scaled~off"}
    text = said(open_page("stream", **where, **asked))
    assert words in text
    assert "double-click it to change it" not in text
