"""What an edit costs, counted in op.compute; and edits of many people at once."""

import random
import threading

import pytest
import torch

from core.graph.op import Op
from core.graph.ops import Softmax
from tests.support.close import same_bits
from tests.support.random_models import IDS, build

LAYERS = 5


@pytest.fixture
def calls(monkeypatch):
    """The name of every op that computes a step from here on."""
    found, inside = [], []

    def watch(op):
        compute = op.compute

        def counted(self, *inputs):
            if not inside:  # an op may compute its heads through itself
                found.append(type(self).__name__)
            inside.append(self)
            try:
                return compute(self, *inputs)
            finally:
                inside.pop()

        monkeypatch.setattr(op, "compute", counted)

    for op in kinds(Op):
        if "compute" in vars(op):
            watch(op)
    return found


def kinds(op):
    return [kind for sub in op.__subclasses__() for kind in (sub, *kinds(sub))]


@pytest.fixture
def baseline():
    trace = build(n_layers=LAYERS).trace(IDS)
    trace.capture()
    return trace


def after(trace, names):
    """The steps that read one of these, directly or through others."""
    found = set(names)
    for name, step in trace.graph.steps.items():
        if found.intersection(step.inputs):
            found.add(name)
    return found - set(trace.weights)


@pytest.mark.parametrize(
    ("place", "first", "count"),
    [
        ("blocks.3.mlp.W_1", "blocks.3.mlp.hidden", 4 + 24 + 6),
        ("blocks.3.mlp.b_2", "blocks.3.mlp.out", 2 + 24 + 6),
        ("blocks.4.attn.W_O", "blocks.4.attn.out", 10 + 6),
        ("logits", "logits", 2),
    ],
)
def test_exactly_what_lies_downstream_is_computed(calls, baseline, place, first, count):
    """Nothing of blocks 0 to 2 for an edit in block 3: the counts are read off the list of steps.

    4 steps from the hidden layer to the end of its block, 24 in a whole block, 6 after the last.
    """
    index = (0,) * len(baseline.shape(place))
    calls.clear()
    edited = baseline.edit({place: {index: 0.5}})
    assert calls == []  # nothing before somebody looks
    values = edited.read([name for name in edited.steps if name in after(edited, {first})])
    assert len(calls) == len(values) == count
    assert calls == [type(edited.step(name).op).__name__ for name in values]
    calls.clear()
    for name in baseline.steps:
        assert name in values or edited[name] is baseline[name] or name.startswith("tokens.")
    assert calls == []


def test_a_switch_computes_from_the_first_step_that_it_changes(calls, baseline):
    calls.clear()
    baseline.switch(residual=("attn",))["logits"]
    assert calls[:2] == ["Same", "Same"]  # resid_out, and where it enters the next block
    assert len(calls) == 1 + 4 * 24 + 5


def test_removing_an_edit_computes_nothing(calls, baseline):
    baseline.edit({"embed.W_E": {(3, 0): 4.0}}).capture()
    calls.clear()
    assert all(baseline[name] is not None for name in baseline.steps)
    assert calls == []


def test_a_large_trace_begins_at_the_stream_that_it_keeps(calls):
    """Where only the residual stream is kept, an edit in the last block needs no block before."""
    model = build(n_layers=LAYERS)
    small = type(model.trace(IDS)).__mro__[1]
    trace = small(model.graph, model.inputs(IDS), model.weights, model.sizes(len(IDS)), memory=1)
    trace["logits"]
    edited = small(
        model.graph,
        model.inputs(IDS),
        model.weights,
        model.sizes(len(IDS)),
        memory=1,
        edits={"blocks.4.mlp.W_2": {(0, 0): 1.0}},
        base=trace,
    )
    calls.clear()
    edited["logits"]
    assert len(calls) == 6 + 2 + 5  # ln_2 and the MLP up to W_2 again, W_2 and the sum, the end


@pytest.mark.parametrize("token", [0, 3, len(IDS) - 1])
@pytest.mark.parametrize("step", ["embed.sum", "blocks.1.resid_mid", "blocks.4.mlp.act"])
def test_rows_before_an_edited_token_keep_their_bits(baseline, token, step):
    edited = baseline.edit({step: {(token, None): 0.25}})
    for name in baseline.steps:
        axes, old, new = baseline.step(name).axes, baseline[name], edited[name]
        if name.startswith("tokens.") or name.endswith((".scores", ".scores_scaled")):
            continue  # raw scores meet every key; the mask comes after
        axis = next(i for i, word in enumerate(axes) if word in ("pos", "query"))
        assert same_bits(old.narrow(axis, 0, token), new.narrow(axis, 0, token)), name
    assert not same_bits(baseline["logits"][token:], edited["logits"][token:])


def test_edits_of_many_people_at_once_never_mix():
    """Threads edit one shared trace, of which nothing is computed yet."""
    model = build(n_layers=2)
    rng = random.Random(0)
    names = [name for name in model.weights if name.endswith(("W_E", "W_Q", "W_1", "gamma"))]

    def some_edits():
        name = rng.choice(names)
        index = tuple(rng.randrange(n) for n in model.weights[name].shape)
        row = (rng.randrange(len(IDS)), None)
        return {name: {index: rng.uniform(-2, 2)}, "blocks.1.resid_in": {row: rng.uniform(-2, 2)}}

    everybody = [some_edits() for _ in range(24)]
    alone = [model.trace(IDS).edit(edits)["probs"] for edits in everybody]
    untouched = model.trace(IDS)["probs"]
    shared, together = model.trace(IDS), [None] * len(everybody)
    start = threading.Barrier(len(everybody))

    def work(i):
        start.wait()
        edited = shared.edit(everybody[i])
        edited.capture()
        together[i] = edited["probs"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(everybody))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same_bits(a, b) for a, b in zip(alone, together, strict=True))
    assert same_bits(shared["probs"], untouched)
    assert len({value.numpy().tobytes() for value in together}) == len(everybody)


def test_softmax_of_an_edited_row_does_not_touch_the_others(baseline):
    edited = baseline.edit({"blocks.0.attn.scores_masked": {(1, 4, 2): 3.0}})
    old, new = baseline["blocks.0.attn.weights"], edited["blocks.0.attn.weights"]
    differs = (old != new).any(-1)
    assert differs.nonzero().tolist() == [[1, 4]]
    by_hand = Softmax().compute(edited["blocks.0.attn.scores_masked"][1, 4])
    assert torch.allclose(new[1, 4], by_hand)
