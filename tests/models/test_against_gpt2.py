"""The loader and the engine against `transformers` GPT-2 with random weights, saved and loaded.

float32, within 1e-5 of the largest value of each tensor.
"""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.support.close import assert_close
from tests.support.hugging_face import Heard, random_ids, randomise, through_a_folder

SHAPES = {
    "small": {"n_embd": 32, "n_head": 4, "n_layer": 3, "vocab_size": 97, "n_positions": 40},
    "one head, relu, narrow MLP": {
        "n_embd": 24,
        "n_head": 1,
        "n_layer": 1,
        "n_inner": 10,
        "activation_function": "relu",
        "vocab_size": 31,
        "n_positions": 16,
    },
    "many heads, exact GELU, wide MLP": {
        "n_embd": 48,
        "n_head": 12,
        "n_layer": 2,
        "n_inner": 250,
        "activation_function": "gelu",
        "vocab_size": 301,
        "n_positions": 64,
        "layer_norm_epsilon": 1e-3,
    },
    "untied, unscaled, silu": {
        "n_embd": 30,
        "n_head": 3,
        "n_layer": 2,
        "activation_function": "silu",
        "scale_attn_weights": False,
        "tie_word_embeddings": False,
        "vocab_size": 53,
        "n_positions": 20,
    },
    "deep": {"n_embd": 16, "n_head": 2, "n_layer": 8, "vocab_size": 40, "n_positions": 30},
}


@pytest.fixture(scope="module", params=SHAPES)
def pair(request, tmp_path_factory):
    """Our trace of a prompt as long as the context, and what GPT-2 said to the same."""
    config = GPT2Config(**SHAPES[request.param], attn_implementation="eager")
    network = GPT2LMHeadModel(config).eval()
    randomise(network, seed=7)
    ids = random_ids(config.n_positions, config.vocab_size)
    model = through_a_folder(network, tmp_path_factory.mktemp("gpt2"))
    return model.trace(ids), Heard(network, ids), config


def each_layer(trace):
    return range(trace.model.config.n_layers)


def test_weights_are_not_trivial(pair):
    """Guards the other tests: a bias of zero or a gamma of one would hide its absence."""
    for name, weight in pair[0].model.weights.items():
        assert weight.std() > 0.05, name


def test_embeddings(pair):
    trace, heard, _ = pair
    assert_close(trace["embed.token"], heard.outputs["transformer.wte"], 1e-5)
    assert_close(trace["embed.position"], heard.outputs["transformer.wpe"], 1e-5)
    assert_close(trace["embed.sum"], heard.hidden_states[0], 1e-5)


def test_hidden_states(pair):
    """`hidden_states` holds the input of every block and, last, the output of ln_f."""
    trace, heard, _ = pair
    assert len(heard.hidden_states) == len(each_layer(trace)) + 1
    for i in each_layer(trace):
        resid_in, resid_out = f"blocks.{i}.resid_in", f"blocks.{i}.resid_out"
        assert_close(trace[resid_in], heard.hidden_states[i], 1e-5, resid_in)
        assert_close(trace[resid_out], heard.outputs[f"transformer.h.{i}"], 1e-5, resid_out)
        resid_mid = heard.inputs[f"transformer.h.{i}.ln_2"]
        assert_close(trace[f"blocks.{i}.resid_mid"], resid_mid, 1e-5, "resid_mid")
    assert_close(trace["ln_f.out"], heard.hidden_states[-1], 1e-5)


def test_queries_keys_and_values(pair):
    trace, heard, config = pair
    for i in each_layer(trace):
        side_by_side = heard.outputs[f"transformer.h.{i}.attn.c_attn"]
        for letter, part in zip("qkv", side_by_side.split(config.n_embd, dim=-1), strict=True):
            per_head = part.reshape(len(part), config.n_head, -1).transpose(0, 1)
            assert_close(trace[f"blocks.{i}.attn.{letter}"], per_head, 1e-5, letter)


def test_attention_weights(pair):
    trace, heard, _ = pair
    for i in each_layer(trace):
        assert_close(trace[f"blocks.{i}.attn.weights"], heard.attentions[i], 1e-5)


def test_attention_output(pair):
    trace, heard, _ = pair
    for i in each_layer(trace):
        concat = heard.inputs[f"transformer.h.{i}.attn.c_proj"]
        assert_close(trace[f"blocks.{i}.attn.concat"], concat, 1e-5, "concat")
        assert_close(trace[f"blocks.{i}.attn.out"], heard.outputs[f"transformer.h.{i}.attn"], 1e-5)


@pytest.mark.parametrize("norm", ["ln_1", "ln_2"])
def test_layer_norms(pair, norm):
    trace, heard, _ = pair
    for i in each_layer(trace):
        found, expected = (
            trace[f"blocks.{i}.{norm}.out"],
            heard.outputs[f"transformer.h.{i}.{norm}"],
        )
        assert_close(found, expected, 1e-5)


@pytest.mark.parametrize(
    "step, module", [("hidden", "mlp.c_fc"), ("act", "mlp.act"), ("out", "mlp")]
)
def test_mlp(pair, step, module):
    trace, heard, _ = pair
    for i in each_layer(trace):
        expected = heard.outputs[f"transformer.h.{i}.{module}"]
        assert_close(trace[f"blocks.{i}.mlp.{step}"], expected, 1e-5)


def test_logits(pair):
    trace, heard, _ = pair
    assert_close(trace["logits"], heard.logits, 1e-5)
    assert_close(trace.model.forward(trace.ids), heard.logits, 1e-5)


def test_float64(tmp_path):
    config = GPT2Config(**SHAPES["small"], attn_implementation="eager")
    network = GPT2LMHeadModel(config).eval()
    randomise(network, seed=8)
    ids = random_ids(40, config.vocab_size)
    trace = through_a_folder(network, tmp_path, torch.float64).trace(ids)
    assert_close(trace["logits"], Heard(network.double(), ids).logits, 1e-12)
