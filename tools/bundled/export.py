"""The trained network as a file of named float16 tensors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import torch
from bundled.model import Net
from safetensors.torch import save_file


def export(net: Net, real: np.ndarray, folder: Path, extra: dict) -> None:
    """Write model.safetensors and config.json; real[i] is the GPT-2 id of row i.

    A never-seen id gets the shared row and a little noise of its own, so that no two are equal.
    """
    s = net.s
    noise = torch.randn(s.n_vocab, s.d_model, generator=torch.Generator().manual_seed(0)) * 1e-3
    W_E = net.W_E.detach()[-1] + noise
    W_E[torch.from_numpy(real)] = net.W_E.detach()[:-1]
    tensors = {
        "embed.W_E": W_E,
        "embed.W_P": net.W_P,
        "ln_f.gamma": net.ln_f.weight,
        "ln_f.beta": net.ln_f.bias,
    }
    for i, block in enumerate(net.blocks):
        at = f"blocks.{i}."
        for name, ln in (("ln_1", block.ln_1), ("ln_2", block.ln_2)):
            tensors |= {f"{at}{name}.gamma": ln.weight, f"{at}{name}.beta": ln.bias}
        for letter in "QKV":
            W = getattr(block, f"W_{letter}").view(s.d_model, s.n_heads, s.d_head)
            tensors[f"{at}attn.W_{letter}"] = W.transpose(0, 1)
            tensors[f"{at}attn.b_{letter}"] = getattr(block, f"b_{letter}").view(
                s.n_heads, s.d_head
            )
        tensors |= {f"{at}attn.W_O": block.W_O, f"{at}attn.b_O": block.b_O}
        tensors |= {f"{at}mlp.{n}": getattr(block, n) for n in ("W_1", "b_1", "W_2", "b_2")}
    tensors = {name: t.detach().to(torch.float16).contiguous() for name, t in tensors.items()}
    config = {
        "n_layers": s.n_layers,
        "n_heads": s.n_heads,
        "d_model": s.d_model,
        "d_head": s.d_head,
        "d_mlp": s.d_mlp,
        "n_ctx": s.n_ctx,
        "n_vocab": s.n_vocab,
        "norm": "layer",
        "norm_eps": 1e-5,
        "norm_placement": "pre",
        "activation": "gelu_tanh",
        "position": "learned",
        "tied": True,
        **extra,
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.tmp", metadata={"config": json.dumps(config)})
    (folder / "model.tmp").chmod(0o644)  # safetensors writes it for the owner only
    os.replace(folder / "model.tmp", folder / "model.safetensors")
    (folder / "config.tmp").write_text(json.dumps(config, indent=1) + "\n")
    os.replace(folder / "config.tmp", folder / "config.json")
