"""Models that were published: the sizes to compare with, and those that the catalogue offers."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.config import Config

GPT2 = Config(n_layers=12, n_heads=12, d_model=768, n_vocab=50257, n_ctx=1024)
GPT3 = Config(n_layers=96, n_heads=96, d_model=12288, n_vocab=50257, n_ctx=2048)


@dataclass(frozen=True)
class HubModel:
    """A model of the Hugging Face hub.

    repo: its ID there. older: an ID under which older programs have it in the cache, if any.
    parameters: how many numbers it learned. download: the bytes of its weights file, about: the
    parameters as float32, and in each block of a GPT-2 a mask of 1,024 × 1,024 that nobody learned;
    of SmolLM2 as bfloat16.
    """

    repo: str
    title: str
    licence: str
    parameters: int
    download: int
    older: str = ""


# Licences as the hub states them.
HUB_MODELS = (
    HubModel("openai-community/gpt2", "GPT-2 small", "MIT", 124_439_808, 548_000_000, "gpt2"),
    HubModel(
        "openai-community/gpt2-medium",
        "GPT-2 medium",
        "MIT",
        354_823_168,
        1_520_000_000,
        "gpt2-medium",
    ),
    HubModel(
        "openai-community/gpt2-large",
        "GPT-2 large",
        "MIT",
        774_030_080,
        3_250_000_000,
        "gpt2-large",
    ),
    HubModel(
        "openai-community/gpt2-xl", "GPT-2 XL", "MIT", 1_557_611_200, 6_430_000_000, "gpt2-xl"
    ),
    HubModel(
        "distilbert/distilgpt2",
        "DistilGPT-2",
        "Apache-2.0",
        81_912_576,
        353_000_000,
        "distilgpt2",
    ),
    HubModel("HuggingFaceTB/SmolLM2-135M", "SmolLM2 135M", "Apache-2.0", 134_515_008, 269_000_000),
    HubModel(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "SmolLM2 135M Instruct",
        "Apache-2.0",
        134_515_008,
        269_000_000,
    ),
)
