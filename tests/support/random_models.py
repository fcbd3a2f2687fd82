"""Small models with random weights in which nothing is zero or one by accident."""

from functools import cache

import torch
from torch import Tensor

from core.graph import Graph, Scope
from core.models.config import Config
from core.models.gpt import gpt
from core.models.model import Model
from core.models.tokenizer import WordTokenizer

IDS = [3, 1, 4, 1, 5, 9, 2, 6]
SMALL = {"n_layers": 2, "n_heads": 4, "d_model": 16, "n_vocab": 29, "n_ctx": 12}
NO_BIAS = {"bias_qkv": False, "bias_out": False, "bias_mlp": False}
LLAMA = {
    "position": "rotary",
    "norm": "rms",
    "norm_eps": 1e-6,
    "activation": "silu",
    "gated": True,
    "d_mlp": 22,
    "tied": False,
    "n_kv_heads": 2,
    **NO_BIAS,
}
# What each config has that the others lack stands in its name.
CONFIGS: dict[str, dict] = {
    "gpt2": {},
    "llama": LLAMA,
    "one-kv-head-interleaved": LLAMA
    | {"n_kv_heads": 1, "rotary_layout": "interleaved", "rotary_base": 100.0, "tied": True},
    "qkv-bias": LLAMA | {"bias_qkv": True},
    "post-norm-sinusoidal-relu": {
        "norm_placement": "post",
        "position": "sinusoidal",
        "activation": "relu",
        "norms": ("ln_1", "ln_2"),
    },
    "post-norm-without-mlp": {"norm_placement": "post", "d_mlp": 0},
    "rms-post-norm-exact-gelu-no-position": {
        "norm_placement": "post",
        "norm": "rms",
        "position": "none",
        "activation": "gelu",
    },
    "no-residual-unscaled-not-causal": {
        "residual": False,
        "scaled": False,
        "causal": False,
        "d_mlp": 5,
    },
    "residual-around-attention-only": {"residual": ("attn",), "norms": ("ln_2",)},
    "gated-gelu-with-bias-no-norms": {"gated": True, "norms": False, "activation": "gelu"},
    "layer-norm-without-beta": {"norm_beta": False, "norm_eps": 0.1},
    "wide-heads-grouped": {"d_head": 6, "n_kv_heads": 2, "tied": False},
    "odd-width-sinusoidal": {"d_model": 15, "n_heads": 3, "position": "sinusoidal"},
    "no-blocks": {"n_layers": 0},
}


def random_tensors(config: Config, seed: int = 0) -> dict[str, Tensor]:
    """float32 values in float64, so that models of both precisions have the same weights."""
    graph, generator = Graph(), torch.Generator().manual_seed(seed)
    gpt(Scope(graph), config)
    return {
        name: random_tensor(name, [config.sizes()[axis] for axis in axes], generator)
        for name, axes in graph.weights.items()
    }


def random_tensor(name: str, shape: list[int], generator: torch.Generator) -> Tensor:
    noise = torch.randn(shape, generator=generator)
    role = name.rpartition(".")[2]
    if role == "gamma":
        return (1 + 0.3 * noise).double()
    if role in ("W_E", "W_P"):
        return (0.8 * noise).double()
    if role == "beta" or role.startswith("b_"):
        return (0.3 * noise).double()
    return (1.2 * noise / shape[-2] ** 0.5).double()


def build(
    dtype: torch.dtype = torch.float32, device: str = "cpu", seed: int = 0, **settings
) -> Model:
    config = Config(**SMALL | settings)
    words = WordTokenizer([f"w{i}" for i in range(config.n_vocab)])
    tensors = random_tensors(config, seed)
    return Model("random", config, tensors, words, torch.device(device), dtype)


@cache
def random_model(name: str, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Model:
    """One of CONFIGS; models are read-only, so tests share them."""
    return build(dtype, device, **CONFIGS[name])
