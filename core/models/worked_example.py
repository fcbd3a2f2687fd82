"""The small example that can be checked by hand: three words, three dimensions, one block.

Its matrices, and the settings of each part of the series that it comes from, are in
`assets/worked_example.json`. Every preset is a whole model, from text to logits.
"""

from __future__ import annotations

import json
from functools import cache

import torch
from torch import Tensor

from core.models.assets import ASSETS
from core.models.config import Config
from core.models.device import pick_device
from core.models.gpt import graph_of
from core.models.model import Model
from core.models.tokenizer import WordTokenizer
from core.models.weights import untrained

KEY = "worked-example"


@cache
def example() -> dict:
    """The file: words, prompt, base settings, settings by preset, matrices by name."""
    return json.loads((ASSETS / "worked_example.json").read_text(encoding="utf-8"))


def load(
    preset: str = "block",
    device: torch.device | None = None,
    dtype: torch.dtype = torch.float64,
    **overrides: object,
) -> Model:
    """The example as one part of the series has it; `overrides` change its settings.

    Raises ValueError for an unknown preset, ConfigError for impossible settings, WeightsError for
    settings that the example has no matrices for.
    """
    presets = example()["presets"]
    if preset not in presets:
        raise ValueError(
            f"The worked example has no preset {preset!r}; it has {', '.join(presets)}."
        )
    config = Config.from_dict(example()["base"] | presets[preset] | overrides)
    tokenizer = WordTokenizer(example()["words"])
    device = device or pick_device(dtype)
    prompt = example()["prompt"]
    return Model(KEY, config, tensors(config), tokenizer, device, dtype, preset, prompt)


def tensors(config: Config) -> dict[str, Tensor]:
    """The example's matrices for every weight that `config` needs, in every block the same.

    What the example does not mention starts as training would start it: gamma 1, beta and
    biases 0.
    """
    weights = graph_of(config).weights
    return {name: _matrix(name, axes, config) for name, axes in weights.items()}


def _matrix(name: str, axes: tuple[str, ...], config: Config) -> Tensor:
    role = name.split(".", 2)[2] if name.startswith("blocks.") else name
    values = example()["matrices"].get(role)
    if values is None:
        shape = [config.sizes()[axis] for axis in axes]
        return torch.full(shape, untrained(role), dtype=torch.float64)
    if isinstance(values, dict):
        values = values.get(str(config.n_heads), values["1"])
    if axes[0] == "kv_head":
        values = values[: config.n_kv_heads]  # with fewer of them, the first ones are shared
    return torch.tensor(values, dtype=torch.float64)
