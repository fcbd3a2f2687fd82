"""Small GPT-2s with random weights on disk, as different projects save them."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from tests.support.hugging_face import randomise

SIZES = {"n_layer": 2, "n_head": 3, "n_embd": 24, "vocab_size": 50}
IDS = [7, 1, 49, 0, 7, 23, 11]


def gpt2(**settings) -> nn.Module:
    network = GPT2LMHeadModel(GPT2Config(n_positions=16, **SIZES | settings)).eval()
    randomise(network, seed=3)
    return network


def logits(network: nn.Module) -> Tensor:
    with torch.no_grad():
        return network(torch.tensor([IDS])).logits[0]


def state(network: nn.Module) -> dict[str, Tensor]:
    """Its tensors by name, without the head if that only repeats the embedding."""
    tensors = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    if network.config.tie_word_embeddings:
        del tensors["lm_head.weight"]
    return tensors


def as_linear(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The blocks' matrices as torch's Linear stores them, [out, in]."""
    return {
        name: tensor.T.contiguous() if ".h." in name and tensor.ndim == 2 else tensor
        for name, tensor in tensors.items()
    }


def save(folder: Path, tensors: dict[str, Tensor], settings: dict) -> Path:
    """A folder with config.json and model.safetensors."""
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder
