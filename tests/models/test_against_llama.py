"""The loader and the engine against `transformers` Llama and relatives, saved and loaded.

float32, within 1e-5 of the largest value of each tensor.
"""

import inspect

import pytest
import torch
from transformers import (
    HeliumConfig,
    HeliumForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from tests.support.close import assert_close
from tests.support.hugging_face import Heard, random_ids, randomise, through_a_folder

COMMON = {
    "hidden_size": 32,
    "intermediate_size": 44,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 61,
    "max_position_embeddings": 48,
    "tie_word_embeddings": False,
    "attn_implementation": "eager",
}
KINDS = {
    "one kv head per head": (LlamaConfig, {"num_key_value_heads": 4}),
    "grouped queries": (LlamaConfig, {"num_key_value_heads": 2, "num_hidden_layers": 3}),
    "one kv head, tied": (LlamaConfig, {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "wide heads, another base": (
        LlamaConfig,
        {
            "num_key_value_heads": 2,
            "head_dim": 20,
            "rms_norm_eps": 1e-3,
            "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
        },
    ),
    # A text of 16 places first: of the ten pairs some keep their rate, some change, some lose most.
    "angles stretched as in Llama 3": (
        LlamaConfig,
        {
            "num_key_value_heads": 2,
            "head_dim": 20,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 500.0,
                "factor": 8.0,
                "low_freq_factor": 0.5,
                "high_freq_factor": 2.0,
                "original_max_position_embeddings": 16,
            },
        },
    ),
    "all angles stretched alike (linear)": (
        LlamaConfig,
        {
            "num_key_value_heads": 2,
            "rope_parameters": {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0},
        },
    ),
    "biases everywhere in attention": (
        LlamaConfig,
        {"num_key_value_heads": 2, "attention_bias": True},
    ),
    "Qwen2: biases of q, k and v": (Qwen2Config, {"num_key_value_heads": 2}),
    "Qwen2, tied": (Qwen2Config, {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "Mistral without a window": (
        MistralConfig,
        {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": None},
    ),
    "Mistral, a window as long as the context": (
        MistralConfig,
        {"num_key_value_heads": 2, "head_dim": 20, "sliding_window": 48},
    ),
    "Helium: neighbours turn as a pair": (HeliumConfig, {"num_key_value_heads": 2, "head_dim": 8}),
}
NETWORKS = {
    LlamaConfig: LlamaForCausalLM,
    Qwen2Config: Qwen2ForCausalLM,
    MistralConfig: MistralForCausalLM,
    HeliumConfig: HeliumForCausalLM,
}


def d_head_of(hf) -> int:
    return getattr(hf, "head_dim", None) or hf.hidden_size // hf.num_attention_heads


def make(kind, settings, folder, dtype=torch.float32):
    config = kind(**COMMON | settings)
    network = NETWORKS[kind](config).eval()
    randomise(network, seed=11)
    return through_a_folder(network, folder, dtype), network


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory):
    """Our trace of a prompt as long as the context, and what the network said to the same."""
    model, network = make(*KINDS[request.param], tmp_path_factory.mktemp("llama"))
    ids = random_ids(48, 61)
    return model.trace(ids), Heard(network, ids), network


def each_layer(trace):
    return range(trace.model.config.n_layers)


def rotated(heard: Heard, network, layer: int):
    """q and k after the rotation by `transformers`' own function, from what its modules said."""
    d_head = d_head_of(network.config)
    q, k = (
        heard.outputs[f"model.layers.{layer}.self_attn.{c}_proj"].unflatten(-1, (-1, d_head))
        for c in "qk"
    )
    q, k = q.transpose(0, 1)[None], k.transpose(0, 1)[None]
    cos, sin = network.model.rotary_emb(q, torch.arange(q.shape[-2])[None])
    rotate = inspect.getmodule(type(network)).apply_rotary_pos_emb
    return [x[0] for x in rotate(q, k, cos, sin)]


def test_weights_are_not_trivial(pair):
    """Guards the other tests: a bias of zero or a gamma of one would hide its absence."""
    for name, weight in pair[0].model.weights.items():
        assert weight.std() > 0.05, name


def test_hidden_states(pair):
    """`hidden_states` holds the input of every block and, last, the output of the final norm."""
    trace, heard, _ = pair
    assert len(heard.hidden_states) == len(each_layer(trace)) + 1
    assert_close(trace["embed.sum"], heard.hidden_states[0], 1e-5)
    for i in each_layer(trace):
        assert_close(trace[f"blocks.{i}.resid_in"], heard.hidden_states[i], 1e-5)
        resid_mid = heard.inputs[f"model.layers.{i}.post_attention_layernorm"]
        assert_close(trace[f"blocks.{i}.resid_mid"], resid_mid, 1e-5)
        assert_close(trace[f"blocks.{i}.resid_out"], heard.outputs[f"model.layers.{i}"], 1e-5)
    assert_close(trace["ln_f.out"], heard.hidden_states[-1], 1e-5)


@pytest.mark.parametrize(
    "step, module", [("ln_1", "input_layernorm"), ("ln_2", "post_attention_layernorm")]
)
def test_rms_norms(pair, step, module):
    trace, heard, _ = pair
    for i in each_layer(trace):
        expected = heard.outputs[f"model.layers.{i}.{module}"]
        assert_close(trace[f"blocks.{i}.{step}.out"], expected, 1e-5)


@pytest.mark.parametrize("letter", "qkv")
def test_projections_before_the_rotation(pair, letter):
    trace, heard, network = pair
    for i in each_layer(trace):
        flat = heard.outputs[f"model.layers.{i}.self_attn.{letter}_proj"]
        per_head = flat.unflatten(-1, (-1, d_head_of(network.config))).transpose(0, 1)
        assert_close(trace[f"blocks.{i}.attn.{letter}"], per_head, 1e-5)


def test_rotation(pair):
    trace, heard, network = pair
    for i in each_layer(trace):
        q, k = rotated(heard, network, i)
        assert_close(trace[f"blocks.{i}.attn.q_rotated"], q, 1e-5, "q")
        assert_close(trace[f"blocks.{i}.attn.k_rotated"], k, 1e-5, "k")


def test_attention(pair):
    trace, heard, _ = pair
    for i in each_layer(trace):
        theirs = f"model.layers.{i}.self_attn"
        assert_close(trace[f"blocks.{i}.attn.weights"], heard.attentions[i], 1e-5, "weights")
        concat = heard.inputs[f"{theirs}.o_proj"]
        assert_close(trace[f"blocks.{i}.attn.concat"], concat, 1e-5, "concat")
        assert_close(trace[f"blocks.{i}.attn.out"], heard.outputs[theirs], 1e-5, "out")


@pytest.mark.parametrize(
    "step, module",
    [("gate", "gate_proj"), ("up", "up_proj"), ("act", "act_fn"), ("out", "down_proj")],
)
def test_gated_mlp(pair, step, module):
    trace, heard, _ = pair
    for i in each_layer(trace):
        expected = heard.outputs[f"model.layers.{i}.mlp.{module}"]
        assert_close(trace[f"blocks.{i}.mlp.{step}"], expected, 1e-5)


def test_product_of_gate_and_up(pair):
    trace, heard, _ = pair
    for i in each_layer(trace):
        expected = heard.inputs[f"model.layers.{i}.mlp.down_proj"]
        assert_close(trace[f"blocks.{i}.mlp.product"], expected, 1e-5)


def test_logits(pair):
    trace, heard, _ = pair
    assert_close(trace["logits"], heard.logits, 1e-5)
    assert_close(trace.model.forward(trace.ids), heard.logits, 1e-5)


def test_a_long_prompt(tmp_path):
    """Late positions turn by large angles, of which float32 has few digits left."""
    settings = {"num_key_value_heads": 2, "num_hidden_layers": 1, "head_dim": 64}
    settings["max_position_embeddings"] = 900
    model, network = make(LlamaConfig, settings, tmp_path)
    ids = random_ids(900, 61)
    trace, heard = model.trace(ids), Heard(network, ids)
    q, k = rotated(heard, network, 0)
    assert_close(trace["blocks.0.attn.q_rotated"], q, 1e-5, "q")
    assert_close(trace["blocks.0.attn.k_rotated"], k, 1e-5, "k")
    assert_close(trace["blocks.0.attn.weights"], heard.attentions[0], 1e-5, "weights")
    assert_close(trace["logits"], heard.logits, 1e-5)
