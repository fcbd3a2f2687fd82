"""The models that can be loaded by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from core.models import bundled, worked_example
from core.models.model import Model


@dataclass(frozen=True)
class ModelEntry:
    """A model of the catalogue.

    key: what `load` takes. presets: variants of it, if any. available: whether its files are here.
    open: how it is loaded.
    """

    key: str
    title: str
    licence: str
    presets: tuple[str, ...]
    available: bool
    open: Callable[..., Model]


class UnknownModel(ValueError):
    """A name that is not in the catalogue."""


def models() -> list[ModelEntry]:
    """The catalogue."""
    return [
        ModelEntry(
            key=bundled.KEY,
            title="Bundled GPT",
            licence="MIT",
            presets=(),
            available=bundled.available(),
            open=bundled.load,
        ),
        ModelEntry(
            key=worked_example.KEY,
            title="Worked example",
            licence="MIT",
            presets=tuple(worked_example.example()["presets"]),
            available=True,
            open=worked_example.load,
        ),
    ]


def load(
    key: str,
    *,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
    **settings: object,
) -> Model:
    """A model by its name in the catalogue.

    device: the fastest there is unless given. dtype: float32, or float64 for the worked example.
    settings: `preset=` and config switches, for the worked example.
    Raises UnknownModel, ValueError for settings that the model does not have; what a model's own
    loading raises is said there.
    """
    entry = next((entry for entry in models() if entry.key == key), None)
    if entry is None:
        known = ", ".join(entry.key for entry in models())
        raise UnknownModel(f"There is no model {key!r}; there are: {known}.")
    if settings and not entry.presets:
        raise ValueError(f"The model {key!r} has no settings; {', '.join(settings)} was given.")
    if device is not None:
        settings["device"] = torch.device(device)
    if dtype is not None:
        settings["dtype"] = dtype
    return entry.open(**settings)
