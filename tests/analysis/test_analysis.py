"""Readings and experiments against published figures and numpy by hand."""

import math

import numpy as np
import pytest
import torch

import core
from core.analysis import attention, embedding, gradients, mlp, residual


@pytest.fixture(scope="module")
def trace():
    model = core.load("worked-example")
    return model.trace(model.default_prompt)


def array(tensor):
    return np.array(tensor.tolist())


def layer_norm(x, gamma=1.0, beta=0.0):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def test_gradients_without_shortcuts_are_the_published_ones():
    # Raschka, "Build a Large Language Model (From Scratch)", section 4.4.
    published = [0.00020173, 0.00012011, 0.00071520, 0.00139887, 0.00504964]
    assert gradients.layer_gradients(shortcuts=False) == pytest.approx(published, rel=1e-3)


def test_gradients_with_shortcuts_are_the_published_ones():
    published = [0.22169795, 0.20694105, 0.32896983, 0.26657325, 1.32585418]
    assert gradients.layer_gradients(shortcuts=True) == pytest.approx(published, rel=1e-3)


def test_first_layer_gets_a_twenty_fifth_of_the_last():
    first, *_, last = gradients.layer_gradients(shortcuts=False)
    assert round(last / first) == 25


def test_gradients_leave_the_random_state_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    gradients.layer_gradients(shortcuts=True)
    assert torch.equal(torch.rand(3), expected)


def test_spread_of_unscaled_scores_grows_with_the_root_of_the_width():
    narrow, wide = attention.saturation([16, 1024], scaled=False, n_keys=64)
    assert wide.spread / narrow.spread == pytest.approx(math.sqrt(1024 / 16), rel=0.1)


def test_unscaled_softmax_saturates_and_scaled_does_not():
    unscaled = attention.saturation([4, 64, 1024], scaled=False)
    scaled = attention.saturation([4, 64, 1024], scaled=True)
    assert [row.largest for row in unscaled] == sorted(row.largest for row in unscaled)
    assert unscaled[-1].largest > 0.95 and unscaled[-1].slope < 0.06
    assert scaled[-1].largest < 0.5 and scaled[-1].slope > 0.3


def test_slope_is_what_autograd_finds():
    # One query: the Jacobian's row for the winning key, summed in absolute value.
    (row,) = attention.saturation([5], scaled=True, n_queries=1, seed=3)
    random = torch.Generator().manual_seed(3)
    q = torch.randn(1, 5, generator=random, dtype=torch.float64)
    k = torch.randn(8, 5, generator=random, dtype=torch.float64)
    scores = (q @ k.T / math.sqrt(5))[0].requires_grad_()
    torch.softmax(scores, -1).max().backward()
    assert row.slope == pytest.approx(scores.grad.abs().sum().item())


def test_masking_after_softmax_gives_the_same_shares(trace):
    unmasked = trace["blocks.0.attn.scores_scaled"]
    later = attention.mask_after(unmasked)
    assert (later - trace["blocks.0.attn.weights"]).abs().max() < 1e-15


@pytest.mark.parametrize("mask", ["open", "after", "first"])
def test_a_share_is_written_out_from_the_scores_of_its_row(trace, mask):
    scores = array(trace["blocks.0.attn.scores_scaled"])[0]
    powers = np.exp(scores) * (np.tri(3) if mask != "open" else 1)
    shares = powers / powers.sum(axis=1, keepdims=True)
    for query, key in [(0, 0), (1, 0), (1, 1), (2, 0)]:
        found = attention.explain_share(trace, 0, (0, query, key), mask)
        (term,) = found.terms
        assert term.value == found.value == pytest.approx(shares[query, key], abs=1e-12)
        assert core.graph.Ref("blocks.0.attn.scores_scaled", (0, query, key)) in term.refs
    hidden = attention.explain_share(trace, 0, (0, 0, 2), mask)
    assert hidden.value == pytest.approx(shares[0, 2]) and bool(hidden.terms) == (mask == "open")


def test_the_model_masks_first_and_what_is_kept_of_dropout_is_a_share_of_it(trace):
    name = "blocks.0.attn.weights"
    ours = attention.mask_first(trace["blocks.0.attn.scores_scaled"])
    assert (ours - trace[name]).abs().max() < 1e-15
    found = attention.explain_kept(trace, 0, (0, 2, 1), 0.5)
    assert found.value == 2 * array(trace[name])[0, 2, 1]
    assert found.terms[0].refs == (core.graph.Ref(name, (0, 2, 1)),)


def test_dropout_zeroes_some_and_scales_the_rest():
    weights = torch.full((100, 100), 0.5)
    dropped = attention.dropout(weights, 0.1, seed=0)
    values = set(dropped.flatten().tolist())
    assert len(values) == 2 and 0.0 in values
    assert max(values) == pytest.approx(0.5 * 1.11, rel=2e-3)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("p", [-0.1, 1.0, math.nan])
def test_dropout_refuses_an_impossible_share(p):
    with pytest.raises(ValueError, match="less than 1"):
        attention.dropout(torch.ones(2, 2), p, seed=0)


def test_onehot_product_equals_the_lookup(trace):
    rows = [[0.2, 0.9, 0.1], [0.8, 0.1, 0.3], [0.4, 0.3, 0.9]]
    long_way = [embedding.onehot_product(trace, pos) for pos in range(3)]
    assert [found.product.tolist() for found in long_way] == rows
    assert [found.difference for found in long_way] == [0, 0, 0]
    assert (long_way[0].multiply_adds, long_way[0].zeros) == (6 * 3, 5 * 3)


@pytest.mark.parametrize(
    ("a", "b", "printed"),
    [
        ([0.2, 0.9, 0.1], [0.3, 0.8, 0.2], 0.9831),
        ([0.2, 0.9, 0.1], [0.9, 0.1, 0.4], 0.3377),
        ([0.2, 0.9, 0.1], [0.8, 0.1, 0.3], 0.35),
        ([0.0, 0.0], [1.0, 0.0], 0.0),
    ],
)
def test_cosine(a, b, printed):
    digits = len(str(printed).partition(".")[2])
    assert round(embedding.cosine(torch.tensor(a), torch.tensor(b)), digits) == printed


def test_nearest_leaves_the_token_itself_out(trace):
    rows = array(trace.weights["embed.W_E"])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = embedding.nearest(trace, 0, k=10)
    assert len(found) == 5 and 0 not in [n.id for n in found]
    assert [n.cosine for n in found] == pytest.approx(sorted((unit @ unit[0])[1:], reverse=True))


def test_lens_at_the_end_is_the_models_own_output(trace):
    assert (residual.logit_lens(trace, "blocks.0.resid_out") - trace["logits"]).abs().max() < 1e-14


def test_lens_in_the_middle(trace):
    stream, W_U = array(trace["blocks.0.resid_mid"]), array(trace.weights["unembed.W_U"])
    found = array(residual.logit_lens(trace, "blocks.0.resid_mid"))
    assert np.abs(found - layer_norm(stream) @ W_U).max() < 1e-12


def test_stream_steps_are_in_execution_order(trace):
    steps = residual.stream_steps(trace)
    assert steps == ["embed.sum", "blocks.0.resid_mid", "blocks.0.resid_out"]


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "block"},
        {"preset": "part-2"},
        {"preset": "part-4-mlp"},
        {"preset": "part-6"},
        {"preset": "block", "norm": "rms"},
        {"preset": "block", "n_layers": 3},
        {"preset": "block", "position": "rotary"},
    ],
)
def test_pushes_sum_to_the_logit(settings):
    model = core.load("worked-example", **settings)
    trace = model.trace("나는 밥을 먹었다 .")
    found = residual.attribution(trace, token_id=3, pos=2)
    total = sum(push.value for push in found.pushes) + found.constant
    assert total == pytest.approx(trace.value("logits", (2, 3)), abs=1e-12)


def test_a_push_by_hand(trace):
    last = array(trace["blocks.0.resid_out"])[-1]
    added, W_U = array(trace["blocks.0.mlp.out"])[-1], array(trace.weights["unembed.W_U"])
    expected = (added - added.mean()) / np.sqrt(last.var() + 1e-5) @ W_U[:, 4]
    push = residual.attribution(trace, token_id=4).pushes[-1]
    assert push.step == "blocks.0.mlp.out" and push.value == pytest.approx(expected, abs=1e-12)


def test_pushes_are_not_defined_with_norms_on_the_stream():
    model = core.load("worked-example", norm_placement="post")
    with pytest.raises(residual.NotDefined):
        residual.attribution(model.trace(model.default_prompt), 0)


def test_strongest_neurons_by_hand(trace):
    act, W_2 = array(trace["blocks.0.mlp.act"])[1], array(trace.weights["blocks.0.mlp.W_2"])
    written = np.linalg.norm(act[:, None] * W_2, axis=1)
    found = mlp.strongest_neurons(trace, block=0, pos=1, k=3)
    assert [n.index for n in found] == np.argsort(-written)[:3].tolist()
    assert [n.written for n in found] == pytest.approx(sorted(written, reverse=True)[:3])


def test_a_neuron_promotes_what_its_row_points_at(trace):
    (neuron,) = mlp.strongest_neurons(trace, block=0, pos=2, k=1)
    W_2, W_U = array(trace.weights["blocks.0.mlp.W_2"]), array(trace.weights["unembed.W_U"])
    effect = neuron.activation * W_2[neuron.index] @ W_U
    best = trace.model.tokenizer.token_text(int(effect.argmax()))
    assert neuron.promotes[0] == (best, pytest.approx(effect.max()))
    assert all(value > 0 for _, value in neuron.promotes)
    assert all(value < 0 for _, value in neuron.suppresses)
