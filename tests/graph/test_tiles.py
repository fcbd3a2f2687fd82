"""Of a step as wide as the vocabulary, the rows that are read are computed, with the same bits."""

from dataclasses import dataclass, replace

import pytest
import torch

from core.graph import Graph, Op, PlainForward, Scope, Trace
from core.models import gpt
from tests.support.close import same_bits
from tests.support.random_models import CONFIGS, IDS, build

TILE = 2
TEXT = [*IDS, *IDS][:7]  # the last tile is not full
WIDE = ("embed.onehot", "logits", "probs")


@dataclass(frozen=True)
class CountingRows(Op):
    """An op that writes down how many rows it computes."""

    inner: Op
    name: str
    log: list

    def compute(self, *inputs):
        value = self.inner.compute(*inputs)
        self.log.append((self.name, len(value)))
        return value

    def explain(self, index, *inputs):
        return self.inner.explain(index, *inputs)

    def code(self, out, *inputs):
        return self.inner.code(out, *inputs)


@pytest.fixture
def tiled(monkeypatch):
    """A model whose wide steps are computed two rows at a time, and what was computed of them."""
    monkeypatch.setattr(gpt, "TILE", TILE)
    model, graph, log = build(**CONFIGS["gpt2"]), Graph(), []
    gpt.gpt(Scope(graph), model.config)
    for name in WIDE:
        step = graph.steps[name]
        graph.steps[name] = replace(step, op=CountingRows(step.op, name, log))
    model.graph = graph
    return model, log


def large(model, **options) -> Trace:
    """A trace that keeps what was looked at last, and little of that."""
    shape = model.graph, model.inputs(TEXT), model.weights, model.sizes(len(TEXT))
    return Trace(*shape, memory=2000, **options)


def rows_of(log, name):
    return sum(n for step, n in log if step == name)


def test_a_row_takes_its_tile_and_no_other(tiled):
    model, log = tiled
    trace = large(model)
    trace.row("logits", 4)
    assert log == [("logits", TILE)]
    trace.row("logits", 5)  # of the same tile
    trace.value("logits", (4, 3))
    assert log == [("logits", TILE)]
    trace.row("logits", -1)
    assert log[1:] == [("logits", 1)]


@pytest.mark.parametrize("name", ["logits", "probs"])
def test_an_element_is_explained_from_its_own_rows(tiled, name):
    model, log = tiled
    found = large(model).explain(name, (3, 5))
    assert found.value == pytest.approx(sum(term.value for term in found.terms), rel=1e-5)
    assert rows_of(log, "logits") == TILE


@pytest.mark.parametrize("name", WIDE)
def test_rows_alone_whole_and_plain_forward_have_the_same_bits(tiled, name):
    model, _ = tiled
    whole, alone, kept = large(model)[name], large(model), model.trace(TEXT).capture()[name]
    assert same_bits(whole, kept)
    assert all(same_bits(alone.row(name, i), whole[i]) for i in range(len(TEXT)))
    plain = PlainForward(model.inputs(TEXT), model.weights)
    with torch.inference_mode():
        logits = gpt.gpt(Scope(plain), model.config).value
    assert name != "logits" or same_bits(whole, logits)


def test_probabilities_of_a_long_text_never_hold_all_logits(tiled):
    model, log = tiled
    trace = large(model)
    whole = trace["probs"]
    tile = TILE * whole.shape[1] * whole.element_size()
    assert max(n for step, n in log if step == "logits") == TILE
    assert sum(value.nbytes for value in trace._tiles.values()) <= tile
    assert same_bits(whole, torch.softmax(trace["logits"], -1))


def test_an_edited_row_is_read_as_it_was_set(tiled):
    model, _ = tiled
    trace = large(model)
    edited = large(model, edits={"logits": {(3, 1): 7.0}}, base=trace)
    assert edited.value("logits", (3, 1)) == 7.0
    assert same_bits(edited.row("logits", 2), trace.row("logits", 2))
    row = torch.softmax(edited["logits"][3], -1)
    assert torch.equal(edited.row("probs", 3), row)


def test_rows_that_an_edit_does_not_reach_are_those_of_the_base(tiled):
    model, log = tiled
    trace = large(model)
    edited = large(model, edits={"probs": {(0, 0): 0.5}}, base=trace)
    row = edited.row("logits", 1)
    assert same_bits(row, trace.row("logits", 1)) and rows_of(log, "logits") == TILE
