"""Models from GGUF files, the format of llama.cpp: settings, tokenizer and tensors in one file.

The tensors are those that `gpt2` and `llama` know, under other names and possibly quantized; all
matrices are [out, in]. Llama's queries and keys have their rows in another order, for rotary
positions that turn neighbours instead of halves. Source: ggml-org/llama.cpp, convert_hf_to_gguf.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import gguf
import torch
from torch import Tensor

from core.graph.ops import Stretch
from core.models.checkpoint import gpt2, llama, merges
from core.models.checkpoint.error import CheckpointError
from core.models.checkpoint.folder import check_memory
from core.models.checkpoint.gguf_file import GGUFFile
from core.models.checkpoint.settings import Settings
from core.models.checkpoint.stored import Source, check_blocks, convert
from core.models.checkpoint.vocabulary import default_prompt
from core.models.config import Config, ConfigError
from core.models.device import pick_device
from core.models.merge_list import GPT2, LLAMA3, QWEN2, SMOLLM, MergeListTokenizer
from core.models.model import Model

ARCHITECTURE = "general.architecture"
ARCHITECTURES = MappingProxyType(
    {
        "llama": gguf.MODEL_ARCH.LLAMA,
        "qwen2": gguf.MODEL_ARCH.QWEN2,
        "gpt2": gguf.MODEL_ARCH.GPT2,
    }
)
HEAD, EMBEDDING = "output.weight", "token_embd.weight"
# Settings and tensors that change the numbers in ways that our model code does not have.
HARMLESS = MappingProxyType({"expert_count": 0, "rope.scaling.type": "none"})
STRETCHED = "rope_freqs.weight"
TOKENIZER = "tokenizer.ggml."
NORMAL = int(gguf.TokenType.NORMAL)
STOPS = ("eos", "eot", "eom")
RULES = MappingProxyType(
    {"gpt-2": GPT2, "smollm": SMOLLM, "llama-bpe": LLAMA3, "llama3": LLAMA3, "qwen2": QWEN2}
)


def load(
    path: str | Path,
    key: str = "",
    device: torch.device | None = None,
    dtype: torch.dtype = torch.float32,
    prompt: str = "",
) -> Model:
    """The model in a .gguf file, its weights as `dtype`.

    key: what the model is called; its path unless given. prompt: a text to begin with.
    Raises CheckpointError.
    """
    path, key, device = Path(path).expanduser(), key or str(path), device or pick_device(dtype)
    file = GGUFFile(path)
    settings = Settings(file.settings, path.name)
    architecture = _architecture(settings)
    tokenizer = _tokenizer(settings)
    try:
        config = _config(settings, architecture, file, tokenizer.n_vocab)
    except ConfigError as error:
        raise CheckpointError("setting_impossible", file=path.name, reason=error) from error
    sources = _sources(architecture, config)
    check_memory(key, sum(stored.n_values for stored in file.tensors.values()), device, dtype)
    weights = convert(_unpacked(file, config.tied), sources)
    prompt = prompt or default_prompt(tokenizer)
    return Model(key, config, weights, tokenizer, device, dtype, default_prompt=prompt)


def _architecture(settings: Settings) -> str:
    found = settings.word(ARCHITECTURE)
    if found not in ARCHITECTURES:
        raise CheckpointError("architecture", found=found, known=", ".join(ARCHITECTURES))
    return found


def _config(settings: Settings, architecture: str, file: GGUFFile, n_vocab: int) -> Config:
    settings.refuse_all_but({f"{architecture}.{name}": value for name, value in HARMLESS.items()})
    check_blocks(file.tensors, "blk", settings.whole(f"{architecture}.block_count"))
    common = {
        "n_layers": settings.whole(f"{architecture}.block_count"),
        "n_heads": settings.whole(f"{architecture}.attention.head_count"),
        "d_model": settings.whole(f"{architecture}.embedding_length"),
        "d_mlp": settings.whole(f"{architecture}.feed_forward_length"),
        "n_ctx": settings.whole(f"{architecture}.context_length"),
        "n_vocab": n_vocab,
        "tied": HEAD not in file.tensors or file.same(HEAD, EMBEDDING),
    }
    if architecture == "gpt2":
        return Config(**common, norm_eps=settings.number("gpt2.attention.layer_norm_epsilon"))
    return Config(**common, **_rotary(settings, architecture, file))


def _rotary(settings: Settings, architecture: str, file: GGUFFile) -> dict[str, object]:
    """What Llama and Qwen2 have in common."""
    base = settings.number(f"{architecture}.rope.freq_base", default=10000.0)
    width = settings.whole(f"{architecture}.attention.key_length", default=None)
    turned = settings.whole(f"{architecture}.rope.dimension_count", default=width)
    if width and turned != width:
        raise settings.unsupported(f"{architecture}.rope.dimension_count")
    return {
        "n_kv_heads": settings.whole(f"{architecture}.attention.head_count_kv", default=None),
        "d_head": turned,
        "position": "rotary",
        "rotary_base": base,
        "rotary_stretch": _stretch(file, base, settings.file),
        "norm": "rms",
        "norm_eps": settings.number(f"{architecture}.attention.layer_norm_rms_epsilon"),
        "norm_beta": False,
        "activation": "silu",
        "gated": True,
        "bias_qkv": "blk.0.attn_q.bias" in file.tensors,
        "bias_out": "blk.0.attn_output.bias" in file.tensors,
        "bias_mlp": False,
    }


def _stretch(file: GGUFFile, base: float, name: str) -> Stretch | None:
    """The way of Llama 3, of which a file only has what each pair's rate is divided by.

    Raises CheckpointError for another way.
    """
    if STRETCHED not in file.tensors:
        return None
    with torch.inference_mode():
        divisors = file.read(STRETCHED)
        rates = 1.0 / base ** torch.linspace(0, 1, len(divisors) + 1)[:-1]
        stretch = Stretch(factor=divisors.max().item())
        if not torch.allclose(rates / divisors, stretch.slowed(rates), rtol=1e-4, atol=0):
            raise CheckpointError("gguf_stretched", file=name)
    return stretch


def _sources(architecture: str, c: Config) -> dict[str, Source]:
    """Where our weights lie, by the names that they have in GGUF."""
    found = gpt2.sources(c, as_linear=True) if architecture == "gpt2" else llama.sources(c)
    names = gguf.get_tensor_name_map(ARCHITECTURES[architecture], c.n_layers)
    renamed = {
        ours: replace(source, name=names.get_name(source.name, (".weight", ".bias")))
        for ours, source in found.items()
    }
    if architecture == "llama":
        renamed = {ours: _reordered(ours, source, c) for ours, source in renamed.items()}
    return renamed


def _reordered(ours: str, source: Source, c: Config) -> Source:
    """Queries and keys with the rows of each head as halves, not as neighbours."""
    n_heads = {"Q": c.n_heads, "K": c.n_kv_heads}.get(ours[-1] if ".attn." in ours else "")
    if n_heads is None:
        return source

    def turn(stored: Tensor) -> Tensor:
        neighbours = stored.unflatten(0, (n_heads, -1, 2))
        return source.turn(neighbours.transpose(1, 2).flatten(0, 2))

    return replace(source, turn=turn)


def _unpacked(file: GGUFFile, tied: bool) -> Mapping[str, Tensor]:
    """All tensors as float32, without a head that only repeats the embedding."""
    left_out = {STRETCHED, HEAD} if tied else {STRETCHED}
    with torch.inference_mode():
        return {name: file.read(name) for name in file.tensors if name not in left_out}


def _tokenizer(settings: Settings) -> MergeListTokenizer:
    """The tokenizer that the file describes. Raises CheckpointError."""
    kind = settings.word(TOKENIZER + "model")
    rules = settings.word(TOKENIZER + "pre") if kind == "gpt2" else kind
    if rules not in RULES:
        raise CheckpointError("tokenizer_kind", found=rules)
    tokens = settings.items(TOKENIZER + "tokens", str)
    kinds = settings.items(TOKENIZER + "token_type", int)
    pairs = [tuple(merge.split(" ")) for merge in settings.items(TOKENIZER + "merges", str)]
    if len(kinds) != len(tokens) or any(len(pair) != 2 for pair in pairs):
        raise CheckpointError("damaged", file=settings.file, reason=TOKENIZER + "…")
    special = {tokens[i]: i for i, kind in enumerate(kinds) if kind != NORMAL}

    def named_id(name: str) -> int | None:
        return settings.whole(f"{TOKENIZER}{name}_token_id", default=None)

    begins = settings.flag(TOKENIZER + "add_bos_token", default=RULES[rules] is LLAMA3)
    return merges.tokenizer(
        {token: token_id for token_id, token in enumerate(tokens)},
        pairs,
        RULES[rules],
        special,
        n_vocab=len(tokens),
        stop_ids={named_id(name) for name in STOPS} - {None},
        begin_id=named_id("bos") if begins else None,
    )
