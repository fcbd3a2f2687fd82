"""GGUF files written by the package `gguf`, from small networks of `transformers`."""

from pathlib import Path

import gguf
import numpy as np
import torch
from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from tests.support import trained_tokenizers as trained
from tests.support.hugging_face import randomise

ARCHITECTURES = {
    "llama": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "gpt2": gguf.MODEL_ARCH.GPT2,
}
PRE = {"gpt2": "gpt-2", "smollm2": "smollm", "llama3": "llama-bpe", "qwen2": "qwen2"}
N_VOCAB = 1200
COMMON = {
    "vocab_size": N_VOCAB,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "tie_word_embeddings": False,
}
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32, "vocab_size": N_VOCAB}


def network(kind: str, **settings: object) -> nn.Module:
    """A random one of this architecture."""
    made = {
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**COMMON | settings)),
        "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**COMMON | settings)),
        "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**GPT2 | settings)),
    }[kind]().eval()
    randomise(made, seed=5)
    return made


def tensors(net: nn.Module) -> dict[str, np.ndarray]:
    """Its tensors by the names and in the layout of GGUF."""
    c, state = net.config, net.state_dict()
    if c.tie_word_embeddings:
        del state["lm_head.weight"]
    names = gguf.get_tensor_name_map(ARCHITECTURES[c.model_type], c.num_hidden_layers)
    found = {}
    for name, tensor in state.items():
        stored = names.get_name(name.removeprefix("transformer."), (".weight", ".bias"))
        if c.model_type == "gpt2" and ".h." in name and tensor.ndim == 2:
            tensor = tensor.T
        if c.model_type == "llama" and ("q_proj" in name or "k_proj" in name):
            n_heads = c.num_attention_heads if "q_proj" in name else c.num_key_value_heads
            tensor = by_neighbours(tensor, n_heads)
        found[stored] = np.ascontiguousarray(tensor.numpy())
    return found


def by_neighbours(tensor: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Row i of the first half of each head beside row i of the second half."""
    halves = tensor.reshape(n_heads, 2, -1, *tensor.shape[1:])
    return torch.stack([halves[:, 0], halves[:, 1]], dim=2).reshape(tensor.shape)


def write(
    path: Path,
    net: nn.Module,
    quantization: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
    tokenizer: str = "smollm2",
    settings: dict | None = None,
    replaced: dict | None = None,
    without: bytes = b"",
) -> Path:
    """A file of the network: matrices quantized, with a trained tokenizer.

    settings, replaced: settings and tensors to put instead; None leaves one out. without: bytes
    that are no token.
    """
    kind = net.config.model_type
    writer = gguf.GGUFWriter(path, kind)
    described = _settings(net.config, kind) | _vocabulary(tokenizer, without) | (settings or {})
    for key, value in described.items():
        _add(writer, key, value)
    for name, array in (tensors(net) | (replaced or {})).items():
        if array is None:
            continue
        packed = quantization if array.ndim == 2 else gguf.GGMLQuantizationType.F32
        data = gguf.quantize(array, packed)
        writer.add_tensor(name, data, raw_dtype=packed)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    match value:
        case None | [] if key != "general.architecture":
            return
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str() if key == "general.architecture":
            writer.kv_data[0][key].value = value
        case str():
            writer.add_string(key, value)
        case list():
            writer.add_array(key, value)


def _settings(c, kind: str) -> dict:
    common = {
        f"{kind}.block_count": c.num_hidden_layers,
        f"{kind}.context_length": c.max_position_embeddings,
        f"{kind}.embedding_length": c.hidden_size,
        f"{kind}.attention.head_count": c.num_attention_heads,
    }
    if kind == "gpt2":
        own = {
            "gpt2.feed_forward_length": 4 * c.n_embd,
            "gpt2.attention.layer_norm_epsilon": c.layer_norm_epsilon,
        }
        return common | own
    return common | {
        f"{kind}.feed_forward_length": c.intermediate_size,
        f"{kind}.attention.head_count_kv": c.num_key_value_heads,
        f"{kind}.attention.layer_norm_rms_epsilon": c.rms_norm_eps,
        f"{kind}.rope.freq_base": c.rope_parameters["rope_theta"],
    }


def _vocabulary(kind: str, without: bytes) -> dict:
    tokenizer = trained.train(kind, without)
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=ids.get)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": PRE[kind],
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in trained.SPECIAL else 1 for token in tokens],
        "tokenizer.ggml.merges": trained.merges(tokenizer),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
