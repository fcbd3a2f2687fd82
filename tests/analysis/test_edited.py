"""Readings of an edited trace read the edited weights, not the model's own."""

import numpy as np
import pytest
import torch

import core
from core.analysis import embedding, mlp, position, residual
from tests.support.close import same_bits
from tests.support.random_models import IDS, random_model

EXAMPLE = core.load("worked-example", device="cpu")
EDITS = {
    "unembed.W_U": {(1, 4): 3.0},
    "ln_f.gamma": {(0,): 2.0, (2,): -1.0},
    "ln_f.beta": {(1,): 0.5},
    "embed.W_E": {(1, None): 0.7},
}


@pytest.fixture
def edited():
    return EXAMPLE.trace(EXAMPLE.default_prompt).edit(EDITS)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_lens_ends_with_the_edited_logits(name):
    trace = random_model(name, torch.float64).trace(IDS)
    changed = trace.edit({"embed.W_E": {(3, None): 1.0}, "ln_f.gamma": {(0,): 5.0}})
    rows = range(len(IDS))
    assert residual.lens_error(changed, rows) < 1e-12
    last = residual.stream_steps(changed)[-1]
    assert (residual.logit_lens(changed, last) - changed["logits"]).abs().max() < 1e-12
    top = residual.lens_top(changed, last, 7, 3)
    assert [one.id for one in top] == [one.id for one in changed.top(3)]
    assert residual.lens_readings(changed, [7])[-1].ids == (top[0].id,)


def test_pushes_sum_to_the_edited_logit(edited):
    for token_id in range(6):
        found = residual.attribution(edited, token_id)
        total = sum(push.value for push in found.pushes) + found.constant
        assert found.constant == pytest.approx(0.5 * edited.weights["unembed.W_U"][1, token_id])
        assert total == pytest.approx(edited.value("logits", (-1, token_id)), abs=1e-12)


def test_direction_and_neurons_follow_the_unembedding(edited):
    assert residual.direction(edited, 4)[1] == 3.0
    W_2, W_U = (edited.weights[n].numpy() for n in ("blocks.0.mlp.W_2", "unembed.W_U"))
    (neuron,) = mlp.strongest_neurons(edited, block=0, pos=2, k=1)
    effect = neuron.activation * W_2[neuron.index] @ W_U
    best = EXAMPLE.tokenizer.token_text(int(effect.argmax()))
    assert neuron.promotes[0] == (best, pytest.approx(effect.max()))


def test_neighbours_follow_the_embedding():
    trace = EXAMPLE.trace(EXAMPLE.default_prompt)
    twin = trace.edit({"embed.W_E": {(5, i): trace.weights["embed.W_E"][0, i] for i in range(3)}})
    first = embedding.nearest(twin, 0)[0]
    assert (first.id, first.cosine) == (5, pytest.approx(1.0))
    assert embedding.nearest(trace, 0)[0].id != 5


def test_another_text_is_read_with_the_edited_weights(edited):
    other = edited.edit({"blocks.0.resid_mid": {(0, 0): 9.0}}).reread([3, 0, 1])
    assert other.ids == [3, 0, 1] and "blocks.0.resid_mid" not in other.edits
    expected = EXAMPLE.trace([3, 0, 1]).edit(EDITS)
    assert all(same_bits(other[name], expected[name]) for name in expected.steps)
    plain = EXAMPLE.trace([0, 1])
    assert same_bits(plain.reread([3, 0])["logits"], EXAMPLE.trace([3, 0])["logits"])


def test_orders_are_compared_with_edited_weights_and_without_edited_steps(edited):
    changed = edited.edit({"embed.sum": {(0, 0): 9.0}})
    test = position.reordered(changed)
    rows = changed.weights["embed.W_E"].numpy()
    assert np.array_equal(test.first_without["embed.sum"].numpy(), rows[[0, 1, 2]])
    assert np.array_equal(test.second_without["embed.sum"].numpy(), rows[[1, 0, 2]])


def test_queries_and_keys_follow_their_matrices():
    trace = EXAMPLE.trace([0, 0, 0, 2]).edit({"blocks.0.attn.W_Q": {(1, None, 0): 2.0}})
    q, k = position.query_and_key(trace, 2, 0, head=1, n=4)
    assert same_bits(q[3], trace["blocks.0.attn.q"][1, 3])
    assert same_bits(k[1], trace["blocks.0.attn.k"][1, 1])
