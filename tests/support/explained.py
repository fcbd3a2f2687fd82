"""Explanations of random elements, and what an explanation must satisfy."""

import math
import random
from collections.abc import Iterator

import torch

from core.graph import Explanation, Trace
from core.graph.op import Input
from core.graph.ops import Activation, Softmax

ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-12}


def random_index(shape: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.randrange(size) for size in shape)


def random_explanations(trace: Trace, count: int = 6) -> Iterator[Explanation]:
    """Some elements of every step that is computed, always the same ones."""
    rng = random.Random(len(trace.steps))
    for name in trace.steps:
        if not isinstance(trace.step(name).op, Input):
            for _ in range(count):
                yield trace.explain(name, random_index(trace.shape(name), rng))


def assert_terms_sum(trace: Trace, found: Explanation) -> None:
    """The terms sum to the value, and the value is that of the tensor.

    The error is measured by the sum of all absolute terms. An activation rounds its gate next to 1,
    however small the gate itself is, so there it is measured by the input. A float32 softmax adds
    up its row one by one in a few lanes, which over a vocabulary of 50,257 costs 3e-5.
    """
    dtype = next(iter(trace.weights.values())).dtype
    assert found.value == trace[found.name][found.index].item()
    total = math.fsum(term.value for term in found.terms)
    if math.isinf(found.value):
        assert total == found.value, found.name
        return
    op, tolerance = trace.step(found.name).op, ROUNDING[dtype]
    scale = sum(abs(term.value) for term in found.terms)
    if isinstance(op, Activation):
        scale = abs(found.terms[0].factors[0].value)
    if isinstance(op, Softmax):
        tolerance *= max(1, trace.shape(found.name)[-1] / 10_000)
    underflow = torch.finfo(dtype).tiny  # below it a probability may be rounded to 0
    assert abs(total - found.value) <= tolerance * scale + underflow, found.name


def assert_references_exist(trace: Trace, found: Explanation) -> None:
    """Every reference is to an element, or a whole line, of an input of the step."""
    inputs = trace.step(found.name).inputs
    for ref in (ref for term in found.terms for ref in term.refs):
        assert ref.name in inputs, found.name
        shape = trace.shape(ref.name)
        assert len(ref.index) == len(shape), (found.name, ref)
        for i, size in zip(ref.index, shape, strict=True):
            assert i is None or 0 <= i < size, (found.name, ref)
