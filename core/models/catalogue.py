"""The models that can be loaded by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from core.models import bundled, smollm2, worked_example
from core.models.checkpoint import CheckpointError, folder
from core.models.model import Model
from core.models.published import HUB_MODELS, HubModel

REPO = r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"  # how the hub writes an ID
GGUF = ".gguf"
FILES = (GGUF, *folder.SUFFIXES)


@dataclass(frozen=True)
class ModelEntry:
    """A model of the catalogue.

    key: what `load` takes. presets: variants of it, if any. open: how it is loaded. is_here: asks
    whether its files are. source: where it comes from; "" for what belongs to Ripple. parameters:
    how many numbers it learned. download: bytes to fetch for a model of the hub, about.
    """

    key: str
    title: str
    licence: str
    presets: tuple[str, ...]
    open: Callable[..., Model]
    is_here: Callable[[], bool]
    source: str = ""
    parameters: int = 0
    download: int = 0

    @property
    def available(self) -> bool:
        """Whether its files are here."""
        return self.is_here()

    @property
    def memory(self) -> int:
        """The bytes that its parameters take as float32."""
        return self.parameters * torch.float32.itemsize


class UnknownModel(ValueError):
    """A name that is neither in the catalogue, nor a path, nor one of the hub."""


def models() -> list[ModelEntry]:
    """The catalogue."""
    return [
        ModelEntry(
            key=bundled.KEY,
            title="Bundled GPT",
            licence="MIT",
            presets=(),
            open=bundled.load,
            is_here=bundled.available,
            parameters=bundled.PARAMETERS,
        ),
        ModelEntry(
            key=worked_example.KEY,
            title="Worked example",
            licence="MIT",
            presets=tuple(worked_example.example()["presets"]),
            open=worked_example.load,
            is_here=lambda: True,
        ),
        ModelEntry(
            key=smollm2.KEY,
            title="SmolLM2 135M",
            licence="Apache-2.0",
            presets=(),
            open=smollm2.load,
            is_here=smollm2.available,
            parameters=smollm2.PARAMETERS,
        ),
        *map(_of_the_hub, HUB_MODELS),
    ]


def entry(key: str) -> ModelEntry | None:
    """The entry of that name, or None."""
    return next((entry for entry in models() if entry.key == key), None)


def _of_the_hub(model: HubModel) -> ModelEntry:
    return ModelEntry(
        key=model.repo,
        title=model.title,
        licence=model.licence,
        presets=(),
        open=partial(_load_from_hub, model.repo, model.older),
        is_here=lambda: _cached(model.repo, model.older) is not None,
        source=f"huggingface.co/{model.repo}",
        parameters=model.parameters,
        download=model.download,
    )


def load(
    key: str,
    *,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    **settings: object,
) -> Model:
    """A model by its name in the catalogue, by a path, or by its ID on the Hugging Face hub.

    key: "bundled", "worked-example", "smollm2"; a folder with config.json and .safetensors files,
    or one such file; a .gguf file; "openai-community/gpt2", which is fetched if it is not here.
    device: the fastest there is unless given. dtype: float32, or float64 for the worked example.
    settings: `preset=` and config switches, for the worked example.
    Raises UnknownModel, CheckpointError for a model that cannot be had or read, ValueError for
    settings that the model does not have; what a model's own loading raises is said there.
    """
    opened = _opener(key)
    if settings and key != worked_example.KEY:
        raise ValueError(f"The model {key!r} has no settings; {', '.join(settings)} was given.")
    if device is not None:
        settings["device"] = torch.device(device)
    if dtype is not None:
        settings["dtype"] = dtype
    return opened(**settings)


def _opener(key: str) -> Callable[..., Model]:
    """How the model of this name is loaded. Raises UnknownModel."""
    names = {model.older: model.repo for model in HUB_MODELS if model.older}
    entries = {entry.key: entry for entry in models()}
    if (entry := entries.get(names.get(key, key))) is not None:
        return entry.open
    if is_path(key):
        return partial(_load_from_path, key)
    if re.fullmatch(REPO, key):
        return partial(_load_from_hub, key, "")
    raise UnknownModel(f"There is no model {key!r}; there are: {', '.join(entries)}.")


def is_path(key: str) -> bool:
    """Whether a name means a place on this computer: it is there, or is written like one."""
    path = Path(os.path.expanduser(key))
    written_so = path.is_absolute() or key.startswith((".", "~")) or path.suffix in FILES
    return bool(key) and (written_so or os.path.exists(path))


def _load_from_path(key: str, **settings: object) -> Model:
    path = Path(os.path.expanduser(key))
    try:
        if path.suffix != GGUF:
            return folder.load(path, key, **settings)
        from core.models.checkpoint import gguf_model  # takes a quarter of a second to import

        return gguf_model.load(path, key=key, **settings)
    except OSError as error:
        raise CheckpointError("no_access", path=key, reason=error.strerror or error) from error


def _load_from_hub(repo: str, older: str, **settings: object) -> Model:
    from core.models.checkpoint import hub  # takes a second to import

    path = _cached(repo, older) or hub.fetch(repo)
    return folder.load(path, key=repo, lasting=True, **settings)


def _cached(*repos: str) -> Path | None:
    from core.models.checkpoint import hub  # takes a second to import

    return hub.cached(*repos)
