"""The waterfall of pushes, the lens' grid, and the sum of rows."""

import re

import numpy as np
import pytest
import torch

from core.analysis.residual import journey
from core.models.catalogue import load
from core.view import logits_lens, logits_pictures, stream_pictures, stream_pushes
from core.view.look import Look
from core.view.texts import speaker
from tests.support.random_models import IDS, random_model
from tests.support.still import Still


def look_at(model, prompt=None, token=-1):
    trace = model.trace(prompt or model.default_prompt)
    return Look(speaker("en"), trace, Still(), 0, 0, token % len(trace))


@pytest.fixture(scope="module")
def look():
    return look_at(random_model("gpt2", torch.float64), IDS)


def places(made):
    return [tuple(map(float, pair)) for pair in re.findall(r"left:([\d.]+)%;width:([\d.]+)%", made)]


def test_each_bar_begins_where_the_one_before_ended(look):
    found = stream_pushes.pushes(look, look.trace.top(1)[0], None)
    *bars, total = places(stream_pushes.waterfall(look, found))
    assert len(bars) == len(found.parts)
    edge = next(
        float(x) for x in re.findall(r"--zero:([\d.]+)%", stream_pushes.waterfall(look, found))
    )
    for (left, width), (_, value) in zip(bars, found.parts, strict=True):
        start, end = (left + width, left) if value < 0 else (left, left + width)
        assert start == pytest.approx(edge, abs=0.03)
        edge = end
    assert edge == pytest.approx(sum(total) if found.total > 0 else total[0], abs=0.03)


def test_sums_by_kind_and_by_block_are_the_total(look):
    found = stream_pushes.pushes(look, look.trace.top(1)[0], None)
    assert sum(found.kinds.values()) == pytest.approx(found.total)
    assert sum(found.blocks) == pytest.approx(found.kinds["attn"] + found.kinds["mlp"])
    assert found.error < 1e-12


def test_comparison_is_the_difference_of_two(look):
    one, other = look.trace.top(2)
    found = stream_pushes.pushes(look, one, other)
    assert found.total == pytest.approx(one.logit - other.logit)
    assert sum(value for _, value in found.parts) == pytest.approx(found.total)


def test_halves_only_where_there_are_several_blocks(look):
    found = stream_pushes.pushes(look, look.trace.top(1)[0], None)
    assert stream_pushes.halves(look, found) == ""


def test_lens_has_a_row_for_every_token_of_a_short_text(look):
    assert logits_lens.rows(look) == list(range(8))
    assert logits_lens.readings(look) is logits_lens.readings(look)
    made = logits_lens.grid(look, 0)
    assert made.count("<tr") == 2 + 8 and made.count("<td") == 8 * 5


def test_belt_has_three_rows_of_numbers_for_each_part():
    look = look_at(load("worked-example"))
    made = stream_pictures.belt(look, journey(look.trace, 2))
    assert made.count('class="vec"') == 1 + 2 * 3
    assert made.count(">+<") == made.count(">=<") == 2


def test_block_in_numbers_shows_the_same_columns_of_every_step(look):
    cuts = stream_pictures.cuts(look, journey(look.trace, 7))
    assert [cut.name.partition(".0.")[2] for cut in cuts] == [
        "resid_in", "attn.out", "resid_mid", "mlp.out", "resid_out",
    ]  # fmt: skip
    assert len({cut.columns.at for cut in cuts}) == 1 and len(cuts[0].columns.at) == 12


def test_largest_addition_is_told(look):
    stages = journey(look.trace, 7)
    longest = max(stages, key=lambda stage: stage.length_added)
    told = stream_pictures.largest(look, stages)
    assert f"Block {longest.block}" in told["part"]
    assert float(told["length"]) == pytest.approx(longest.length_added, abs=0.005)


def test_whole_product_is_shown_for_a_small_vocabulary():
    look = look_at(load("worked-example", preset="part-6"))
    assert [cut.name for cut in logits_pictures.cuts(look)] == ["ln_f.out", "unembed.W_U", "logits"]


def test_of_a_large_vocabulary_the_product_is_shown_for_the_likeliest_tokens():
    look = look_at(load("bundled"))
    read, directions, product = logits_pictures.cuts(look)
    assert directions.columns.at == product.columns.at and len(product.columns.at) == 12
    assert product.values[look.token].argmax() == 0
    made = read.values.astype(np.float64) @ directions.values.astype(np.float64)
    assert made == pytest.approx(product.values, abs=1e-4)


def test_tied_directions_are_turned_so_that_columns_are_tokens(look):
    small = look_at(random_model("gpt2", torch.float64), IDS)
    assert logits_pictures.directions(small) == "embed.W_E"
