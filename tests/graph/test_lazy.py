"""A trace computes what is looked at, once, and with the same bits in whatever order."""

import random
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
import torch

from core.graph import Graph, Op, PlainForward, Scope, Trace
from core.graph.op import Input
from core.models.gpt import gpt
from core.models.model import Model
from tests.support.close import same_bits
from tests.support.random_models import CONFIGS, IDS, build, random_tensors
from tests.support.subjects import SUBJECTS, example, subject_id, subject_ids, subject_model

each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)
SHAPES = ["gpt2", "llama", "post-norm-sinusoidal-relu"]


@dataclass(frozen=True)
class Counting(Op):
    """An op that writes down when it computes."""

    inner: Op
    name: str
    log: list

    def compute(self, *inputs):
        self.log.append(self.name)
        return self.inner.compute(*inputs)

    def explain(self, index, *inputs):
        return self.inner.explain(index, *inputs)

    def code(self, out, *inputs):
        return self.inner.code(out, *inputs)


def counted(name: str):
    """A model of its own and the list of the steps that it computes from now on."""
    model, graph, log = build(**CONFIGS[name]), Graph(), []
    for step in model.graph.steps.values():
        given = isinstance(step.op, Input)
        graph.steps[step.name] = (
            step if given else replace(step, op=Counting(step.op, step.name, log))
        )
    graph.weights.update(model.graph.weights)
    model.graph = graph
    return model, log


def short_of_memory(model, ids, memory: int = 2000) -> Trace:
    return Trace(model.graph, model.inputs(ids), model.weights, model.sizes(len(ids)), memory)


def ancestors(graph, name: str) -> set[str]:
    """The step and what it depends on, without what is given from outside."""
    step = graph.steps.get(name)
    if step is None or isinstance(step.op, Input):
        return set()
    return {name}.union(*(ancestors(graph, part) for part in step.inputs))


class Recording(PlainForward):
    """A plain forward whose values are written down."""

    def __init__(self, inputs, weights):
        super().__init__(inputs, weights)
        self.values = {}

    def step(self, step, inputs):
        node = super().step(step, inputs)
        self.values[step.name] = node.value
        return node


def plain_values(model, ids) -> dict[str, torch.Tensor]:
    recording = Recording(model.inputs(ids), model.weights)
    with torch.inference_mode():
        gpt(Scope(recording), model.config)
    return recording.values


def assert_same_values(values, expected, names):
    for name in names:
        assert same_bits(values[name], expected[name]), name


@each_subject
def test_full_lazy_and_plain_agree_bit_for_bit(subject):
    model, ids = subject_model(subject), subject_ids(subject)
    full = model.trace(ids).capture()
    names = list(full)
    assert names == list(model.graph.steps)
    assert_same_values(plain_values(model, ids), full, names)
    shuffled = random.Random(3).sample(names, len(names))
    assert_same_values(model.trace(ids), full, shuffled)
    assert_same_values(model.trace(ids), full, reversed(names))
    assert same_bits(model.forward(ids), full["logits"])


@each_subject
def test_recomputed_values_have_the_same_bits(subject):
    model, ids = subject_model(subject), subject_ids(subject)
    full, small = model.trace(ids).capture(), short_of_memory(model, ids, memory=1)
    rng, names = random.Random(4), list(full)
    for _ in range(2):
        assert_same_values(small, full, rng.sample(names, len(names)))


@each_subject
def test_several_steps_in_one_go(subject):
    model, ids = subject_model(subject), subject_ids(subject)
    full, names = model.trace(ids).capture(), random.Random(5).sample(model.trace(ids).steps, 4)
    found = short_of_memory(model, ids).read(names)
    assert list(found) == names
    assert_same_values(found, full, names)


def test_scores_are_computed_from_what_they_need_and_nothing_else():
    model, log = counted("gpt2")
    model.trace(IDS)["blocks.0.attn.scores"]
    norm = [f"blocks.0.ln_1.{part}" for part in ("mean", "var", "normed", "out")]
    attention = [f"blocks.0.attn.{part}" for part in ("q", "k", "scores")]
    embedding = ["embed.token", "embed.position", "embed.sum"]
    assert log == [*embedding, "blocks.0.resid_in", *norm, *attention]


@pytest.mark.parametrize("name", SHAPES)
def test_a_step_computes_its_ancestors_only(name):
    model, log = counted(name)
    for step in random.Random(6).sample(list(model.graph.steps), 12):
        log.clear()
        model.trace(IDS)[step]
        assert len(log) == len(set(log))
        assert set(log) == ancestors(model.graph, step)


def test_a_new_trace_computes_nothing():
    model, log = counted("gpt2")
    trace = model.trace(IDS)
    trace.shape("logits")
    trace.cost("logits")
    trace.step("logits")
    assert log == []


@pytest.mark.parametrize("name", SHAPES)
def test_every_step_is_computed_once_in_any_order(name):
    model, log = counted(name)
    trace = model.trace(IDS)
    for step in random.Random(7).sample(trace.steps, len(trace.steps)):
        trace[step]
        trace[step]
    assert sorted(log) == sorted(set(trace.steps) - {"tokens.ids", "tokens.positions"})


def test_capture_computes_once_and_keeps():
    model, log = counted("gpt2")
    trace = short_of_memory(model, IDS)
    trace.capture()
    assert len(log) == len(set(log)) == len(trace.steps) - 2
    log.clear()
    trace.capture()
    for step in trace.steps:
        trace[step]
    assert log == []


def test_explaining_computes_nothing_that_is_known():
    model, log = counted("gpt2")
    trace = model.trace(IDS)
    trace.capture()
    log.clear()
    trace.explain("blocks.1.attn.scores", (0, 1, 1))
    assert log == []


def test_the_same_tensor_is_handed_out_twice():
    trace = example("block").trace([0, 1, 2])
    assert trace["logits"] is trace["logits"]


def test_short_memory_recomputes_all_but_the_stream_and_the_last():
    model, log = counted("gpt2")
    trace = short_of_memory(model, IDS, memory=1)
    for step in trace.steps:
        trace[step]
    log.clear()
    trace["probs"]
    assert log == []
    trace["blocks.0.attn.scores"]
    assert "blocks.0.attn.q" in log
    assert not [name for name in log if "resid" in name or name == "embed.sum"]


def test_short_memory_keeps_the_residual_stream():
    model, log = counted("gpt2")
    trace = short_of_memory(model, IDS, memory=1)
    trace["logits"]
    log.clear()
    for step in trace.steps:
        if step == "embed.sum" or "resid" in step:
            trace[step]
    assert log == []


@pytest.mark.parametrize("memory", [1, 1000, 3000, 20_000])
def test_memory_beyond_the_stream_stays_under_the_limit(memory):
    """Alive after every look: the stream, and of the rest one value or `memory` bytes."""
    model = build(**CONFIGS["llama"])
    trace = short_of_memory(model, IDS, memory)
    stream = {step.name for step in model.graph.steps.values() if step.keep}
    given = {"tokens.ids", "tokens.positions"}
    alive = {}
    for name in random.Random(8).sample(trace.steps, len(trace.steps)):
        alive[name] = weakref.ref(trace[name])
        kept = {n: ref() for n, ref in alive.items() if ref() is not None}
        rest = [value.nbytes for n, value in kept.items() if n not in stream | given]
        assert len(rest) == 1 or sum(rest) <= memory
        del kept


def test_what_fits_is_kept():
    model, log = counted("gpt2")
    needed = sum(value.nbytes for value in model.trace(IDS).capture().values())
    log.clear()
    trace = short_of_memory(model, IDS, memory=2 * needed)
    for step in [*trace.steps, *trace.steps]:
        trace[step]
    assert len(log) == len(set(log))


@pytest.mark.parametrize("memory", [1, 3000, 10**9])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_eight_threads_get_the_same_bits(name, memory):
    model = build(**CONFIGS[name])
    expected, trace = model.trace(IDS).capture(), short_of_memory(model, IDS, memory)

    def look(seed: int) -> list[str]:
        steps = random.Random(seed).choices(list(expected), k=30)
        return [step for step in steps if not same_bits(trace[step], expected[step])]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(look, range(8))) == [[]] * 8


OVERWRITING = {
    "add_": lambda x: x.add_(1),
    "zero_": lambda x: x.zero_(),
    "item assignment": lambda x: x.__setitem__(0, 1),
    "copy_": lambda x: x.copy_(torch.ones_like(x)),
    "through a view": lambda x: x[0].fill_(3),
    "out=": lambda x: torch.add(x, 1, out=x),
}


@pytest.mark.parametrize("way", OVERWRITING)
def test_overwriting_a_step_is_an_error(way):
    """Torch writes before it complains, so this tells of the bug but does not undo it."""
    trace = build().trace(IDS)
    for name in trace.steps:
        with pytest.raises(RuntimeError, match=r"[Ii]nference"):
            OVERWRITING[way](trace[name])


@pytest.mark.parametrize("way", OVERWRITING)
def test_overwriting_a_weight_is_an_error(way):
    for weight in build().weights.values():
        with pytest.raises(RuntimeError, match=r"[Ii]nference"):
            OVERWRITING[way](weight)


def test_weights_cannot_be_replaced():
    with pytest.raises(TypeError):
        build().weights["embed.W_E"] = torch.zeros(29, 16)


def test_the_tensors_a_model_was_made_from_stay_independent():
    """Changing them afterwards must not reach the model, which holds copies."""
    model = build()
    tensors = {name: value.float() for name, value in random_tensors(model.config).items()}
    own = Model("own", model.config, tensors, model.tokenizer, model.device, model.dtype)
    for value in tensors.values():
        value.zero_()
    assert same_bits(own.forward(IDS), model.forward(IDS))


@pytest.mark.parametrize("memory", [2000, 10**9])
def test_a_row_is_that_of_the_step_and_computed_once(memory):
    model, log = counted("gpt2")
    trace = short_of_memory(model, IDS, memory)
    row = trace.row("logits", -2)
    assert same_bits(row, build(**CONFIGS["gpt2"]).trace(IDS)["logits"][-2])
    trace["blocks.0.attn.scores"], trace["blocks.1.mlp.act"]
    log.clear()
    assert same_bits(trace.row("logits", len(IDS) - 2), row) and not log
    with pytest.raises(IndexError):
        trace.row("logits", len(IDS))
