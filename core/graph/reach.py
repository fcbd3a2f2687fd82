"""How far edits and switches reach: which weights and steps of a trace differ from its base's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from core.graph.edit import Edits, put, same
from core.graph.graph import Graph, Step
from core.graph.packed import pack_like
from core.graph.values import Values


def edited(
    weights: Mapping[str, Tensor], edits: Edits, base: Values | None
) -> Mapping[str, Tensor]:
    """The weights with the edited ones replaced by copies; a base's copies are used again."""
    changed = {}
    for name, changes in edits.items():
        if name not in weights:
            continue
        if base is not None and same(changes, base.edits.get(name)):
            changed[name] = base.weights[name]
            continue
        with torch.inference_mode():
            changed[name] = pack_like(put(weights[name], changes), weights[name])
    return MappingProxyType({**weights, **changed})


def reached(
    graph: Graph, weights: Mapping[str, Tensor], edits: Edits, base: Values | None
) -> frozenset[str]:
    """The steps that differ from the base's in what they do, or come after one that does."""
    if base is None:
        return frozenset(graph.steps)
    names = {*edits, *base.edits}
    changed = {name for name in names if not same(edits.get(name), base.edits.get(name))}
    changed |= {name for name, weight in weights.items() if weight is not base.weights.get(name)}
    found: set[str] = set()
    for name, step in graph.steps.items():
        other = graph is not base.graph and not _alike(step, base.graph.steps.get(name))
        if other or name in changed or not changed.isdisjoint(step.inputs):
            found.add(name)
            changed.add(name)
    return frozenset(found)


def _alike(one: Step, other: Step | None) -> bool:
    """Whether two steps do the same with the same."""
    return other is not None and (one.op, one.inputs) == (other.op, other.inputs)
