"""From a model card's few numbers to parameters, memory, compute and time.

Every figure is a `Line`, a product with its factors named, so that the arithmetic can be written
out: `W_E: 50,257 (n_vocab) × 768 (d_model) = 38,597,376`. A `Config` is the model card.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType

from core.models.config import Config

GIB = 2**30
# Bytes of one number. int4 leaves out the scales that a quantized file adds, 3 to 12 %.
PRECISIONS = MappingProxyType({"fp32": 4.0, "bf16": 2.0, "int8": 1.0, "int4": 0.5})

_GPT2 = {"n_vocab": 50257, "n_ctx": 1024}
_LLAMA = {
    "position": "rotary",
    "norm": "rms",
    "norm_beta": False,
    "activation": "silu",
    "gated": True,
    "bias_qkv": False,
    "bias_out": False,
    "bias_mlp": False,
}
# Sources: the models' own config files; for GPT-3 table 2.1 of Brown et al. 2020.
CARDS = MappingProxyType(
    {
        "GPT-2 small": Config(12, 12, 768, **_GPT2),
        "GPT-2 medium": Config(24, 16, 1024, **_GPT2),
        "GPT-2 large": Config(36, 20, 1280, **_GPT2),
        "GPT-2 XL": Config(48, 25, 1600, **_GPT2),
        "GPT-3 175B": Config(96, 96, 12288, n_vocab=50257, n_ctx=2048),
        "Llama 3 8B": Config(
            32, 32, 4096, 128256, 8192, n_kv_heads=8, d_mlp=14336, tied=False, **_LLAMA
        ),
        "SmolLM2 135M": Config(30, 9, 576, 49152, 8192, n_kv_heads=3, d_mlp=1536, **_LLAMA),
    }
)


@dataclass(frozen=True)
class Line:
    """One product: what it is, and its factors with their names.

    group: the part of the model it belongs to.
    """

    key: str
    group: str
    factors: tuple[tuple[str, float], ...]

    @property
    def value(self) -> int | float:
        value = math.prod(factor for _, factor in self.factors)
        return int(value) if value == int(value) else value


def total(lines: Iterable[Line]) -> int | float:
    """The sum of the lines' values."""
    return sum(line.value for line in lines)


def parameters(c: Config) -> tuple[Line, ...]:
    """How many numbers a model learns, in data-flow order; those of all its blocks together."""
    d, vocab = ("d_model", c.d_model), ("n_vocab", c.n_vocab)
    wide, narrow = (
        ("n_heads·d_head", c.n_heads * c.d_head),
        ("n_kv_heads·d_head", c.n_kv_heads * c.d_head),
    )
    blocks, mlp = ("n_layers", c.n_layers), ("d_mlp", c.d_mlp)
    places = () if c.norm == "none" else c.norms
    numbers = (
        "γ, β" if c.norm == "layer" and c.norm_beta else "γ",
        1 + (c.norm == "layer" and c.norm_beta),
    )
    in_block = (
        "norms",
        sum(place in places for place in ("ln_1", "ln_2") if c.d_mlp or place == "ln_1"),
    )
    lines = [
        Line("W_E", "embedding", (vocab, d)),
        Line("W_P", "embedding", (("n_ctx", c.n_ctx), d)) if c.position == "learned" else None,
        Line("W_Q", "attention", (blocks, d, wide)),
        Line("W_K", "attention", (blocks, d, narrow)),
        Line("W_V", "attention", (blocks, d, narrow)),
        Line("b_QKV", "attention", (blocks, ("q, k, v", wide[1] + 2 * narrow[1])))
        if c.bias_qkv
        else None,
        Line("W_O", "attention", (blocks, wide, d)),
        Line("b_O", "attention", (blocks, d)) if c.bias_out else None,
        Line("W_gate", "mlp", (blocks, d, mlp)) if c.gated else None,
        Line("W_up" if c.gated else "W_1", "mlp", (blocks, d, mlp)),
        Line("b_1", "mlp", (blocks, mlp)) if c.bias_mlp else None,
        Line("W_2", "mlp", (blocks, mlp, d)),
        Line("b_2", "mlp", (blocks, d)) if c.bias_mlp and c.d_mlp else None,
        Line("norms", "norm", (blocks, in_block, numbers, d)),
        Line("ln_f", "norm", (numbers, d)) if "ln_f" in places else None,
        None if c.tied else Line("W_U", "unembedding", (d, vocab)),
    ]
    return tuple(line for line in lines if line and line.value)


def matrices(c: Config) -> tuple[Line, ...]:
    """The matrices of all blocks: the parameters without tables, biases and norms."""
    return tuple(
        line
        for line in parameters(c)
        if line.group in ("attention", "mlp") and line.key.startswith("W_")
    )


def block_matrices(c: Config) -> int:
    """The matrices of the blocks alone, often quoted as a model's size without embeddings."""
    return total(matrices(c))


def weight_bytes(c: Config, precision: str) -> float:
    """What the parameters take in memory. Raises KeyError for an unknown precision."""
    return total(parameters(c)) * PRECISIONS[precision]


def cache(c: Config, n_tokens: int, batch: int = 1, precision: str = "bf16") -> Line:
    """The bytes of the KV cache: a key and a value per token, block and key-value head."""
    return Line(
        "cache",
        "cache",
        (
            ("k, v", 2),
            ("n_layers", c.n_layers),
            ("n_kv_heads", c.n_kv_heads),
            ("d_head", c.d_head),
            ("bytes", PRECISIONS[precision]),
            ("tokens", n_tokens),
            ("batch", batch),
        ),
    )


@dataclass(frozen=True)
class Compute:
    """Multiply-adds: `linear` with weights, `quadratic` of queries with keys, shares with values.

    A multiply-add counts as two floating-point operations.
    """

    linear: int
    quadratic: int

    @property
    def multiply_adds(self) -> int:
        return self.linear + self.quadratic

    @property
    def flops(self) -> int:
        return 2 * self.multiply_adds


def prefill(c: Config, n_tokens: int) -> Compute:
    """One pass over a prompt, with the logits of its last token only.

    Every query meets every key, also those that the mask hides, as a plain matrix product does.
    """
    return _compute(c, n_tokens, n_tokens)


def decode(c: Config, n_past: int) -> Compute:
    """One new token after `n_past` others whose keys and values are cached."""
    return _compute(c, 1, n_past + 1)


def _compute(c: Config, n_queries: int, n_keys: int) -> Compute:
    linear = n_queries * block_matrices(c) + c.d_model * c.n_vocab
    return Compute(linear, 2 * c.n_layers * c.n_heads * c.d_head * n_queries * n_keys)


@dataclass(frozen=True)
class Machine:
    """A card: operations and bytes a second it reaches at best, and its memory in bytes."""

    flops: float
    bandwidth: float
    memory: float


@dataclass(frozen=True)
class Time:
    """Seconds to compute and seconds to move the bytes; the slower one decides."""

    compute: float
    traffic: float

    @property
    def seconds(self) -> float:
        return max(self.compute, self.traffic)

    @property
    def bottleneck(self) -> str:
        return "compute" if self.compute >= self.traffic else "memory"


def prefill_time(
    c: Config, n_tokens: int, machine: Machine, batch: int = 1, precision: str = "bf16"
) -> Time:
    """A prompt for each of `batch` people: the weights are read once, the caches written."""
    moved = weight_bytes(c, precision) + cache(c, n_tokens, batch, precision).value
    return Time(batch * prefill(c, n_tokens).flops / machine.flops, moved / machine.bandwidth)


def decode_time(
    c: Config, n_past: int, machine: Machine, batch: int = 1, precision: str = "bf16"
) -> Time:
    """One token for each of `batch` people: all weights and all caches are read once."""
    moved = weight_bytes(c, precision) + cache(c, n_past, batch, precision).value
    return Time(batch * decode(c, n_past).flops / machine.flops, moved / machine.bandwidth)


def crossing(c: Config, n_past: int, machine: Machine, precision: str = "bf16") -> float | None:
    """The batch from which on decoding is bound by compute; None if that never happens.

    Each further person adds compute and cache; only the weights are shared.
    """
    compute = decode(c, n_past).flops / machine.flops
    each = cache(c, n_past, 1, precision).value / machine.bandwidth
    shared = weight_bytes(c, precision) / machine.bandwidth
    return shared / (compute - each) if compute > each else None


def needed(
    c: Config, n_tokens: int, batch: int, precision: str, cache_precision: str
) -> tuple[tuple[str, float], ...]:
    """What must be in memory to generate: weights, caches, and the logits of the last tokens."""
    return (
        ("weights", weight_bytes(c, precision)),
        ("cache", float(cache(c, n_tokens, batch, cache_precision).value)),
        ("logits", float(4 * batch * c.n_vocab)),
    )
