"""The small example that can be checked by hand: three words, three dimensions, one block.

Its matrices, and the settings of each part of the series that it comes from, are in
`assets/worked_example.json`. Every preset is a whole model, from text to logits, and can be had in
other sizes: see `example_size`.
"""

from __future__ import annotations

import json
from functools import cache

import torch
from torch import Tensor

from core.models import example_size
from core.models.assets import ASSETS
from core.models.config import Config, ConfigError
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
    size: str = "",
    **overrides: object,
) -> Model:
    """The example as one part of the series has it; `overrides` change its settings.

    size: its sizes, where they are not the preset's own, as `d_model-4.n_heads-1`.
    Raises ValueError for an unknown preset, ConfigError for impossible settings.
    """
    sizes = other_sizes(preset, size)
    config = Config.from_dict(settings(preset) | sizes | overrides)
    words, device = example()["words"], device or pick_device(dtype)
    if config.n_vocab > len(words):
        raise ConfigError(f"The worked example has {len(words)} words, not {config.n_vocab}.")
    tokenizer = WordTokenizer(words[: config.n_vocab])
    written = example_size.write(sizes)
    prompt = example()["prompt"]
    return Model(KEY, config, tensors(config), tokenizer, device, dtype, preset, prompt, written)


def other_sizes(preset: str, size: str) -> dict[str, int]:
    """The sizes that a text names, without those that the preset has anyway. Raises ConfigError."""
    own = settings(preset)
    return {name: n for name, n in example_size.read(size).items() if n != own[name]}


def settings(preset: str) -> dict:
    """The settings of a preset. Raises ValueError for an unknown one."""
    presets = example()["presets"]
    if preset not in presets:
        raise ValueError(
            f"The worked example has no preset {preset!r}; it has {', '.join(presets)}."
        )
    return example()["base"] | presets[preset]


def tensors(config: Config) -> dict[str, Tensor]:
    """The example's matrices for every weight that `config` needs, in every block the same.

    What the example does not mention starts as training would start it: gamma 1, beta and
    biases 0. A matrix that has another size than the example's is cut or filled up.
    """
    weights = graph_of(config).weights
    return {name: _matrix(name, axes, config) for name, axes in weights.items()}


def _matrix(name: str, axes: tuple[str, ...], config: Config) -> Tensor:
    role = name.split(".", 2)[2] if name.startswith("blocks.") else name
    shape = [config.sizes()[axis] for axis in axes]
    values, start = example()["matrices"].get(role), untrained(role)
    if values is None and start is not None:
        return torch.full(shape, start, dtype=torch.float64)
    n_heads = None
    if isinstance(values, dict):  # stored by the number of heads
        n_heads = config.n_heads if str(config.n_heads) in values else max(map(int, values))
        values = values[str(n_heads)]
    if values is None:
        given = torch.empty([0] * len(shape), dtype=torch.float64)
    else:
        given = torch.tensor(values, dtype=torch.float64)
    if axes[0] != "concat":
        return example_size.fitted(role, given, shape)
    # The rows of each head by themselves: a wider head does not shift those of the next one.
    by_head = given.unflatten(0, (n_heads, -1))
    shape = [config.n_heads, config.d_head, config.d_model]
    return example_size.fitted(role, by_head, shape).flatten(0, 1)
