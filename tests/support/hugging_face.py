"""Listening to every module of a `transformers` model, and making its weights interesting."""

import torch
from torch import Tensor, nn

from core.models.checkpoint import folder
from core.models.model import Model


def randomise(network: nn.Module, seed: int) -> None:
    """Biases away from 0 and gammas away from 1, so that a forgotten one is noticed."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 2:
                parameter.copy_(0.8 * noise if is_embedding(name) else noise / 5)
            else:
                parameter.copy_(0.3 * noise + (0 if name.endswith("bias") else 1))


def is_embedding(name: str) -> bool:
    return "wte" in name or "wpe" in name or "embed_tokens" in name


def through_a_folder(network: nn.Module, path, dtype: torch.dtype = torch.float32) -> Model:
    """Our model on the processor, from what the network saves."""
    network.save_pretrained(path)
    return folder.load(path, device=torch.device("cpu"), dtype=dtype)


class Heard:
    """What a forward pass said: its output, and input and output of every module by name."""

    def __init__(self, network: nn.Module, ids: list[int]) -> None:
        self.inputs: dict[str, Tensor] = {}
        self.outputs: dict[str, Tensor] = {}
        hooks = [
            module.register_forward_hook(self._listener(name))
            for name, module in network.named_modules()
        ]
        with torch.no_grad():
            self.result = network(
                torch.tensor([ids]), output_hidden_states=True, output_attentions=True
            )
        for hook in hooks:
            hook.remove()
        self.logits = self.result.logits[0]
        self.attentions = [layer[0] for layer in self.result.attentions]
        self.hidden_states = [layer[0] for layer in self.result.hidden_states]

    def _listener(self, name: str):
        def listen(module, args, output) -> None:
            if args and isinstance(args[0], Tensor):
                self.inputs[name] = args[0][0]
            first = output[0] if isinstance(output, tuple) else output
            if isinstance(first, Tensor):
                self.outputs[name] = first[0]

        return listen


def random_ids(n: int, n_vocab: int, seed: int = 0) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(n_vocab, (n,), generator=generator).tolist()
