"""GPT-2 as it is published: by OpenAI through `transformers`, and by nanoGPT and minGPT.

All three call their tensors alike, `transformer.` before the name or not. `transformers` stores a
matrix as [in, out] (its Conv1D), the other two as [out, in] (torch's Linear); Q, K and V lie side
by side in one matrix, `c_attn`. Sources: huggingface/transformers modeling_gpt2.py,
karpathy/nanoGPT model.py, karpathy/minGPT mingpt/model.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from torch import Tensor

from core.models.checkpoint.settings import Settings
from core.models.checkpoint.stored import Source, check_blocks, convert, same_bits, without_copy
from core.models.config import Config

ARCHITECTURES = ("gpt2", "nanoGPT", "minGPT")
ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
}
HARMLESS = {
    "add_cross_attention": False,
    "scale_attn_by_inverse_layer_idx": False,
    "is_encoder_decoder": False,
    "quantization_config": None,
}
HEAD, EMBEDDING = "lm_head.weight", "wte.weight"
PREFIX = re.compile(r"^(_orig_mod\.)?(transformer\.)?")  # the first one is torch.compile's
# Tables that hold the causal mask, not anything learned.
BUFFER = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")


def knows(settings: Settings) -> bool:
    """nanoGPT and minGPT write no model_type of their own, but `block_size`."""
    return settings.values.get("model_type") == "gpt2" or "block_size" in settings


def read(settings: Settings, tensors: Mapping[str, Tensor]) -> tuple[Config, dict[str, Tensor]]:
    """Our config and weights, which look into `tensors`. Raises CheckpointError, ConfigError."""
    tensors = {PREFIX.sub("", name): tensor for name, tensor in tensors.items()}
    tensors = {name: tensor for name, tensor in tensors.items() if not BUFFER.fullmatch(name)}
    config = _config(settings, tensors)
    check_blocks(tensors, "h", config.n_layers)
    if config.tied:
        tensors = without_copy(tensors, HEAD, EMBEDDING)
    fused = tensors.get("h.0.attn.c_attn.weight")
    as_linear = fused is not None and fused.shape == (3 * config.d_model, config.d_model)
    return config, convert(tensors, sources(config, as_linear))


def _config(settings: Settings, tensors: Mapping[str, Tensor]) -> Config:
    settings.refuse_all_but(HARMLESS)
    has_bias = settings.flag("bias", default=True)
    return Config(
        n_layers=settings.whole("n_layer"),
        n_heads=settings.whole("n_head"),
        d_model=settings.whole("n_embd"),
        d_mlp=settings.whole("n_inner", default=None),
        n_vocab=settings.whole("vocab_size"),
        n_ctx=settings.whole("n_positions", "block_size", "n_ctx"),
        norm_eps=settings.number("layer_norm_epsilon", default=1e-5),
        norm_beta=has_bias,
        activation=settings.one_of("activation_function", ACTIVATIONS, _usual_curve(settings)),
        bias_qkv=has_bias,
        bias_out=has_bias,
        bias_mlp=has_bias,
        scaled=settings.flag("scale_attn_weights", default=True),
        tied=settings.flag("tie_word_embeddings", default=_usually_tied(settings, tensors)),
    )


def _usual_curve(settings: Settings) -> str:
    """nanoGPT computes the exact GELU; its arguments, unlike the others', have `bias`."""
    return "gelu" if "block_size" in settings and "bias" in settings else "gelu_new"


def _usually_tied(settings: Settings, tensors: Mapping[str, Tensor]) -> bool:
    """GPT-2 and nanoGPT are; minGPT has a head of its own, which shows in its files."""
    if "block_size" not in settings or HEAD not in tensors or EMBEDDING not in tensors:
        return True
    return same_bits(tensors[HEAD], tensors[EMBEDDING])


def sources(c: Config, as_linear: bool) -> dict[str, Source]:
    sources = {
        "embed.W_E": Source(EMBEDDING, (c.n_vocab, c.d_model)),
        "embed.W_P": Source("wpe.weight", (c.n_ctx, c.d_model)),
        **_norm("ln_f", "ln_f", c),
    }
    if not c.tied:
        sources["unembed.W_U"] = Source(HEAD, (c.n_vocab, c.d_model), _transposed)
    for i in range(c.n_layers):
        theirs, ours = f"h.{i}", f"blocks.{i}"
        sources |= _norm(f"{theirs}.ln_1", f"{ours}.ln_1", c)
        sources |= _norm(f"{theirs}.ln_2", f"{ours}.ln_2", c)
        sources |= _attention(f"{theirs}.attn", f"{ours}.attn", c, as_linear)
        sources |= _mlp(f"{theirs}.mlp", f"{ours}.mlp", c, as_linear)
    return sources


def _attention(theirs: str, ours: str, c: Config, as_linear: bool) -> dict[str, Source]:
    fused = _matrix(f"{theirs}.c_attn.weight", c.d_model, 3 * c.d_model, as_linear)
    sources = {f"{ours}.W_O": _matrix(f"{theirs}.c_proj.weight", c.d_model, c.d_model, as_linear)}
    for part, letter in enumerate("QKV"):
        turn = partial(_heads_of, fused.turn, part, c.n_heads)
        sources[f"{ours}.W_{letter}"] = Source(fused.name, fused.shape, turn)
        if c.bias_qkv:
            turn = partial(_biases_of, part, c.n_heads)
            sources[f"{ours}.b_{letter}"] = Source(f"{theirs}.c_attn.bias", (3 * c.d_model,), turn)
    if c.bias_out:
        sources[f"{ours}.b_O"] = Source(f"{theirs}.c_proj.bias", (c.d_model,))
    return sources


def _mlp(theirs: str, ours: str, c: Config, as_linear: bool) -> dict[str, Source]:
    sources = {
        f"{ours}.W_1": _matrix(f"{theirs}.c_fc.weight", c.d_model, c.d_mlp, as_linear),
        f"{ours}.W_2": _matrix(f"{theirs}.c_proj.weight", c.d_mlp, c.d_model, as_linear),
    }
    if c.bias_mlp:
        sources[f"{ours}.b_1"] = Source(f"{theirs}.c_fc.bias", (c.d_mlp,))
        sources[f"{ours}.b_2"] = Source(f"{theirs}.c_proj.bias", (c.d_model,))
    return sources


def _norm(theirs: str, ours: str, c: Config) -> dict[str, Source]:
    sources = {f"{ours}.gamma": Source(f"{theirs}.weight", (c.d_model,))}
    if c.norm_beta:
        sources[f"{ours}.beta"] = Source(f"{theirs}.bias", (c.d_model,))
    return sources


def _matrix(name: str, d_in: int, d_out: int, as_linear: bool) -> Source:
    """A matrix that we use as [in, out]."""
    return Source(name, (d_out, d_in), _transposed) if as_linear else Source(name, (d_in, d_out))


def _transposed(matrix: Tensor) -> Tensor:
    return matrix.T


def _heads_of(turn, part: int, n_heads: int, fused: Tensor) -> Tensor:
    """Q, K or V of [in, 3·heads·d_head] as [head, in, d_head]."""
    columns = turn(fused).chunk(3, dim=1)[part]
    return columns.unflatten(1, (n_heads, -1)).permute(1, 0, 2)


def _biases_of(part: int, n_heads: int, fused: Tensor) -> Tensor:
    """Those of Q, K or V in [3·heads·d_head] as [head, d_head]."""
    return fused.chunk(3)[part].unflatten(0, (n_heads, -1))
