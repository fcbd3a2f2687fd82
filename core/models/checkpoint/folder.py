"""Opening a model from its files: a folder as `save_pretrained` writes it, or one weights file.

config.json → settings ─┐
*.safetensors → tensors ┴─ gpt2 or llama → our config and weights ─┐
tokenizer.json → tokenizer ────────────────────────────────────────┴─ Model
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch

from core.models.checkpoint import gpt2, llama
from core.models.checkpoint.error import CheckpointError
from core.models.checkpoint.settings import Settings
from core.models.checkpoint.stored import listed, read
from core.models.checkpoint.vocabulary import default_prompt, tokenizer_of
from core.models.config import ConfigError
from core.models.device import pick_device
from core.models.memory import ROOM_TO_WORK, free_memory
from core.models.model import Model

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
SUFFIXES = (".safetensors", *PICKLES)
ARCHITECTURES = (gpt2, llama)


@dataclass(frozen=True)
class Files:
    """The files of one model: its folder, and those with the weights."""

    folder: Path
    weights: tuple[Path, ...]


def load(
    path: str | Path,
    key: str = "",
    device: torch.device | None = None,
    dtype: torch.dtype = torch.float32,
    lasting: bool = False,
) -> Model:
    """The model that a folder or a .safetensors file holds.

    key: what the model is called; its path unless given. lasting: whether the files are never
    rewritten; then weights that are stored as they are used stay there, mapped into memory.
    Raises CheckpointError.
    """
    files = locate(Path(path))
    settings = _settings(files.folder)
    try:
        config, weights = _architecture(settings).read(settings, read(files.weights, lasting))
    except ConfigError as error:
        raise CheckpointError("setting_impossible", file=settings.file, reason=error) from error
    tokenizer = tokenizer_of(files.folder, config, settings)
    key, device = key or str(path), device or pick_device(dtype)
    check_memory(key, sum(weight.numel() for weight in weights.values()), device, dtype)
    prompt = default_prompt(tokenizer)
    return Model(key, config, weights, tokenizer, device, dtype, default_prompt=prompt)


def check_memory(key: str, n_numbers: int, device: torch.device, dtype: torch.dtype) -> None:
    """Raise CheckpointError unless there is room for the weights, and some more to work in."""
    needed = n_numbers * dtype.itemsize + ROOM_TO_WORK
    if needed > (free := free_memory(device)):
        raise CheckpointError("memory", name=key, needed=gigabytes(needed), free=gigabytes(free))


def gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB"


def locate(path: Path) -> Files:
    """The files of the model at a path. Raises CheckpointError where they are not complete."""
    if path.is_dir():
        return Files(path, _weights_in(path))
    if not path.is_file():
        raise CheckpointError("nothing_there", path=path)
    if path.suffix == ".safetensors":
        return Files(path.parent, (path,))
    kind = "pickle" if path.suffix in PICKLES else "not_weights"
    raise CheckpointError(kind, file=path.name)


def _weights_in(folder: Path) -> tuple[Path, ...]:
    if (folder / WEIGHTS).is_file():
        return (folder / WEIGHTS,)
    if (folder / INDEX).is_file():
        return _shards(folder)
    found = sorted(folder.glob("*.safetensors"))
    if len(found) > 1:
        names = listed([path.name for path in found])
        raise CheckpointError("several_weights", folder=folder, names=names)
    if not found:
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
        if pickled:
            raise CheckpointError("pickle", file=pickled[0])
        raise CheckpointError("no_weights", folder=folder)
    return tuple(found)


def _shards(folder: Path) -> tuple[Path, ...]:
    paths = tuple(folder / name for name in shard_names(folder / INDEX))
    if missing := [path.name for path in paths if not path.is_file()]:
        raise CheckpointError("shard_missing", names=listed(missing))
    return paths


def shard_names(index: Path) -> list[str]:
    """The files that an index names, as lying beside it. Raises CheckpointError."""
    try:
        named = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        return sorted({Path(name).name for name in named})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError("no_json", file=INDEX, reason=repr(error)) from error


def _settings(folder: Path) -> Settings:
    if not (folder / CONFIG).is_file():
        raise CheckpointError("no_config", folder=folder)
    return Settings.read(folder / CONFIG)


def _architecture(settings: Settings):
    """The module that knows the architecture."""
    for architecture in ARCHITECTURES:
        if architecture.knows(settings):
            return architecture
    known = ", ".join(name for module in ARCHITECTURES for name in module.ARCHITECTURES)
    found = settings.values.get("model_type") or settings.values.get("architectures")
    raise CheckpointError("architecture", found=found, known=known)
