"""What a norm does to a row, against numpy and the printed example."""

import numpy as np
import pytest
import torch

import core
from core.analysis import norm
from core.analysis.residual import lens_top


@pytest.fixture(scope="module")
def trace():
    model = core.load("worked-example", preset="part-4")
    return model.trace(model.default_prompt)


def array(tensor):
    return np.array(tensor.tolist())


def test_spread_over_features_is_the_printed_one(trace):
    mean, std = norm.spread(trace["blocks.0.resid_mid"])
    assert (round(mean[2].item(), 2), round(std[2].item(), 2)) == (1.28, 0.34)
    assert torch.equal(mean, trace["blocks.0.ln_2.mean"])


def test_spread_over_tokens_is_another_one(trace):
    x = array(trace["blocks.0.resid_mid"])
    mean, std = norm.spread(trace["blocks.0.resid_mid"], over="tokens")
    assert np.allclose(array(mean), x.mean(0)) and np.allclose(array(std), x.std(0))


def test_unbiased_divides_by_one_less(trace):
    row = trace["blocks.0.resid_mid"][2]
    assert norm.unbiased(row) == pytest.approx(np.std(array(row), ddof=1))
    assert norm.unbiased(torch.tensor([2.0])) == 0


def test_after_is_not_exactly_zero_and_one(trace):
    found = norm.after(trace["blocks.0.ln_2.normed"][2])
    row = array(trace["blocks.0.ln_2.normed"])[2]
    assert abs(found.mean) < 1e-15
    assert found.std == pytest.approx(row.std()) and 0.9999 < found.std < 1


def test_same_order(trace):
    name = "blocks.0.ln_2.normed"
    assert norm.same_order(trace["blocks.0.resid_mid"][2], trace[name][2])
    assert not norm.same_order(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0]))
    assert norm.same_order(torch.tensor([1.0, 1.0, 0.0]), torch.tensor([3.0, 3.0, 2.0]))


def test_lengths_follow_the_stream_where_the_norm_stands_after():
    model = core.load("worked-example", preset="block", n_layers=2)
    trace = model.trace(model.default_prompt)
    rows = [array(trace[n])[1] for n in ("embed.sum", "blocks.0.resid_out", "blocks.1.resid_out")]
    assert norm.lengths(trace)[:, 1].tolist() == pytest.approx(
        [np.linalg.norm(row) for row in rows]
    )
    post = norm.lengths(trace.switch(norm_placement="post"))[:, 1].tolist()
    # A normed row of 3 numbers has the length √3, up to ε.
    assert post[1:] == pytest.approx([np.sqrt(3)] * 2, abs=1e-3)


def test_lengths_without_blocks():
    model = core.load("worked-example", preset="part-1")
    trace = model.trace(model.default_prompt)
    assert norm.lengths(trace)[:, 0].tolist() == pytest.approx([np.linalg.norm([0.2, 1.0, 0.1])])


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_what_comes_out_of_the_last_block_says_what_the_model_says(placement):
    """Wherever its norms stand: also the page then asks it about the last row only."""
    model = core.load("worked-example", preset="block", n_layers=2, norm_placement=placement)
    trace = model.trace(model.default_prompt)
    found = lens_top(trace, norm.end_of_stream(trace), -1, 3)
    logits = array(trace["logits"])[-1]
    probs = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert [each.id for each in found] == np.argsort(-probs, kind="stable")[:3].tolist()
    assert [each.prob for each in found] == pytest.approx(sorted(probs)[::-1][:3], abs=1e-12)
