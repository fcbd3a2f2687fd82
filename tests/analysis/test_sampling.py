"""What is read from sampling: effects, intervals, pieces and draws, against numpy."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.analysis import sampling
from core.generate.generate import pick

often = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def random_logits(size, seed):
    return 3 * torch.randn(size, generator=torch.Generator().manual_seed(seed)).double()


def softmax(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@often
@given(st.integers(1, 300), st.integers(0, 10**6), st.integers(1, 20), st.floats(0, 1))
def test_many_picks_are_what_pick_says_of_each(size, seed, top_k, top_p):
    chosen = core.distribution(random_logits(size, seed), 1.3, top_k, top_p)
    numbers = torch.cat([sampling.draws(seed, 50), torch.tensor([0.0, 1 - 2**-53])])
    found = sampling.picks(chosen, numbers).tolist()
    assert found == [pick(chosen, number) for number in numbers.tolist()]


@often
@given(st.integers(1, 300), st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_a_draw_lies_in_the_interval_of_its_token(size, seed, number):
    chosen = core.distribution(random_logits(size, seed), 1.0)
    low, high = sampling.interval(chosen, pick(chosen, number))
    assert low <= number < high or number == pytest.approx(high, abs=1e-12)
    assert high - low == pytest.approx(chosen.probs[pick(chosen, number)].item(), abs=1e-12)


def test_draws_are_those_that_generate_takes_one_after_another():
    generator = torch.Generator().manual_seed(7)
    one_by_one = [
        torch.rand((), generator=generator, dtype=torch.float64).item() for _ in range(100)
    ]
    assert sampling.draws(7, 100).tolist() == one_by_one
    assert sampling.draws(7, 3).tolist() == one_by_one[:3]


@often
@given(
    st.integers(1, 400),
    st.integers(0, 10**6),
    st.floats(0, 0.8),
    st.floats(0.05, 0.2),
    st.floats(0.001, 0.2),
)
def test_pieces_cover_the_stretch_and_count_every_token(size, seed, low, width, least):
    chosen = core.distribution(random_logits(size, seed), 1.0, top_p=0.97)
    token = pick(chosen, low + width / 2)
    high = low + width
    found = sampling.pieces(chosen, low, high, token, least)
    assert (found[0].low, found[-1].high) == pytest.approx((low, high), abs=1e-12)
    assert all(a.high == b.low for a, b in pairwise(found))
    ends = np.concatenate([[0], np.cumsum(chosen.probs.numpy())])
    inside = np.flatnonzero(
        (ends[1:] > low + 1e-12) & (ends[:-1] < high - 1e-12) & (np.diff(ends) > 0)
    )
    assert sum(piece.n for piece in found) == len(inside)
    assert token in [piece.id for piece in found]
    wide = [p for p in found if p.id is not None and p.id != token]
    assert all(p.high - p.low >= least * width - 1e-12 for p in wide)


def test_likeliest_takes_the_lowest_ids_of_equal_logits_and_only_finite_ones():
    logits = torch.tensor([1.0, 3.0, 2.0, 3.0, -math.inf, 2.0])
    assert sampling.likeliest(logits, 4) == [1, 3, 2, 5]
    assert sampling.likeliest(logits, 9) == [1, 3, 2, 5, 0]
    assert sampling.likeliest(logits, 2, [0, 5, 5, 4]) == [5, 0]
    assert sampling.likeliest(logits, 2, []) == []


def stages(logits, **options):
    """The stages before and after the one setting that is not off."""
    return core.distribution(logits, **options).stages[-2:]


def test_effect_of_top_p_says_what_the_likelier_ones_hold_and_what_is_lost():
    values = [0.5, 0.1, 0.2, 0.15, 0.05]
    before, after = stages(torch.tensor(values).double().log(), top_p=0.69)
    found = sampling.effect("top_p", before, after, sampling.likeliest(before.logits, 3))
    assert [row.id for row in found.rows] == [0, 2, 3]
    assert [row.decides for row in found.rows] == pytest.approx([0, 0.5, 0.7], abs=1e-7)
    assert [row.stays for row in found.rows] == [True, True, False]
    assert (found.n, found.kept, found.last, found.first) == (5, 2, 2, 3)
    assert (found.held, found.lost) == pytest.approx((0.7, 0.3), abs=1e-7)
    rest = found.rest
    assert (rest.n, rest.kept) == (2, 0)
    assert (rest.before, rest.lost, rest.after) == pytest.approx((0.15, 0.15, 0), abs=1e-7)


@often
@given(st.integers(2, 300), st.integers(0, 10**6), st.integers(1, 100))
def test_rows_and_rest_are_the_whole(size, seed, top_k):
    before, after = stages(random_logits(size, seed), top_k=top_k)
    found = sampling.effect("top_k", before, after, sampling.likeliest(before.logits, 8))
    assert sum(row.before for row in found.rows) + found.rest.before == pytest.approx(1)
    assert sum(row.after for row in found.rows) + found.rest.after == pytest.approx(1)
    assert sum(row.stays for row in found.rows) + found.rest.kept == found.kept
    assert found.held + found.lost == pytest.approx(1)
    assert [row.decides for row in found.rows] == [*range(1, 1 + min(8, size))]
    probs = softmax(random_logits(size, seed).numpy())
    assert found.held == pytest.approx(np.sort(probs)[::-1][:top_k].sum())


def test_effects_say_what_decides_before_and_after():
    logits = torch.tensor([2.0, -1.0, 4.0]).double()
    before, after = stages(logits, temperature=0.5)
    rows = sampling.effect("temperature", before, after, [2, 0, 1]).rows
    assert [(row.decides, row.turned) for row in rows] == [(0, 0), (-2, -4), (-5, -10)]
    chosen = core.distribution(logits, repetition_penalty=2.0, previous=[0, 1])
    rows = sampling.effect("repetition_penalty", *chosen.stages[:2], [0, 1, 2]).rows
    assert [(row.decides, row.turned) for row in rows] == [(2, 1), (-1, -2), (4, 4)]
    before, after = stages(logits, min_p=0.1)
    rows = sampling.effect("min_p", before, after, [2, 0, 1]).rows
    assert [row.decides for row in rows] == pytest.approx([1, math.exp(-2), math.exp(-5)])


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "repetition_penalty"])
def test_single_finite_logit_has_no_nan(name):
    logits = torch.tensor([-math.inf, 5.0, -math.inf])
    stage = core.distribution(logits).stages[0]
    found = sampling.effect(name, stage, stage, sampling.likeliest(logits, 8))
    assert (found.n, found.kept, found.lost) == (1, 1, 0)
    assert [row.id for row in found.rows] == [1] and found.rows[0].before == 1
    assert not math.isnan(found.rows[0].decides)
