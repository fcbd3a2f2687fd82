"""SmolLM2-135M-Instruct: a small language model of 2024, quantized, that `make model` fetches."""

from __future__ import annotations

import torch

from core.models.assets import ASSETS
from core.models.model import Model

KEY = "smollm2"
FILE = ASSETS / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
PARAMETERS = 134_515_008
PROMPT = "The capital of France is"


def available() -> bool:
    """Whether the file is there."""
    return FILE.is_file()


def load(device: torch.device | None = None, dtype: torch.dtype = torch.float32) -> Model:
    """The model, its weights unpacked to `dtype`. Raises CheckpointError."""
    from core.models.checkpoint import gguf_model  # takes a quarter of a second to import

    return gguf_model.load(FILE, KEY, device, dtype, PROMPT)
