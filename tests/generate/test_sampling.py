"""From logits to the distribution, against the logits processors of `transformers`.

One difference is meant. Where equal probabilities straddle the edge of top-p, both keep as many,
but `transformers` sorts upwards and keeps those that its unstable sort puts last, and we keep the
lowest IDs. Equal logits at the edge of top-k are all kept, by both.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

import core
from core.generate.sampling import SamplingError
from tests.support.close import assert_close

INF, NAN = math.inf, math.nan
often = settings(max_examples=150, deadline=None, derandomize=True, database=None)
sizes = st.integers(1, 200)
seeds = st.integers(0, 10**6)
temperatures = st.floats(0.05, 20)
top_ks = st.none() | st.integers(1, 250)
top_ps = st.none() | st.floats(0.01, 0.999)


def random_logits(size: int, seed: int, dtype=torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(size, generator=generator, dtype=dtype)


def theirs(logits, temperature, top_k, top_p) -> torch.Tensor:
    """What `transformers` leaves, in the order in which `generate` applies its processors."""
    scores = TemperatureLogitsWarper(float(temperature))(None, logits[None])
    if top_k is not None:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p is not None:
        scores = TopPLogitsWarper(top_p)(None, scores)
    return scores[0]


def kept(chosen) -> list[int]:
    return chosen.stages[-1].logits.isfinite().nonzero().flatten().tolist()


def probs(values, **sampling) -> list[float]:
    logits = torch.tensor(values, dtype=torch.float64)
    return core.distribution(logits, **sampling).probs.tolist()


def assert_is_distribution(chosen) -> None:
    for stage in chosen.stages:
        assert not stage.probs.isnan().any()
        assert not stage.logits.isnan().any()
        assert stage.probs.double().sum().item() == pytest.approx(1, abs=1e-5)
        assert stage.kept == stage.logits.isfinite().sum()
        assert not stage.probs[~stage.logits.isfinite()].any()


@often
@given(sizes, seeds, temperatures, top_ks, top_ps)
def test_keeps_exactly_what_transformers_keeps(size, seed, temperature, top_k, top_p):
    logits = random_logits(size, seed)
    expected = theirs(logits, temperature, top_k, top_p)
    chosen = core.distribution(logits, temperature, top_k, top_p)
    assert kept(chosen) == expected.isfinite().nonzero().flatten().tolist()
    assert_close(chosen.probs, expected.softmax(-1), 1e-12)


@often
@given(sizes, seeds, st.floats(0, 1e6) | st.just(1e-30), top_ks, st.none() | st.floats(0, 1))
def test_every_stage_is_a_distribution(size, seed, temperature, top_k, top_p):
    logits = random_logits(size, seed, torch.float32)
    assert_is_distribution(core.distribution(logits, temperature, top_k, top_p))


@often
@given(
    st.integers(2, 200),
    seeds,
    temperatures,
    top_ks,
    top_ps,
    st.none() | st.floats(0, 1),
    st.none() | st.floats(0.1, 10),
    st.sampled_from(["transformers", "llama.cpp"]),
)
def test_every_setting_in_either_order(size, seed, warmth, top_k, top_p, min_p, penalty, order):
    logits, previous = random_logits(size, seed), [seed % size, 0]
    processors = {
        "temperature": TemperatureLogitsWarper(float(warmth)),
        "top_k": top_k and TopKLogitsWarper(top_k),
        "top_p": top_p and TopPLogitsWarper(top_p),
        "min_p": None if min_p is None else MinPLogitsWarper(min_p),
        "repetition_penalty": penalty and RepetitionPenaltyLogitsProcessor(float(penalty)),
    }
    places = {
        "transformers": ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"],
        "llama.cpp": ["repetition_penalty", "top_k", "top_p", "min_p", "temperature"],
    }
    expected = logits[None]
    for name in places[order]:
        if processors[name]:
            expected = processors[name](torch.tensor([previous]), expected)
    options = {"min_p": min_p, "repetition_penalty": penalty, "order": order}
    chosen = core.distribution(logits, warmth, top_k, top_p, previous=previous, **options)
    assert kept(chosen) == expected[0].isfinite().nonzero().flatten().tolist()
    assert_close(chosen.probs, expected[0].softmax(-1), 1e-11)


def test_llama_cpp_warms_last_so_the_kept_set_does_not_depend_on_the_temperature():
    logits = random_logits(100, 1)
    sets = {
        order: {tuple(kept(core.distribution(logits, t, top_p=0.9, order=order))) for t in (0.3, 3)}
        for order in ("transformers", "llama.cpp")
    }
    assert len(sets["transformers"]) == 2
    assert len(sets["llama.cpp"]) == 1


def test_a_penalty_pushes_seen_tokens_down_whatever_their_sign():
    chosen = core.distribution(
        torch.tensor([2.0, -2.0, 2.0]), repetition_penalty=2.0, previous=[0, 1]
    )
    assert chosen.stages[1].logits.tolist() == [1.0, -4.0, 2.0]


def test_min_p_of_0_keeps_all_and_of_1_the_likeliest():
    assert probs([1.0, 2.0, 3.0], min_p=0.0) == probs([1.0, 2.0, 3.0])
    assert probs([1.0, 3.0, 3.0], min_p=1.0) == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("penalty", [1e-300, 1e300])
def test_an_extreme_penalty_stays_a_distribution(penalty):
    logits = torch.tensor([5.0, -5.0, 0.0, -INF])
    options = {"repetition_penalty": penalty, "previous": [0, 1, 2, 3]}
    assert_is_distribution(core.distribution(logits, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_p": -0.1}, "min_p is -0.1; it must lie between 0 and 1"),
        ({"min_p": NAN}, "min_p is nan"),
        ({"repetition_penalty": 0}, "greater than 0"),
        ({"repetition_penalty": INF}, "greater than 0"),
        ({"repetition_penalty": 2.0, "previous": [3]}, "token IDs from 0 to 2"),
        ({"order": "alphabetical"}, "transformers or llama.cpp"),
    ],
)
def test_settings_out_of_range_say_what_they_can_be(options, message):
    with pytest.raises(SamplingError, match=message):
        core.distribution(torch.zeros(3), **options)


def test_equal_logits_at_the_edge_of_top_k_are_all_kept():
    logits = torch.tensor([1.0, 3.0, 2.0, 2.0, 0.0])
    assert kept(core.distribution(logits, top_k=2)) == [1, 2, 3]
    assert theirs(logits, 1.0, 2, None).isfinite().tolist() == [False, True, True, True, False]


def test_equal_probabilities_at_the_edge_of_top_p_are_kept_from_the_front():
    logits = torch.zeros(4)
    assert kept(core.distribution(logits, top_p=0.5)) == [0, 1]
    assert theirs(logits, 1.0, None, 0.5).isfinite().sum() == 2


def test_stages_come_in_the_order_of_transformers():
    chosen = core.distribution(random_logits(9, 0), 0.5, top_k=3, top_p=0.9)
    assert [stage.name for stage in chosen.stages] == ["logits", "temperature", "top_k", "top_p"]
    plain = core.distribution(random_logits(9, 0))
    assert [stage.name for stage in plain.stages] == ["logits", "temperature"]


def test_the_first_stage_is_what_went_in():
    logits = random_logits(9, 1)
    chosen = core.distribution(logits, 0.5, top_k=3)
    assert torch.equal(chosen.stages[0].logits, logits)
    assert_close(chosen.stages[0].probs, logits.softmax(-1), 1e-15)


def test_temperature_by_hand():
    """Logits ln 1, ln 2, ln 4: halving the temperature squares the odds."""
    values = [0.0, math.log(2), math.log(4)]
    assert probs(values) == pytest.approx([1 / 7, 2 / 7, 4 / 7], abs=1e-15)
    assert probs(values, temperature=0.5) == pytest.approx([1 / 21, 4 / 21, 16 / 21], abs=1e-15)


def test_top_p_by_hand():
    """Probabilities .5 .3 .2: two tokens reach 0.6, and what they held was 0.8."""
    values = [math.log(p) for p in (0.2, 0.5, 0.3)]
    chosen = core.distribution(torch.tensor(values, dtype=torch.float64), top_p=0.6)
    assert kept(chosen) == [1, 2]
    assert chosen.probs.tolist() == pytest.approx([0, 0.625, 0.375], abs=1e-15)
    assert chosen.stages[-1].held == pytest.approx(0.8, abs=1e-15)


def test_top_k_by_hand():
    chosen = core.distribution(torch.tensor([0.0, math.log(2), math.log(4)]), top_k=2)
    assert chosen.probs.tolist() == pytest.approx([0, 1 / 3, 2 / 3], abs=1e-7)
    assert (chosen.stages[-1].kept, chosen.stages[-1].held) == (2, pytest.approx(6 / 7, abs=1e-7))


def test_top_p_works_on_what_top_k_left():
    """Of .4 .3 .2 .1 top-k 2 leaves 4/7 and 3/7, and the first alone reaches 0.5."""
    values = [math.log(p) for p in (0.4, 0.3, 0.2, 0.1)]
    logits = torch.tensor(values, dtype=torch.float64)
    assert kept(core.distribution(logits, top_p=0.5)) == [0, 1]
    assert kept(core.distribution(logits, top_k=2, top_p=0.5)) == [0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_temperature_zero_is_the_first_of_the_largest(dtype):
    logits = torch.tensor([1.0, 5.0, 5.0, -INF], dtype=dtype)
    assert core.distribution(logits, temperature=0).probs.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("temperature", [1e-300, 1e-45, 1e-30])
def test_a_tiny_temperature_shares_between_the_largest(temperature, dtype):
    logits = torch.tensor([1.0, 5.0, 5.0, -INF], dtype=dtype)
    assert core.distribution(logits, temperature).probs.tolist() == [0, 0.5, 0.5, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("temperature", [1e30, 1e300])
def test_a_huge_temperature_makes_all_equal_but_what_is_out(temperature, dtype):
    logits = torch.tensor([1.0, 5.0, -INF, 3.0], dtype=dtype)
    found = core.distribution(logits, temperature).probs.tolist()
    assert found == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=1e-7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("temperature", [0, 1e-300, 0.7, 1e300])
def test_half_precision_stays_a_distribution(temperature, dtype):
    chosen = core.distribution(random_logits(50, 2).to(dtype), temperature, top_k=20, top_p=0.9)
    assert not chosen.probs.isnan().any()
    assert chosen.probs.double().sum().item() == pytest.approx(1, abs=2e-2)


def test_top_k_of_one_is_greedy():
    assert probs([1.0, 3.0, 2.0], top_k=1) == [0, 1, 0]


@pytest.mark.parametrize("top_k", [3, 4, 10**6])
def test_top_k_of_the_vocabulary_or_more_changes_nothing(top_k):
    assert probs([1.0, 3.0, 2.0], top_k=top_k) == probs([1.0, 3.0, 2.0])


def test_top_p_of_zero_keeps_the_likeliest():
    assert probs([1.0, 3.0, 2.0, 3.0], top_p=0) == [0, 1, 0, 0]


@pytest.mark.parametrize("values", [[0.0, -20.0, -30.0], [0.0, -200.0], [1.0, -INF, 0.0]], ids=str)
def test_top_p_of_one_changes_nothing(values):
    """Not even tokens too unlikely to move a float32 sum."""
    logits = torch.tensor(values)
    chosen = core.distribution(logits, top_p=1.0)
    assert chosen.stages[-1].kept == logits.isfinite().sum()
    assert torch.equal(chosen.probs, core.distribution(logits).probs)


def test_all_equal_logits():
    assert probs([2.0] * 4) == [0.25] * 4
    assert probs([2.0] * 4, temperature=0) == [1, 0, 0, 0]
    assert probs([2.0] * 4, top_k=2) == [0.25] * 4
    assert probs([2.0] * 4, top_p=0.7) == pytest.approx([1 / 3] * 3 + [0], abs=1e-15)


@pytest.mark.parametrize(
    "sampling", [{}, {"temperature": 0}, {"top_k": 2}, {"top_p": 0.5}], ids=str
)
def test_a_single_finite_logit_is_certain(sampling):
    assert probs([-INF, -7.0, -INF], **sampling) == [0, 1, 0]


def test_a_vocabulary_of_one():
    assert probs([3.0], temperature=0.1, top_k=5, top_p=0.1) == [1]


def test_extreme_logits_do_not_overflow():
    assert probs([1e308, -1e308, 0.0]) == [1, 0, 0]
    found = core.distribution(torch.tensor([3e38, -3e38, 3e38]), temperature=0.01).probs
    assert found.tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("temperature", [-1, -1e-9, NAN, INF, -INF])
def test_impossible_temperatures(temperature):
    with pytest.raises(SamplingError, match="temperature"):
        probs([1.0, 2.0], temperature=temperature)


@pytest.mark.parametrize("top_k", [0, -1, 1.5, NAN, INF])
def test_impossible_top_k(top_k):
    with pytest.raises(SamplingError, match="top_k"):
        probs([1.0, 2.0], top_k=top_k)


def test_a_whole_float_is_a_whole_number():
    assert probs([1.0, 3.0, 2.0], top_k=1.0) == [0, 1, 0]


@pytest.mark.parametrize("top_p", [-0.1, 1.1, NAN, INF, -INF])
def test_impossible_top_p(top_p):
    with pytest.raises(SamplingError, match="top_p"):
        probs([1.0, 2.0], top_p=top_p)


@pytest.mark.parametrize("values", [[NAN, 1.0], [INF, 1.0], [-INF, -INF]], ids=str)
def test_logits_that_no_distribution_follows_from(values):
    with pytest.raises(SamplingError, match="logits"):
        probs(values)


@pytest.mark.parametrize("shape", [(0,), (), (1, 4)], ids=str)
def test_logits_must_be_one_row(shape):
    with pytest.raises(SamplingError, match="one row"):
        core.distribution(torch.zeros(shape))


def test_the_logits_are_left_as_they_were():
    logits = random_logits(20, 3)
    before = logits.clone()
    core.distribution(logits, 0.5, top_k=3, top_p=0.5)
    assert torch.equal(logits, before)
