"""Experiments with the MLP and with curves, against numpy and published numbers."""

import math

import numpy as np
import pytest
import torch

import core
from core.analysis import curves, mlp
from core.analysis.residual import NotDefined
from core.models.config import Config
from tests.support.random_models import IDS, random_model

GPT3 = Config(n_layers=96, n_heads=96, d_model=12288, n_vocab=50257, n_ctx=2048)


def array(tensor):
    return np.array(tensor.tolist())


@pytest.fixture(scope="module")
def trace():
    model = core.load("worked-example", preset="part-4-mlp")
    return model.trace(model.default_prompt)


def weights(trace, *names):
    return (array(trace.weights[f"blocks.0.mlp.{name}"]) for name in names)


def test_two_matrices_without_a_curve_are_one(trace):
    W_1, b_1, W_2, b_2 = weights(trace, "W_1", "b_1", "W_2", "b_2")
    found = mlp.without_curve(trace, 0, 2)
    assert np.abs(array(found.matrix) - W_1 @ W_2).max() < 1e-15
    x = array(trace["blocks.0.resid_mid"])[2]
    expected = (x @ W_1 + b_1) @ W_2 + b_2
    assert array(found.one_by_one) == pytest.approx(expected, abs=1e-15)
    assert array(found.at_once) == pytest.approx(x @ (W_1 @ W_2) + b_1 @ W_2 + b_2, abs=1e-15)
    assert found.difference < 1e-15


def test_curve_makes_a_difference(trace):
    found = mlp.without_curve(trace, 0, 2)
    real = array(trace["blocks.0.mlp.out"])[2]
    assert found.curve == pytest.approx(np.abs(real - array(found.at_once)).max())
    assert found.curve > 0.05


def test_one_matrix_without_biases():
    model = core.load("worked-example", preset="part-4-mlp", bias_mlp=False)
    found = mlp.without_curve(model.trace(model.default_prompt), 0, 0)
    assert found.bias is None and found.difference < 1e-15


def test_gated_mlp_is_no_single_matrix():
    with pytest.raises(NotDefined):
        mlp.without_curve(random_model("llama", torch.float64).trace(IDS), 0, 0)


@pytest.mark.parametrize("name", ["gpt2", "llama", "residual-around-attention-only"])
def test_other_token_does_not_reach_the_mlp_of_this_one(name):
    found = mlp.alone(random_model(name, torch.float64).trace(IDS), 1, pos=5, other=2)
    assert found.own == 0
    assert found.other > 1e-3
    assert found.by_attention > 1e-6


def test_later_token_changes_nothing_through_a_mask():
    found = mlp.alone(random_model("gpt2", torch.float64).trace(IDS), 1, pos=2, other=5)
    assert found.by_attention == 0


def test_gpt3_block():
    size = mlp.block_size(GPT3)
    assert size.mlp == 2 * 12288 * 49152
    assert round(size.mlp / 1e9, 1) == 1.2
    assert size.attention == 4 * 12288**2
    assert size.mlp == 2 * size.attention


def test_gated_block_has_three_matrices():
    # The published sizes of Llama 3 8B.
    config = Config(32, 32, 4096, 128256, 8192, n_kv_heads=8, d_mlp=14336, gated=True)
    size = mlp.block_size(config)
    assert size.mlp == 3 * 4096 * 14336
    assert size.attention == 2 * 4096 * 4096 + 2 * 4096 * 1024


def gelu(z):
    return z * 0.5 * math.erfc(-z / math.sqrt(2))


def test_curve_and_its_slope_by_hand():
    z = torch.tensor([-2.0, -0.4, -0.33, 0.0, 1.61], dtype=torch.float64)
    found = curves.curve("gelu", z)
    assert found.value.tolist() == pytest.approx([gelu(v) for v in z.tolist()])
    step = 1e-6
    slopes = [(gelu(v + step) - gelu(v - step)) / (2 * step) for v in z.tolist()]
    assert found.slope.tolist() == pytest.approx(slopes, abs=1e-8)
    assert [round(v, 2) for v in found.value.tolist()[1:3]] == [-0.14, -0.12]


def test_curve_of_a_traced_value(trace):
    found = curves.curve("gelu_tanh", trace["blocks.0.mlp.hidden"][2])
    assert array(found.value) == pytest.approx(array(trace["blocks.0.mlp.act"])[2])


def test_relu_is_flat_below_zero():
    found = curves.curve("relu", torch.tensor([-1.0, -0.1, 0.1]))
    assert found.slope.tolist() == [0, 0, 1]


def test_gelu_is_flat_at_one_point():
    assert round(curves.flat_at("gelu"), 2) == -0.75
    assert round(curves.flat_at("gelu_tanh"), 2) == -0.75
    flat = curves.flat_at("gelu")
    density = math.exp(-(flat**2) / 2) / math.sqrt(2 * math.pi)
    assert 0.5 * math.erfc(-flat / math.sqrt(2)) + flat * density == pytest.approx(0, abs=1e-9)


def test_tanh_stays_close_to_the_exact_curve():
    found = curves.largest_gap("gelu", "gelu_tanh")
    z = found.z
    tanh = 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    assert found.size == pytest.approx(abs(tanh - gelu(z)), rel=1e-6)
    assert 4e-4 < found.size < 5e-4
