"""The stages of sampling in PyTorch, in the order and with the values that are chosen."""

from __future__ import annotations

from collections.abc import Sequence

from core.generate.sampling import ORDERS
from core.view.sampling_settings import Settings, written

LINES = {
    "repetition_penalty": (
        "seen = torch.tensor({previous})",
        "new = torch.where(logits > 0, logits / {value}, logits * {value})",
        "logits = logits.index_copy(0, seen, new[seen])",
    ),
    "temperature": ("logits = logits / {value}",),
    "greedy": (
        "first = torch.arange(len(logits)) == logits.argmax()",
        "logits = logits.masked_fill(~first, -math.inf)",
    ),
    "top_k": (
        "least = logits.topk(min({value}, len(logits))).values[-1]",
        "logits = logits.masked_fill(logits < least, -math.inf)",
    ),
    "top_p": (
        "probs, ids = logits.softmax(-1).double().sort(descending=True, stable=True)",
        "out = probs.cumsum(-1) - probs >= {value}  # what the likelier ones hold",
        "out[0] = False",
        "logits = logits.masked_fill(out[ids.argsort()], -math.inf)",
    ),
    "min_p": (
        "probs = logits.softmax(-1)",
        "logits = logits.masked_fill(probs < {value} * probs.max(), -math.inf)",
    ),
}
DRAW = (
    "generator = torch.Generator().manual_seed({seed})",
    "numbers = torch.rand({n}, generator=generator, dtype=torch.float64)",
    "line = logits.softmax(-1).double().cumsum(-1)",
    "token = torch.searchsorted(line, numbers[-1] * line[-1], right=True)",
)


def code(settings: Settings, previous: Sequence[int], draw: int) -> str:
    """From `logits` [vocab] to `token`; `draw` counts from 0."""
    parts = [["import math", "import torch"]]
    for key in ORDERS[settings.order]:
        if settings.is_on(key):
            value = getattr(settings, key)
            lines = LINES["greedy" if key == "temperature" and value == 0 else key]
            ids = sorted(set(previous))
            parts.append([line.format(value=written(value), previous=ids) for line in lines])
    parts.append([line.format(seed=settings.seed, n=draw + 1) for line in DRAW])
    return "\n\n".join("\n".join(part) for part in parts)
