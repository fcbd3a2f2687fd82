"""The models that a property must hold for: every preset of the worked example, random ones."""

from functools import cache

import torch

import core
from core.models.model import Model, PromptTrace
from tests.support.random_models import CONFIGS, IDS, random_model

PRESETS = (
    "part-1",
    "part-2",
    "part-3",
    "part-3-no-position",
    "part-4",
    "part-4-mlp",
    "part-5",
    "part-6",
    "block",
)
SUBJECTS = [
    *(("worked-example", preset, torch.float64) for preset in PRESETS),
    *(("random", name, torch.float32) for name in CONFIGS),
    *(("random", name, torch.float64) for name in CONFIGS),
]


def subject_id(subject: tuple) -> str:
    _, name, dtype = subject
    return f"{name}-{str(dtype).removeprefix('torch.')}"


@cache
def example(preset: str) -> Model:
    return core.load("worked-example", preset=preset, device="cpu")


def subject_model(subject: tuple) -> Model:
    kind, name, dtype = subject
    return example(name) if kind == "worked-example" else random_model(name, dtype)


def subject_ids(subject: tuple) -> list[int]:
    return [0, 1, 2] if subject[0] == "worked-example" else IDS


@cache
def subject_trace(subject: tuple) -> PromptTrace:
    return subject_model(subject).trace(subject_ids(subject))
