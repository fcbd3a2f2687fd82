"""Traces share the room for what was looked at last."""

import gc

import torch

from core.graph import Recent, Trace
from core.graph.recent import Looked
from tests.support.close import same_bits
from tests.support.random_models import IDS, random_model


def kilobyte(value: float = 0.0) -> torch.Tensor:
    return torch.full((256,), value)


def test_what_was_not_looked_at_for_longest_goes_whosever_it_is():
    recent, one, other = Recent(3 * 1024), Looked(), Looked()
    recent.put(one, "a", kilobyte())
    recent.put(other, "a", kilobyte())
    recent.put(one, "b", kilobyte())
    recent.put(one, "a", one["a"])
    recent.put(other, "c", kilobyte())
    assert (set(one), set(other)) == ({"a", "b"}, {"c"})


def test_a_value_larger_than_the_room_is_kept_alone():
    recent, one = Recent(100), Looked()
    recent.put(one, "a", kilobyte())
    recent.put(one, "b", kilobyte())
    assert set(one) == {"b"}


def test_room_is_made_before_but_not_of_what_is_needed():
    recent, one = Recent(3 * 1024), Looked()
    for name in "abc":
        recent.put(one, name, kilobyte())
    recent.make_room(2 * 1024, one, {"a"})
    assert set(one) == {"a"}


def test_what_a_trace_kept_goes_with_it():
    recent, one, other = Recent(2 * 1024), Looked(), Looked()
    recent.put(one, "a", kilobyte())
    del one
    gc.collect()
    recent.put(other, "a", kilobyte())
    recent.put(other, "b", kilobyte())
    assert set(other) == {"a", "b"}


def test_traces_that_share_it_agree_with_one_that_keeps_everything():
    model = random_model("gpt2")
    recent, full = Recent(1), model.trace(IDS).capture()
    shape = model.graph, model.inputs(IDS), model.weights, model.sizes(len(IDS))
    traces = [Trace(*shape, memory=1, recent=recent) for _ in range(2)]
    for name in full:
        assert all(same_bits(trace[name], full[name]) for trace in traces), name
