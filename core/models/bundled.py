"""The small GPT-2-style model that comes with the project, trained by `tools/train_bundled.py`."""

from __future__ import annotations

import json

import torch
from safetensors import safe_open

from core.models.assets import ASSETS
from core.models.config import Config
from core.models.device import pick_device
from core.models.gpt2_tokenizer import gpt2_tokenizer
from core.models.model import Model

KEY = "bundled"
FOLDER = ASSETS / "bundled"
PARAMETERS = 9_938_080
PROMPT = "In the beginning God created the"


def available() -> bool:
    """Whether the weights are there."""
    return (FOLDER / "model.safetensors").is_file()


def load(device: torch.device | None = None, dtype: torch.dtype = torch.float32) -> Model:
    """The model with its weights, stored as float16 and computed with as `dtype`."""
    settings = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))
    settings.pop("trained_steps", None)  # how the weights were made, not what the model is
    config = Config.from_dict(settings)
    with safe_open(FOLDER / "model.safetensors", framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    device = device or pick_device(dtype)
    return Model(KEY, config, tensors, gpt2_tokenizer(), device, dtype, default_prompt=PROMPT)
