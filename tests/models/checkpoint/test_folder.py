"""Folders and files of every style that a GPT-2 is saved in give the numbers of `transformers`."""

import json
import sys

import pytest
import torch
from safetensors.torch import save_file

from core.models.checkpoint import folder
from tests.support.close import assert_close, same_bits
from tests.support.saved_models import IDS, SIZES, as_linear, gpt2, logits, save, state

CPU = torch.device("cpu")
GPT2 = SIZES | {"model_type": "gpt2", "n_positions": 16}
NANO = SIZES | {"block_size": 16, "dropout": 0.0}
MINI = SIZES | {"block_size": 16, "model_type": "gpt-nano", "embd_pdrop": 0.1}


@pytest.fixture(scope="module")
def network():
    return gpt2()


def check(path, network):
    assert_close(folder.load(path, device=CPU).forward(IDS), logits(network), 1e-5)


@pytest.mark.parametrize("prefix", ["transformer.", "", "_orig_mod.transformer."])
def test_names_with_and_without_prefix(network, tmp_path, prefix):
    tensors = {prefix + k.removeprefix("transformer."): v for k, v in state(network).items()}
    check(save(tmp_path, tensors, GPT2), network)


def test_mask_tables_and_a_repeated_head_are_left_out(network, tmp_path):
    tensors = state(network)
    for i in range(2):
        tensors[f"transformer.h.{i}.attn.bias"] = torch.ones(1, 1, 16, 16).tril()
        tensors[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
    check(save(tmp_path, tensors, GPT2), network)


def test_the_shared_table_under_the_heads_name_alone(tmp_path):
    """As `safetensors.torch.save_model` leaves it, where nanoGPT's two names are one tensor."""
    network = gpt2(activation_function="gelu")
    tensors = as_linear(state(network))
    tensors["lm_head.weight"] = tensors.pop("transformer.wte.weight")
    check(save(tmp_path, tensors, NANO | {"bias": True}), network)


def test_nano_gpt(tmp_path):
    """Linear layout, exact GELU, and a head that repeats the embedding in the file."""
    network = gpt2(activation_function="gelu")
    tensors = as_linear(state(network))
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
    check(save(tmp_path, tensors, NANO | {"bias": True}), network)


def test_nano_gpt_without_biases(tmp_path):
    network = gpt2(activation_function="gelu")
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    tensors = {k: v for k, v in as_linear(state(network)).items() if not k.endswith("bias")}
    check(save(tmp_path, tensors, NANO | {"bias": False}), network)


def test_min_gpt(tmp_path):
    """Linear layout, GELU by tanh, mask tables, and a head of its own."""
    network = gpt2(tie_word_embeddings=False)
    tensors = as_linear(state(network))
    for i in range(2):
        tensors[f"transformer.h.{i}.attn.bias"] = torch.ones(1, 1, 16, 16).tril()
    check(save(tmp_path, tensors, MINI), network)


def test_weights_in_several_files(network, tmp_path):
    network.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    check(tmp_path, network)


def test_a_file_with_the_settings_beside_it(network, tmp_path):
    save_file(state(network), tmp_path / "mine.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(GPT2), encoding="utf-8")
    check(tmp_path / "mine.safetensors", network)
    check(tmp_path, network)


def test_half_precision_is_read_exactly(network, tmp_path):
    """bfloat16 as Llama-style models are published: the stored numbers, computed in float32."""
    tensors = {name: tensor.bfloat16() for name, tensor in state(network).items()}
    model = folder.load(save(tmp_path, tensors, GPT2), device=CPU)
    expected = tensors["transformer.h.1.mlp.c_fc.weight"].float()
    assert same_bits(model.weights["blocks.1.mlp.W_1"], expected)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the process's own memory map")
def test_weights_of_lasting_files_stay_there(network, tmp_path):
    path = save(tmp_path, state(network), GPT2) / "model.safetensors"
    model = folder.load(tmp_path, device=CPU, lasting=True)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        line = next(line for line in maps if str(path) in line)
    start, stop = (int(part, 16) for part in line.split()[0].split("-"))
    for name in ("embed.W_E", "blocks.1.mlp.W_1", "blocks.0.attn.W_O"):
        assert start <= model.weights[name].data_ptr() < stop, name


def test_a_file_that_is_rewritten_leaves_the_model_as_it_was(network, tmp_path):
    path = save(tmp_path, state(network), GPT2) / "model.safetensors"
    model = folder.load(tmp_path, device=CPU)
    path.write_bytes(b"")  # the same file, cut short, as a program that saves again does
    assert_close(model.forward(IDS), logits(network), 1e-5)


@pytest.mark.parametrize("lasting", [False, True])
def test_weights_cannot_be_written_to(network, tmp_path, lasting):
    model = folder.load(save(tmp_path, state(network), GPT2), device=CPU, lasting=lasting)
    for name, weight in model.weights.items():
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            weight[0] = 1.0
        assert weight.is_inference(), name


def test_without_a_tokenizer_the_text_is_token_ids(network, tmp_path):
    model = folder.load(save(tmp_path, state(network), GPT2), device=CPU)
    assert model.trace("7 1, 49 0 7 23 11").ids == IDS
    assert model.trace(model.default_prompt).ids == [0, 1, 2, 3, 4]
    assert model.tokenizer.decode(IDS) == "7 1 49 0 7 23 11"


@pytest.mark.parametrize("n_vocab", [50257, 50304])
def test_a_vocabulary_of_the_published_size_is_gpt2s(tmp_path, n_vocab):
    network = gpt2(vocab_size=n_vocab, n_layer=1, n_embd=6, bos_token_id=0, eos_token_id=0)
    network.save_pretrained(tmp_path)
    model = folder.load(tmp_path, device=CPU)
    assert model.trace("The cat").tokens == ["The", " cat"]
    assert model.trace("The cat").ids == [464, 3797]
    last = model.trace([n_vocab - 1])
    assert last.tokens == (["<|endoftext|>"] if n_vocab == 50257 else ["<unused 50303>"])
    assert len(model.trace("The").top(5)) == 5
