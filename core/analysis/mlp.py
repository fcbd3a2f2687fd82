"""The MLP read as a memory, and small experiments with it: each token alone, without its curve."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.analysis.residual import NotDefined, unembed
from core.graph.explain import Explanation, Operand, products
from core.models.config import Config
from core.models.gpt import graph_of
from core.models.model import PromptTrace


@dataclass(frozen=True)
class Neuron:
    """A neuron that fired for one token.

    activation: its value. written: the length of what it adds to the stream, |activation·W_2 row|.
    promotes, suppresses: the tokens whose logits its row of W_2 raises and lowers most, each with
    the change at this activation (final norm left out).
    """

    index: int
    activation: float
    written: float
    promotes: tuple[tuple[str, float], ...]
    suppresses: tuple[tuple[str, float], ...]


def busiest(trace: PromptTrace, block: int, pos: int, k: int) -> list[int]:
    """The indices of the `k` neurons that wrote most to the stream at `pos`, strongest first."""
    with torch.inference_mode():
        written = _written(trace, block, pos).norm(dim=-1)
    return written.topk(min(k, len(written))).indices.tolist()


def strongest_neurons(trace: PromptTrace, block: int, pos: int, k: int = 5) -> list[Neuron]:
    """The neurons of `busiest` with what each of them does."""
    chosen = busiest(trace, block, pos, k)
    inner = _inner(trace, block, pos)
    with torch.inference_mode():
        rows = _written(trace, block, pos)[chosen]
        written, effects = rows.norm(dim=-1), unembed(trace, rows)
    return [
        Neuron(
            index,
            inner[index].item(),
            length.item(),
            _extreme(trace, effect, largest=True),
            _extreme(trace, effect, largest=False),
        )
        for index, length, effect in zip(chosen, written, effects, strict=True)
    ]


def _inner(trace: PromptTrace, block: int, pos: int) -> Tensor:
    """What W_2 reads of a token: a number per neuron."""
    last = "product" if trace.model.config.gated else "act"
    return trace[f"blocks.{block}.mlp.{last}"][pos]


def _written(trace: PromptTrace, block: int, pos: int) -> Tensor:
    """What each neuron adds to the stream at `pos`: [d_mlp, d_model]."""
    return trace.weights[f"blocks.{block}.mlp.W_2"] * _inner(trace, block, pos).unsqueeze(-1)


def _extreme(
    trace: PromptTrace, effect: Tensor, largest: bool, k: int = 5
) -> tuple[tuple[str, float], ...]:
    """The tokens most raised, or most lowered; fewer than `k` if no more of them are."""
    values, ids = effect.topk(min(k, len(effect)), largest=largest)
    text = trace.model.tokenizer.token_text
    return tuple(
        (text(i), value)
        for i, value in zip(ids.tolist(), values.tolist(), strict=True)
        if (value > 0) == largest and value
    )


@dataclass(frozen=True)
class OneMatrix:
    """The MLP without its curve: two matrices that are one.

    matrix: W_1·W_2, [d_model, d_model]. bias: b_1·W_2 + b_2, None without biases.
    one_by_one: x·W_1, then ·W_2. at_once: x·matrix. with_curve: what the MLP really adds.
    difference: the largest between the first two; curve: the largest that the curve makes.
    """

    matrix: Tensor
    bias: Tensor | None
    one_by_one: Tensor
    at_once: Tensor
    with_curve: Tensor
    difference: float
    curve: float


def without_curve(trace: PromptTrace, block: int, pos: int) -> OneMatrix:
    """Leave the activation out, in two products and in one. Raises NotDefined for a gated MLP."""
    if trace.model.config.gated:
        raise NotDefined("a gate multiplies two products, which is no matrix even without a curve")
    name = f"blocks.{block}.mlp"
    weights = trace.weights
    W_1, W_2 = weights[f"{name}.W_1"], weights[f"{name}.W_2"]
    b_1, b_2 = weights.get(f"{name}.b_1"), weights.get(f"{name}.b_2")
    x, real = trace[mlp_input(trace, block)][pos], trace[f"{name}.out"][pos]
    with torch.inference_mode():
        matrix, bias = W_1 @ W_2, None if b_1 is None else b_1 @ W_2 + b_2
        hidden = x @ W_1 if b_1 is None else x @ W_1 + b_1
        one_by_one = hidden @ W_2 if b_2 is None else hidden @ W_2 + b_2
        at_once = x @ matrix if bias is None else x @ matrix + bias
        difference = (one_by_one - at_once).abs().max().item()
        curve = (real - at_once).abs().max().item()
    return OneMatrix(matrix, bias, one_by_one, at_once, real, difference, curve)


def one_entry(trace: PromptTrace, block: int, row: int, column: int) -> Explanation:
    """One number of W_1·W_2: a product for each neuron. Raises NotDefined for a gated MLP."""
    if trace.model.config.gated:
        raise NotDefined("a gate multiplies two products, which is no matrix even without a curve")
    names = (f"blocks.{block}.mlp.W_1", f"blocks.{block}.mlp.W_2")
    W_1, W_2 = (trace.weights[name] for name in names)
    with torch.inference_mode():
        value = (W_1[row] @ W_2[:, column]).item()
    left, right = (Operand(name, trace.weights[name]) for name in names)
    terms = products(left.line(row, slice(None)), right.line(slice(None), column))
    return Explanation("W_1·W_2", (row, column), value, terms)


@dataclass(frozen=True)
class Alone:
    """What one token's row does to another: nothing in the MLP.

    Every number of the other token's row is 0 before the MLP. before, after: what the MLP adds to
    our token and to the other one, [2, d_model]. own: the largest change of the first; other: of
    the second. by_attention: the same change made before attention, and what attention then adds
    to ours.
    """

    before: Tensor
    after: Tensor
    own: float
    other: float
    by_attention: float


def alone(trace: PromptTrace, block: int, pos: int, other: int) -> Alone:
    """Blank the row of the token at `other` and see whether the one at `pos` notices."""
    out, attention = f"blocks.{block}.mlp.out", f"blocks.{block}.attn.out"
    edited = trace.edit({f"blocks.{block}.resid_mid": {(other, None): 0.0}})
    earlier = trace.edit({f"blocks.{block}.resid_in": {(other, None): 0.0}})
    with torch.inference_mode():
        before, after = (way[out][[pos, other]] for way in (trace, edited))
        own, others = (after - before).abs().amax(dim=-1).tolist()
        moved = (earlier[attention][pos] - trace[attention][pos]).abs().max().item()
    return Alone(before, after, own, others, moved)


def mlp_input(trace: PromptTrace, block: int) -> str:
    """The step that the MLP reads: a norm, or the stream itself."""
    first = "gate" if trace.model.config.gated else "hidden"
    return trace.step(f"blocks.{block}.mlp.{first}").inputs[0]


@dataclass(frozen=True)
class BlockSize:
    """The numbers in the matrices of one block; biases and norms, a tiny part, left out."""

    mlp: int
    attention: int


def block_size(config: Config) -> BlockSize:
    """Counted from the weights that the model's own code names."""
    weights, sizes = graph_of(replace(config, n_layers=1)).weights, config.sizes()
    count = {
        part: sum(
            math.prod(sizes[axis] for axis in axes)
            for name, axes in weights.items()
            if f".{part}.W_" in name
        )
        for part in ("mlp", "attn")
    }
    return BlockSize(count["mlp"], count["attn"])
