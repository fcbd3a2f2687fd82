"""The waterfall of pushes, the lens' grid, and the sum of rows."""

import re

import pytest
import torch

from core.analysis.residual import journey
from core.models.catalogue import load
from core.view import lens, logits_page, pushes, stream_page
from core.view.look import Look
from core.view.state import State
from core.view.texts import speaker
from tests.support.random_models import IDS, random_model


class Still(State):
    """The state of a page on which nobody has chosen anything."""

    def __init__(self):
        self.defaults = {}

    def text(self, key, default):
        return default

    def index(self, key, size, default):
        return default

    def choice(self, key, options, default):
        return default


def look_at(model, prompt=None, token=-1):
    trace = model.trace(prompt or model.default_prompt)
    return Look(speaker("en"), trace, Still(), 0, 0, token % len(trace))


@pytest.fixture(scope="module")
def look():
    return look_at(random_model("gpt2", torch.float64), IDS)


def places(made):
    return [tuple(map(float, pair)) for pair in re.findall(r"left:([\d.]+)%;width:([\d.]+)%", made)]


def test_each_bar_begins_where_the_one_before_ended(look):
    found = pushes.pushes(look, look.trace.top(1)[0], None)
    *bars, total = places(pushes.waterfall(look, found))
    assert len(bars) == len(found.parts)
    edge = next(float(x) for x in re.findall(r"--zero:([\d.]+)%", pushes.waterfall(look, found)))
    for (left, width), (_, value) in zip(bars, found.parts, strict=True):
        start, end = (left + width, left) if value < 0 else (left, left + width)
        assert start == pytest.approx(edge, abs=0.03)
        edge = end
    assert edge == pytest.approx(sum(total) if found.total > 0 else total[0], abs=0.03)


def test_sums_by_kind_and_by_block_are_the_total(look):
    found = pushes.pushes(look, look.trace.top(1)[0], None)
    assert sum(found.kinds.values()) == pytest.approx(found.total)
    assert sum(found.blocks) == pytest.approx(found.kinds["attn"] + found.kinds["mlp"])
    assert found.error < 1e-12


def test_comparison_is_the_difference_of_two(look):
    one, other = look.trace.top(2)
    found = pushes.pushes(look, one, other)
    assert found.total == pytest.approx(one.logit - other.logit)
    assert sum(value for _, value in found.parts) == pytest.approx(found.total)


def test_halves_only_where_there_are_several_blocks(look):
    found = pushes.pushes(look, look.trace.top(1)[0], None)
    assert pushes.halves(look, found) == ""


def test_lens_has_a_row_for_every_token_of_a_short_text(look):
    assert lens.rows(look) == list(range(8))
    assert lens.readings(look) is lens.readings(look)
    made = lens.grid(look, 0)
    assert made.count("<tr") == 9 and made.count("<td") == 8 * 5


def test_belt_has_three_rows_of_numbers_for_each_part():
    look = look_at(load("worked-example"))
    made = stream_page.belt(look, journey(look.trace, 2))
    assert made.count('class="vec"') == 1 + 2 * 3
    assert made.count(">+<") == made.count(">=<") == 2


def test_block_in_numbers_shows_the_same_columns_of_every_step(look):
    cuts = stream_page.cuts(look, journey(look.trace, 7))
    assert [cut.name.partition(".0.")[2] for cut in cuts] == [
        "resid_in", "attn.out", "resid_mid", "mlp.out", "resid_out",
    ]  # fmt: skip
    assert len({cut.columns.at for cut in cuts}) == 1 and len(cuts[0].columns.at) == 12


def test_largest_addition_is_told(look):
    stages = journey(look.trace, 7)
    longest = max(stages, key=lambda stage: stage.length_added)
    told = stream_page.largest(look, stages)
    assert f"Block {longest.block}" in told["part"]
    assert float(told["length"]) == pytest.approx(longest.length_added, abs=0.005)


def test_whole_product_is_shown_for_a_small_vocabulary():
    look = look_at(load("worked-example", preset="part-6"))
    assert [cut.name for cut in logits_page.cuts(look, [])] == ["ln_f.out", "unembed.W_U", "logits"]


def test_tied_directions_are_turned_so_that_columns_are_tokens(look):
    small = look_at(random_model("gpt2", torch.float64), IDS)
    assert logits_page.directions(small) == "embed.W_E"
