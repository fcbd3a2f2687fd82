"""The same random GPT-2 in our engine and in what it is measured against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import torch
from numpy import ndarray
from torch import Tensor

from core.models.config import Config
from core.models.gpt2_tokenizer import gpt2_tokenizer
from core.models.model import Model
from tools.bench import ctranslate2_peer, onnx_peer

if TYPE_CHECKING:
    from transformers import GPT2Config, GPT2LMHeadModel


@cache
def transformers_gpt2() -> GPT2LMHeadModel:
    """GPT-2 small as transformers makes it: random weights, its default attention (sdpa)."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config()).eval()


@cache
def transformer_lens_gpt2() -> torch.nn.Module:
    """The same model in TransformerLens, which can only watch the eager attention."""
    from transformer_lens.model_bridge.sources import build_bridge_from_module
    from transformers import GPT2LMHeadModel

    config = transformers_gpt2().config
    inner = GPT2LMHeadModel._from_config(config, attn_implementation="eager")
    inner.load_state_dict(transformers_gpt2().state_dict())
    return build_bridge_from_module(inner, "GPT2LMHeadModel", hf_config=inner.config).eval()


@lru_cache(maxsize=1)  # each has a copy of the weights
def onnx_gpt2(n_tokens: int) -> Callable[[list[int]], list[ndarray]]:
    """The same model in ONNX Runtime, with every step as an output."""
    return onnx_peer.capture(transformers_gpt2(), n_tokens)


@cache
def ctranslate2_gpt2() -> Callable[[list[int], int], list[int]]:
    """The same model in CTranslate2: greedy tokens after a prompt."""
    return ctranslate2_peer.greedy(transformers_gpt2())


@cache
def our_gpt2() -> Model:
    """The same model in our engine."""
    return from_transformers(transformers_gpt2())


def from_transformers(gpt2: GPT2LMHeadModel) -> Model:
    """A transformers GPT-2, of any shape and with a head tied to the embedding, as our model."""
    state = gpt2.state_dict()
    config = to_config(gpt2.config)
    tensors = {
        "embed.W_E": state["transformer.wte.weight"],
        "embed.W_P": state["transformer.wpe.weight"],
        "ln_f.gamma": state["transformer.ln_f.weight"],
        "ln_f.beta": state["transformer.ln_f.bias"],
    }
    for i in range(config.n_layers):
        layer = block_tensors(state, f"transformer.h.{i}.", config)
        tensors |= {f"blocks.{i}.{name}": tensor for name, tensor in layer.items()}
    device, dtype = tensors["embed.W_E"].device, tensors["embed.W_E"].dtype
    return Model("bench", config, tensors, gpt2_tokenizer(), device, dtype)


def to_config(c: GPT2Config) -> Config:
    return Config(
        n_layers=c.n_layer,
        n_heads=c.n_head,
        d_model=c.n_embd,
        n_vocab=c.vocab_size,
        n_ctx=c.n_positions,
        d_mlp=c.n_inner or 4 * c.n_embd,
        norm_eps=c.layer_norm_epsilon,
    )


def block_tensors(state: Mapping[str, Tensor], prefix: str, c: Config) -> dict[str, Tensor]:
    """One block. Its linear layers are stored as [in, out], with q, k and v side by side."""
    qkv_weight = state[prefix + "attn.c_attn.weight"].chunk(3, dim=1)
    qkv_bias = state[prefix + "attn.c_attn.bias"].chunk(3)
    split = (c.n_heads, c.d_head)
    tensors = {
        "attn.W_O": state[prefix + "attn.c_proj.weight"],
        "attn.b_O": state[prefix + "attn.c_proj.bias"],
        "mlp.W_1": state[prefix + "mlp.c_fc.weight"],
        "mlp.b_1": state[prefix + "mlp.c_fc.bias"],
        "mlp.W_2": state[prefix + "mlp.c_proj.weight"],
        "mlp.b_2": state[prefix + "mlp.c_proj.bias"],
    }
    for letter, weight, bias in zip("QKV", qkv_weight, qkv_bias, strict=True):
        tensors[f"attn.W_{letter}"] = weight.unflatten(1, split).permute(1, 0, 2)
        tensors[f"attn.b_{letter}"] = bias.unflatten(0, split)
    for name in ("ln_1", "ln_2"):
        tensors[f"{name}.gamma"] = state[f"{prefix}{name}.weight"]
        tensors[f"{name}.beta"] = state[f"{prefix}{name}.bias"]
    return tensors
