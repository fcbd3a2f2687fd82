"""The golden snapshot of the worked example, written by the numpy oracle and not by the engine.

`python -m tests.support.golden` writes `tests/data/block.safetensors` again, which is needed only
when the example itself changes.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from tests.support import numpy_gpt

DATA = Path(__file__).parents[1] / "data"
GOLDEN = DATA / "block.safetensors"
EXAMPLE = Path(__file__).parents[2] / "assets" / "worked_example.json"
IDS = [0, 1, 2]
CONFIG = {
    "n_layers": 1,
    "n_heads": 2,
    "n_kv_heads": 2,
    "d_model": 3,
    "d_head": 2,
    "d_mlp": 6,
    "n_vocab": 6,
    "n_ctx": 8,
    "position": "learned",
    "norm": "layer",
    "norms": ["ln_1", "ln_2", "ln_f"],
    "norm_placement": "pre",
    "norm_eps": 1e-5,
    "activation": "gelu_tanh",
    "gated": False,
    "causal": True,
    "scaled": True,
    "residual": ["attn", "mlp"],
    "tied": False,
}


def golden_values() -> dict[str, np.ndarray]:
    """Every step, from the example's matrices; gamma 1 and no biases but the MLP's."""
    matrices = json.loads(EXAMPLE.read_text(encoding="utf-8"))["matrices"]
    weights = {}
    for name, values in matrices.items():
        values = values["2"] if isinstance(values, dict) else values
        in_block = name.startswith(("attn.", "mlp."))
        weights[f"blocks.0.{name}" if in_block else name] = np.array(values, dtype=float)
    for norm in ("blocks.0.ln_1", "blocks.0.ln_2", "ln_f"):
        weights[f"{norm}.gamma"] = np.ones(3)
    values = numpy_gpt.run(CONFIG, weights, IDS)
    return values | {"embed.onehot": values["embed.onehot"].astype(np.uint8)}


def write(path: Path) -> None:
    values = golden_values()
    metadata = {
        "format": "ripple-snapshot-1",
        "ids": json.dumps(IDS),
        "config": json.dumps(CONFIG),
        "steps": json.dumps(list(values)),
        "complete": "true",
    }
    save_file({name: np.ascontiguousarray(v) for name, v in values.items()}, path, metadata)


if __name__ == "__main__":
    write(GOLDEN)
