"""GGUF files of small networks, against these networks and `transformers`' own reading of them."""

import math

import gguf
import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

import core
from tests.support import gguf_files as files
from tests.support import trained_tokenizers as trained
from tests.support.close import assert_close

Q8_0 = gguf.GGMLQuantizationType.Q8_0
IDS = [7, 300, 1199, 0, 7, 23, 640, 11]
KINDS = {
    "llama": ("llama", {}),
    "llama, tied": ("llama", {"tie_word_embeddings": True}),
    "llama, biases": ("llama", {"attention_bias": True}),
    "llama, wide heads": ("llama", {"head_dim": 24}),
    "qwen2": ("qwen2", {}),
    "gpt2": ("gpt2", {}),
}


def logits(network):
    with torch.no_grad():
        return network(torch.tensor([IDS])).logits[0]


@pytest.mark.parametrize("what", KINDS)
def test_logits_of_each_architecture(tmp_path, what):
    kind, settings = KINDS[what]
    network = files.network(kind, **settings)
    width = {"llama.attention.key_length": 24, "llama.rope.dimension_count": 24}
    extra = width if "head_dim" in settings else {}
    path = files.write(tmp_path / "model.gguf", network, settings=extra)
    assert_close(core.load(str(path), device="cpu").forward(IDS), logits(network), 1e-5)


def test_angles_stretched_as_in_llama_3(tmp_path):
    """llama.cpp's table of what each rate is divided by, worked out case by case."""
    rope = {
        "rope_type": "llama3",
        "rope_theta": 5e5,
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    network = files.network("llama", rope_parameters=rope)
    divisors = []
    for i in range(8):
        wave = 2 * math.pi * 5e5 ** (2 * i / 16)
        smooth = (8192 / wave - 1) / 3
        between = 1 / ((1 - smooth) / 32 + smooth)
        divisors.append(1.0 if wave < 2048 else 32.0 if wave > 8192 else between)
    assert len(set(divisors)) > 2  # all three cases
    table = {"rope_freqs.weight": np.array(divisors, np.float32)}
    path = files.write(tmp_path / "model.gguf", network, replaced=table)
    assert_close(core.load(str(path), device="cpu").forward(IDS), logits(network), 1e-5)


def test_logits_of_a_quantized_file_are_those_that_transformers_computes(tmp_path):
    path = files.write(tmp_path / "model.gguf", files.network("llama"), Q8_0)
    theirs = LlamaForCausalLM.from_pretrained(tmp_path, gguf_file=path.name)
    assert_close(core.load(str(path), device="cpu").forward(IDS), logits(theirs), 1e-5)


def test_a_head_that_repeats_the_embedding_is_taken_once(tmp_path):
    network = files.network("gpt2")
    copy = {"output.weight": files.tensors(network)["token_embd.weight"]}
    path = files.write(tmp_path / "model.gguf", network, replaced=copy)
    model = core.load(str(path), device="cpu")
    assert model.config.tied
    assert_close(model.forward(IDS), logits(network), 1e-5)


def test_the_tokenizer_of_the_file(tmp_path):
    path = files.write(tmp_path / "model.gguf", files.network("llama"))
    own = core.load(str(path), device="cpu").tokenizer
    text = "The father's 밥 in 1815<|endoftext|>"
    assert own.encode(text) == trained.plain(trained.train("smollm2")).encode(text).ids
    assert own.stop_ids == {0, 2}
    assert own.begin_id is None


@pytest.mark.parametrize(
    ("kind", "said", "begin_id"),
    [("llama3", None, 1), ("llama3", False, None), ("qwen2", None, None), ("qwen2", True, 1)],
)
def test_whether_a_token_stands_before_every_text(tmp_path, kind, said, begin_id):
    network = files.network("qwen2")
    settings = {"tokenizer.ggml.add_bos_token": said}
    path = files.write(tmp_path / "model.gguf", network, tokenizer=kind, settings=settings)
    model = core.load(str(path), device="cpu")
    expected = trained.plain(trained.train(kind)).encode("The father").ids
    assert model.tokenizer.begin_id == begin_id
    assert model.trace("The father").ids == ([begin_id] if begin_id else []) + expected


@pytest.mark.parametrize("name", ["eos", "eot", "eom"])
def test_generation_ends_with_a_token_that_the_file_names(tmp_path, name):
    network = files.network("llama")
    free = core.load(str(files.write(tmp_path / "free.gguf", network)), device="cpu")
    chosen = [step.id for step in free.generate("The father", 5, temperature=0)]
    assert len(chosen) == 5
    third = {f"tokenizer.ggml.{name}_token_id": chosen[2]}
    stopped = core.load(
        str(files.write(tmp_path / "stopped.gguf", network, settings=third)), device="cpu"
    )
    first = chosen.index(chosen[2]) + 1
    again = [step.id for step in stopped.generate("The father", 5, temperature=0)]
    assert again == chosen[:first]
