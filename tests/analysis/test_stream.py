"""The belt of one token, the lens, and where a token stands, against numpy."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

import core
from core.analysis import logits, residual
from tests.support.random_models import IDS, random_model


def array(tensor):
    return np.array(tensor.tolist())


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def trace():
    return random_model("gpt2", torch.float64).trace(IDS)


def test_journey_by_hand(trace):
    stages = residual.journey(trace, 4)
    assert [(s.block, s.part) for s in stages] == [(0, "attn"), (0, "mlp"), (1, "attn"), (1, "mlp")]
    for stage in stages:
        before, added, after = (
            array(trace[name])[4] for name in (stage.before, stage.added, stage.after)
        )
        assert after == pytest.approx(before + added, abs=1e-12)
        assert stage.length_added == pytest.approx(np.linalg.norm(added))
        assert stage.length_after == pytest.approx(np.linalg.norm(after))
        cosine = before @ added / np.linalg.norm(before) / np.linalg.norm(added)
        assert stage.cosine == pytest.approx(cosine) and not stage.replaces


def test_each_stage_begins_where_the_one_before_ended(trace):
    stages = residual.journey(trace, 0)
    for one, next_one in pairwise(stages):
        assert one.length_after == next_one.length_before


@pytest.mark.parametrize(
    ("preset", "replaces"), [("part-3", [True]), ("part-4-mlp", [True, False])]
)
def test_parts_without_a_shortcut_replace(preset, replaces):
    model = core.load("worked-example", preset=preset)
    stages = residual.journey(model.trace(model.default_prompt), 1)
    assert [stage.replaces for stage in stages] == replaces


def test_no_blocks_no_stages():
    model = core.load("worked-example", preset="part-1")
    assert residual.journey(model.trace(model.default_prompt), 0) == []


def test_belt_is_not_defined_with_norms_on_it():
    trace = random_model("post-norm-sinusoidal-relu", torch.float64).trace(IDS)
    for reading in (lambda: residual.journey(trace, 0), lambda: residual.lens_readings(trace, [0])):
        with pytest.raises(residual.NotDefined):
            reading()


@pytest.mark.parametrize("name", ["gpt2", "llama", "no-blocks"])
def test_lens_reads_the_best_token_of_every_step(name):
    trace = random_model(name, torch.float64).trace(IDS)
    rows = [0, 3, 7]
    found = residual.lens_readings(trace, rows)
    assert [reading.step for reading in found] == residual.stream_steps(trace)
    for reading in found:
        probs = softmax(array(residual.logit_lens(trace, reading.step))[rows])
        assert reading.ids == tuple(probs.argmax(-1))
        assert reading.probs == pytest.approx(probs.max(-1))
    assert found[-1].ids == tuple(array(trace["logits"])[rows].argmax(-1))
    assert residual.lens_error(trace, rows) < 1e-12


def test_lens_at_one_place(trace):
    found = residual.lens_top(trace, "blocks.0.resid_out", 3, k=4)
    probs = softmax(array(residual.logit_lens(trace, "blocks.0.resid_out"))[3])
    assert [candidate.id for candidate in found] == np.argsort(-probs)[:4].tolist()
    assert [candidate.prob for candidate in found] == pytest.approx(
        sorted(-probs)[:4] * -np.ones(4)
    )


def test_direction_gives_the_logit(trace):
    row = array(trace["ln_f.out"])[6]
    towards = array(residual.direction(trace, 11))
    assert row @ towards == pytest.approx(trace.value("logits", (6, 11)))


def test_standing_by_hand(trace):
    row = array(trace["logits"])[2]
    for token_id in (0, 5, int(row.argmax())):
        found = logits.standing(trace, 2, token_id)
        assert found.prob == pytest.approx(softmax(row)[token_id])
        assert found.rank == sorted(row, reverse=True).index(row[token_id]) + 1


def test_guesses_beside_what_came(trace):
    found = logits.guesses(trace, [0, 4, 7])
    best = array(trace["logits"]).argmax(-1)
    assert [guess.best.id for guess in found] == [best[0], best[4], best[7]]
    assert [guess.real and guess.real.id for guess in found] == [IDS[1], IDS[5], None]


def test_hits_are_counted(trace):
    best = array(trace["logits"]).argmax(-1)
    assert logits.hits(trace) == sum(best[:-1] == IDS[1:])
    one = random_model("gpt2", torch.float64).trace([3])
    assert logits.hits(one) == 0


def test_difference_of_logits_is_a_ratio_of_chances(trace):
    one, other = trace.top(2)
    assert math.exp(one.logit - other.logit) == pytest.approx(one.prob / other.prob)
