"""Where colours end: one scale for each quantity of a model, the same on every page.

What stands side by side to be compared, such as the terms of a sum, is one quantity. Its scale is
measured once, from the model's own weights and its default prompt, never from what a visitor
typed or edited. A value beyond it has the full colour, and legends say so with ≤ and ≥.

    scale.end(trace, "blocks.0.attn.q")     # 5.0, or Root(5.0) where colours grow with a root
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from core.analysis import residual
from core.models.model import Model, PromptTrace
from core.view.elements import role
from core.view.figures import SHARES, Root, degree, nice_limit
from core.view.html import div, para, signed_legend
from core.view.texts import Text

SAMPLE = 5000  # values of one step or weight that are measured
UNTRAINED = 8  # tokens that a model without a prompt of its own is measured on
FAINTEST = 0.17  # how strongly even the smallest matrix of a quantity is coloured, if a root can
COVERED = 0.95  # of each role's values lie within the scale
ROWS = 64  # of a product of two weights, to measure it
SHARED = ("attn.weights", "probs", "embed.onehot")  # from 0 to 1 in every model
UNSIGNED = (*SHARED, "tokens.ids", "tokens.positions")

WEIGHT = re.compile(r"(W|b)_\w+$|gamma$|beta$")

# The roles that share a scale; any other role is a quantity of its own.
QUANTITIES = {
    "stream": (
        *("embed.W_E", "embed.W_P", "embed.token", "embed.position", "embed.sum"),
        *("resid_in", "resid_mid", "resid_out", "attn.out", "mlp.out"),
    ),
    "square": ("norm.var", "norm.mean_square"),
    "normed": ("norm.normed", "norm.out", "norm.gamma", "norm.beta"),
    "qkv": (
        *("attn.q", "attn.k", "attn.v", "attn.q_rotated", "attn.k_rotated"),
        *("attn.heads", "attn.concat", "cache.k", "cache.v"),
    ),
    "scores": ("attn.scores", "attn.scores_scaled", "attn.scores_masked"),
    "mlp": ("mlp.hidden", "mlp.gate", "mlp.up", "mlp.act", "mlp.product"),
    "attn.W": ("attn.W_Q", "attn.W_K", "attn.W_V"),
    "mlp.W": ("mlp.W_1", "mlp.W_2", "mlp.W_gate", "mlp.W_up"),
}
QUANTITY = {role: name for name, roles in QUANTITIES.items() for role in roles}

# Pictures of what is no step: the terms of a logit, and two weights as one.
TERMS, ONE_MATRIX = "logits.terms", "mlp.W_1W_2"

_known: WeakKeyDictionary[Model, dict[str, float]] = WeakKeyDictionary()


def end(trace: PromptTrace, name: str) -> float:
    """The end of the colour scale for a step, a weight, TERMS or ONE_MATRIX.

    An edited or switched trace has the scale of the trace that it was made from.
    """
    if role(name) in SHARED:
        return SHARES
    first = trace
    while first.base is not None:
        first = first.base
    quantity = QUANTITY.get(role(name), role(name))
    ends = _ends(first.model)
    return ends[quantity] if quantity in ends else _ends(trace.model).get(quantity, 1.0)


def distinct(named: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """The scales that differ, each with the names of what has it; without, if it is but one."""
    found: dict[tuple[float, int], tuple[list[str], float]] = {}
    for name, limit in named:
        names, _ = found.setdefault((float(limit), degree(limit)), ([], limit))
        names += [name] if name and name not in names else []
    several = len(found) > 1
    return [(", ".join(names) if several else "", limit) for names, limit in found.values()]


def says(t: Text, scales: Sequence[tuple[str, float]]) -> list[str]:
    """What stands beside each scale: whose it is, and at the first uneven one that it is that."""
    uneven = next((i for i, (_, limit) in enumerate(scales) if degree(limit) > 1), None)
    notes = [t("matrix.legend.uneven") if i == uneven else "" for i in range(len(scales))]
    return [
        " · ".join(filter(None, [names, note]))
        for (names, _), note in zip(scales, notes, strict=True)
    ]


def legend(t: Text, *named: tuple[str, float], note: str = "") -> str:
    """The legends of a picture, as HTML. named: what is drawn, with its scale."""
    scales = distinct(named)
    texts = says(t, scales)
    drawn = [signed_legend(limit, text) for (_, limit), text in zip(scales, texts, strict=True)]
    return div("legends", *drawn, para(note, "says") if note else "")


def apart(t: Text, limits: Sequence[float]) -> list[str]:
    """The legends of pictures under each other, one for each: where all have one scale, the last's.

    limits: the scale of each picture.
    """
    if len(distinct(("", limit) for limit in limits)) == 1:
        return [*[""] * (len(limits) - 1), legend(t, ("", limits[-1]))]
    texts = says(t, [("", limit) for limit in limits])
    return [
        div("legends", signed_legend(limit, text))
        for limit, text in zip(limits, texts, strict=True)
    ]


def _ends(model: Model) -> dict[str, float]:
    if model not in _known:
        _known[model] = _measured(model)
    return _known[model]


@torch.inference_mode()
def _measured(model: Model) -> dict[str, float]:
    """The end of every quantity's scale."""
    trace = model.trace(_reference(model))
    steps: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for name, value in _values(trace):
        kind = role(name)
        steps[QUANTITY.get(kind, kind)][kind].append(_sizes(value))
    ends = {quantity: _end(roles) for quantity, roles in steps.items()}
    # A square has the colour of its number.
    stream = ends["stream"]
    return ends | {"square": Root(float(stream) ** 2, 2 * degree(stream))}


def _reference(model: Model) -> list[int]:
    """The tokens on which a model is measured."""
    ids = model.tokenizer.prompt_ids(model.default_prompt) if model.default_prompt else []
    return model.fit(ids or range(min(UNTRAINED, model.config.n_vocab)))[0]


def _values(trace: PromptTrace) -> Iterator[tuple[str, Tensor]]:
    """All that has colours, by name: steps, weights, and what is made of them for a picture."""
    for name in trace.steps:
        if role(name) not in UNSIGNED and QUANTITY.get(role(name)) != "square":
            yield name, trace[name]
    yield from trace.weights.items()
    yield TERMS, _terms(trace)
    for name, value in trace.weights.items():
        if role(name) == "mlp.W_1":
            yield ONE_MATRIX, value[:ROWS] @ trace.weights[name.replace("W_1", "W_2")]


def _terms(trace: PromptTrace) -> Tensor:
    """The terms of the likeliest token's logit after each token."""
    rows, logits = trace[trace.step("logits").inputs[0]], trace["logits"]
    best = logits.argmax(dim=-1).tolist()
    return torch.stack(
        [row * residual.direction(trace, i) for row, i in zip(rows, best, strict=True)]
    )


def _sizes(value: Tensor) -> np.ndarray:
    """How far its values, or some of them, are from 0; masked ones left out."""
    value = value.flatten()
    if len(value) > SAMPLE:
        some = torch.randint(len(value), (SAMPLE,), generator=torch.Generator().manual_seed(0))
        value = value[some.to(value.device)]
    sizes = value.double().abs().cpu().numpy()
    return sizes[np.isfinite(sizes)]


def _end(found: dict[str, list[np.ndarray]]) -> float:
    """Above most values of each role; a root if the smallest matrix would be all but invisible.

    Weights beside steps do not count as such, for they are seldom drawn.
    """
    limit = nice_limit(max(_top(np.concatenate(arrays)) for arrays in found.values()))
    steps = {kind: arrays for kind, arrays in found.items() if not WEIGHT.search(kind)}
    tops = [_top(array) for arrays in (steps or found).values() for array in arrays]
    faintest = min((top for top in tops if top > 0), default=limit) / limit
    steepest = next((d for d in (1, 2) if faintest >= FAINTEST**d), 3)
    return limit if steepest == 1 else Root(limit, steepest)


def _top(sizes: np.ndarray) -> float:
    """What COVERED of them do not exceed."""
    if not sizes.size:
        return 0.0
    nth = math.ceil(COVERED * (sizes.size - 1))
    return float(np.partition(sizes, nth)[nth])
