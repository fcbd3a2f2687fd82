"""Llama and its relatives as `transformers` publishes them.

RMSNorm, rotary positions, grouped queries, a gated MLP. Matrices are stored as [out, in] with the
heads one after the other in `out`; `model.` stands before the names or not. What tells the
relatives apart is in `RELATIVES`. Sources: huggingface/transformers modeling_llama.py,
modeling_qwen2.py, modeling_mistral.py and modeling_helium.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from torch import Tensor

from core.graph.ops import Interpolation, Stretch
from core.models.checkpoint.settings import Settings
from core.models.checkpoint.stored import Source, check_blocks, convert, without_copy
from core.models.config import Config


@dataclass(frozen=True)
class Relative:
    """What an architecture does without its config.json saying so.

    bias_qkv, bias_out: whether attention has biases; None where `attention_bias` decides.
    windowed: whether attention reaches back no further than `sliding_window`.
    unsaid: what a setting is that config.json does not have.
    """

    rotary_layout: str = "half"
    bias_qkv: bool | None = None
    bias_out: bool | None = None
    windowed: bool = False
    unsaid: Mapping[str, object] = field(default_factory=dict)


RELATIVES = MappingProxyType(
    {
        "llama": Relative(),
        "qwen2": Relative(bias_qkv=True, bias_out=False),
        "mistral": Relative(
            bias_qkv=False,
            bias_out=False,
            windowed=True,
            unsaid={"num_key_value_heads": 8, "sliding_window": 4096},
        ),
        "helium": Relative(rotary_layout="interleaved", bias_out=False),
    }
)
ARCHITECTURES = tuple(RELATIVES)
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
}
# Settings that change the numbers in ways that our model code does not have.
HARMLESS = {
    "mlp_bias": False,
    "use_sliding_window": False,
    "partial_rotary_factor": 1.0,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "quantization_config": None,
    "is_encoder_decoder": False,
}
USUAL_BASE = 10000.0
HEAD, EMBEDDING = "lm_head.weight", "embed_tokens.weight"


def knows(settings: Settings) -> bool:
    return settings.values.get("model_type") in RELATIVES


def read(settings: Settings, tensors: Mapping[str, Tensor]) -> tuple[Config, dict[str, Tensor]]:
    """Our config and weights, which look into `tensors`. Raises CheckpointError, ConfigError."""
    tensors = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    # Old files keep the angles' rates as a table; they follow from the base.
    tensors = {k: v for k, v in tensors.items() if not k.endswith("rotary_emb.inv_freq")}
    config = _config(settings)
    check_blocks(tensors, "layers", config.n_layers)
    if config.tied:
        tensors = without_copy(tensors, HEAD, EMBEDDING)
    return config, convert(tensors, sources(config))


def _config(settings: Settings) -> Config:
    relative = RELATIVES[settings.values["model_type"]]
    settings = Settings({**relative.unsaid, **settings.values}, settings.file)
    settings.refuse_all_but(HARMLESS)
    if relative.windowed:
        _refuse_window(settings)
    base, stretch = _rotary(settings)
    has_bias = settings.flag("attention_bias", default=False)
    return Config(
        n_layers=settings.whole("num_hidden_layers"),
        n_heads=settings.whole("num_attention_heads"),
        n_kv_heads=settings.whole("num_key_value_heads", default=None),
        d_model=settings.whole("hidden_size"),
        d_head=settings.whole("head_dim", default=None),
        d_mlp=settings.whole("intermediate_size"),
        n_vocab=settings.whole("vocab_size"),
        n_ctx=settings.whole("max_position_embeddings"),
        position="rotary",
        rotary_base=base,
        rotary_layout=relative.rotary_layout,
        rotary_stretch=stretch,
        norm="rms",
        norm_eps=settings.number("rms_norm_eps"),
        norm_beta=False,
        activation=settings.one_of("hidden_act", ACTIVATIONS, "silu"),
        gated=True,
        bias_qkv=has_bias if relative.bias_qkv is None else relative.bias_qkv,
        bias_out=has_bias if relative.bias_out is None else relative.bias_out,
        bias_mlp=False,
        tied=settings.flag("tie_word_embeddings", default=False),
    )


def _refuse_window(settings: Settings) -> None:
    """Raise CheckpointError if a text can be longer than attention reaches back."""
    window = settings.whole("sliding_window", default=None)
    if window is not None and window < settings.whole("max_position_embeddings"):
        raise settings.unsupported("sliding_window")


def _rotary(settings: Settings) -> tuple[float, Interpolation | Stretch | None]:
    """The base of the angles, and how they are stretched for long texts. Raises CheckpointError."""
    base, stretch = settings.number("rope_theta", default=USUAL_BASE), None
    for name in ("rope_scaling", "rope_parameters"):
        rope = settings.values.get(name) or {}
        if not isinstance(rope, dict):
            raise settings.unsupported(name)
        inside = Settings(rope, settings.file)
        base = inside.number("rope_theta", default=base)
        match rope.get("rope_type", rope.get("type", "default")):
            case "default":
                continue
            case "linear":
                stretch = Interpolation(inside.number("factor"))
            case "llama3":
                stretch = Stretch(
                    factor=inside.number("factor"),
                    few=inside.number("low_freq_factor"),
                    many=inside.number("high_freq_factor"),
                    n_ctx=inside.whole("original_max_position_embeddings"),
                )
            case _:
                raise settings.unsupported(name)
    return base, stretch


def sources(c: Config) -> dict[str, Source]:
    sources = {
        "embed.W_E": Source(EMBEDDING, (c.n_vocab, c.d_model)),
        "ln_f.gamma": Source("norm.weight", (c.d_model,)),
    }
    if not c.tied:
        sources["unembed.W_U"] = _matrix(HEAD, c.d_model, c.n_vocab)
    for i in range(c.n_layers):
        theirs, ours = f"layers.{i}", f"blocks.{i}"
        sources |= _attention(f"{theirs}.self_attn", f"{ours}.attn", c)
        sources |= {
            f"{ours}.ln_1.gamma": Source(f"{theirs}.input_layernorm.weight", (c.d_model,)),
            f"{ours}.ln_2.gamma": Source(f"{theirs}.post_attention_layernorm.weight", (c.d_model,)),
            f"{ours}.mlp.W_gate": _matrix(f"{theirs}.mlp.gate_proj.weight", c.d_model, c.d_mlp),
            f"{ours}.mlp.W_up": _matrix(f"{theirs}.mlp.up_proj.weight", c.d_model, c.d_mlp),
            f"{ours}.mlp.W_2": _matrix(f"{theirs}.mlp.down_proj.weight", c.d_mlp, c.d_model),
        }
    return sources


def _attention(theirs: str, ours: str, c: Config) -> dict[str, Source]:
    sources = {f"{ours}.W_O": _matrix(f"{theirs}.o_proj.weight", c.n_heads * c.d_head, c.d_model)}
    for letter in "QKV":
        n_heads = c.n_heads if letter == "Q" else c.n_kv_heads
        name, d_out = f"{theirs}.{letter.lower()}_proj", n_heads * c.d_head
        turn = partial(_per_head, n_heads)
        sources[f"{ours}.W_{letter}"] = Source(f"{name}.weight", (d_out, c.d_model), turn)
        if c.bias_qkv:
            turn = partial(_biases_per_head, n_heads)
            sources[f"{ours}.b_{letter}"] = Source(f"{name}.bias", (d_out,), turn)
    if c.bias_out:
        sources[f"{ours}.b_O"] = Source(f"{theirs}.o_proj.bias", (c.d_model,))
    return sources


def _matrix(name: str, d_in: int, d_out: int) -> Source:
    """A matrix that is stored as [out, in] and used as [in, out]."""
    return Source(name, (d_out, d_in), lambda matrix: matrix.T)


def _per_head(n_heads: int, matrix: Tensor) -> Tensor:
    """[heads·d_head, in] as [head, in, d_head]."""
    return matrix.unflatten(0, (n_heads, -1)).transpose(1, 2)


def _biases_per_head(n_heads: int, biases: Tensor) -> Tensor:
    return biases.unflatten(0, (n_heads, -1))
