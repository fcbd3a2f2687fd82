"""What heads collect and write, and one projection for all of them, against numpy."""

import numpy as np
import pytest

import core
from core.analysis import attention

LAYER = "blocks.0.attn"


def array(tensor):
    return np.array(tensor.tolist())


@pytest.fixture(params=["block", "part-3", "part-5", "grouped"])
def trace(request):
    if request.param == "grouped":
        model = core.load("worked-example", preset="block", n_kv_heads=1)
    else:
        model = core.load("worked-example", preset=request.param)
    return model.trace(model.default_prompt)


def test_contributions_add_up_to_what_the_head_found(trace):
    config = trace.model.config
    for head in range(config.n_heads):
        weights, values = array(trace[f"{LAYER}.weights"]), array(trace[f"{LAYER}.v"])
        value = values[head * config.n_kv_heads // config.n_heads]
        found = array(attention.contributions(trace, 0, head, query=1))
        assert np.allclose(found, weights[head, 1][:, None] * value, atol=1e-15)
        assert np.allclose(found.sum(0), array(trace[f"{LAYER}.heads"])[head, 1], atol=1e-15)


def test_head_outputs_add_up_to_the_output_of_attention(trace):
    config = trace.model.config
    W_O, heads = array(trace.weights[f"{LAYER}.W_O"]), array(trace[f"{LAYER}.heads"])
    found = array(attention.head_outputs(trace, 0, pos=2))
    for head in range(config.n_heads):
        rows = W_O[head * config.d_head : (head + 1) * config.d_head]
        assert np.allclose(found[head], heads[head, 2] @ rows, atol=1e-15)
    assert np.allclose(found.sum(0), array(trace[f"{LAYER}.out"])[2], atol=1e-15)


def test_one_projection_split_by_view_is_the_heads_own(trace):
    found = attention.projections(trace, 0)
    W, x = array(trace.weights[f"{LAYER}.W_Q"]), array(trace[trace.step(f"{LAYER}.q").inputs[0]])
    glued = np.concatenate(list(W), axis=1)
    assert np.array_equal(array(found.glued), glued)
    assert np.allclose(array(found.product), x @ glued, atol=1e-15)
    assert found.difference < 1e-15
    by_hand = np.stack([x @ w for w in W])
    assert np.allclose(
        array(
            attention.head_by_head(
                trace[trace.step(f"{LAYER}.q").inputs[0]], trace.weights[f"{LAYER}.W_Q"]
            )
        ),
        by_hand,
    )
    assert np.allclose(array(trace[f"{LAYER}.q"]), by_hand, atol=1e-15)
    assert found.multiply_adds == trace.cost(f"{LAYER}.q").multiply_adds


def test_scores_are_symmetric_only_with_equal_projections():
    model = core.load("worked-example", preset="part-2")
    trace = model.trace(model.default_prompt)
    assert attention.asymmetry(trace[f"{LAYER}.scores"][0]).largest < 1e-15
    edited = trace.edit({f"{LAYER}.W_Q": {(0, 1, 0): 0.8}})
    scores = array(edited[f"{LAYER}.scores"])[0]
    found = attention.asymmetry(edited[f"{LAYER}.scores"][0])
    assert found.largest == pytest.approx(np.abs(scores - scores.T).max())
    assert abs(scores[found.query, found.key] - scores[found.key, found.query]) == found.largest


def test_unscaled_shares_are_the_softmax_of_the_raw_scores():
    model = core.load("worked-example", preset="part-2")
    trace = model.trace(model.default_prompt)
    scores = array(trace[f"{LAYER}.scores"])
    powers, n = np.exp(scores), scores.shape[1]
    found = [array(attention.unscaled(trace, 0, 0, query)) for query in range(n)]
    assert np.allclose(found, powers[0] / powers[0].sum(-1, keepdims=True))
    switched = trace.switch(scaled=False)
    assert np.array_equal(found, array(switched[f"{LAYER}.weights"])[0])


def test_an_unscaled_row_is_computed_without_those_of_other_tokens(monkeypatch):
    """Of a long text the whole steps would drive out what the page has looked at."""
    model = core.load("worked-example", preset="block")
    trace = model.trace(model.default_prompt)
    monkeypatch.setattr(trace, "edit", None)
    powers = np.exp(array(trace[f"{LAYER}.scores"])[1, 1, :2])
    found = array(attention.unscaled(trace, 0, 1, 1))
    assert np.allclose(found, [*powers / powers.sum(), 0.0])


def test_what_was_set_by_hand_after_the_scores_stays_in_an_unscaled_row():
    model = core.load("worked-example", preset="block")
    edited = model.trace(model.default_prompt).edit({f"{LAYER}.weights": {(0, 2, 1): 0.75}})
    row, scores = array(attention.unscaled(edited, 0, 0, 2)), array(edited[f"{LAYER}.scores"])[0, 2]
    powers = np.exp(scores)
    assert np.allclose(row, [powers[0] / powers.sum(), 0.75, powers[2] / powers.sum()])


def test_ranked_shares_fall_and_sum_to_one():
    for row in attention.saturation([3, 64], scaled=False):
        assert sum(row.ranked) == pytest.approx(1)
        assert list(row.ranked) == sorted(row.ranked, reverse=True)


def test_dropout_keeps_a_row_only_on_average():
    model = core.load("worked-example", preset="part-2")
    row = model.trace(model.default_prompt)[f"{LAYER}.weights"][0, 2]
    sums = {round(attention.dropout(row, 0.3, seed).sum().item(), 6) for seed in range(20)}
    assert len(sums) > 3
    assert attention.average_sum(row, 0.3, seed=0, draws=4000) == pytest.approx(1, abs=0.03)
