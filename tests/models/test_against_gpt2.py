"""The engine against `transformers` GPT-2 with random weights, saved and loaded back.

float32, within 1e-5 of the largest value of each tensor.
"""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from core.models.config import Config
from tests.support.close import assert_close
from tests.support.hugging_face import Heard, ours, random_ids, randomise, through_a_file

ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "silu"}
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


def our_config(hf: GPT2Config) -> Config:
    return Config(
        n_layers=hf.n_layer,
        n_heads=hf.n_head,
        d_model=hf.n_embd,
        d_mlp=hf.n_inner,
        n_vocab=hf.vocab_size,
        n_ctx=hf.n_positions,
        norm_eps=hf.layer_norm_epsilon,
        activation=ACTIVATIONS[hf.activation_function],
        scaled=hf.scale_attn_weights,
        tied=hf.tie_word_embeddings,
    )


def our_tensors(hf: GPT2Config, state: dict) -> dict:
    """GPT-2 stores Q, K and V side by side, all heads side by side within each."""
    d, heads, d_head = hf.n_embd, hf.n_head, hf.n_embd // hf.n_head
    tensors = {
        "embed.W_E": state["transformer.wte.weight"],
        "embed.W_P": state["transformer.wpe.weight"],
        "ln_f.gamma": state["transformer.ln_f.weight"],
        "ln_f.beta": state["transformer.ln_f.bias"],
    }
    if not hf.tie_word_embeddings:
        tensors["unembed.W_U"] = state["lm_head.weight"].T
    for i in range(hf.n_layer):
        theirs, own = f"transformer.h.{i}", f"blocks.{i}"
        for n, letter in enumerate("QKV"):
            columns = state[f"{theirs}.attn.c_attn.weight"][:, n * d : (n + 1) * d]
            biases = state[f"{theirs}.attn.c_attn.bias"][n * d : (n + 1) * d]
            per_head = [columns[:, h * d_head : (h + 1) * d_head] for h in range(heads)]
            tensors[f"{own}.attn.W_{letter}"] = torch.stack(per_head)
            tensors[f"{own}.attn.b_{letter}"] = biases.reshape(heads, d_head)
        tensors[f"{own}.attn.W_O"] = state[f"{theirs}.attn.c_proj.weight"]
        tensors[f"{own}.attn.b_O"] = state[f"{theirs}.attn.c_proj.bias"]
        tensors[f"{own}.mlp.W_1"] = state[f"{theirs}.mlp.c_fc.weight"]
        tensors[f"{own}.mlp.b_1"] = state[f"{theirs}.mlp.c_fc.bias"]
        tensors[f"{own}.mlp.W_2"] = state[f"{theirs}.mlp.c_proj.weight"]
        tensors[f"{own}.mlp.b_2"] = state[f"{theirs}.mlp.c_proj.bias"]
        for norm in ("ln_1", "ln_2"):
            tensors[f"{own}.{norm}.gamma"] = state[f"{theirs}.{norm}.weight"]
            tensors[f"{own}.{norm}.beta"] = state[f"{theirs}.{norm}.bias"]
    return tensors


@pytest.fixture(scope="module", params=SHAPES)
def pair(request, tmp_path_factory):
    """Our trace of a prompt as long as the context, and what GPT-2 said to the same."""
    config = GPT2Config(**SHAPES[request.param], attn_implementation="eager")
    network = GPT2LMHeadModel(config).eval()
    randomise(network, seed=7)
    state = through_a_file(network, tmp_path_factory.mktemp("gpt2"))
    ids = random_ids(config.n_positions, config.vocab_size)
    model = ours(our_config(config), our_tensors(config, state))
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
    tensors = our_tensors(config, through_a_file(network, tmp_path))
    ids = random_ids(40, config.vocab_size)
    trace = ours(our_config(config), tensors, torch.float64).trace(ids)
    assert_close(trace["logits"], Heard(network.double(), ids).logits, 1e-12)
