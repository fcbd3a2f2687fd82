"""What is marked as changed is exactly what differs, and lies downstream; compared by numpy."""

import math
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.changes import Put, Switch, align, apply, ripple, shared
from core.graph.op import Input
from tests.support.edited_states import states
from tests.support.random_models import IDS, random_model
from tests.support.subjects import example

TOKENS = ("pos", "query", "key")
thorough = settings(max_examples=40, deadline=None, derandomize=True, database=None)
tokens = st.lists(st.integers(0, 5), min_size=1, max_size=6)


def values(trace, name):
    return trace[name].numpy().astype(np.float64) if name in trace else None


def differing(a, b):
    """Where two arrays differ; NaN is like NaN."""
    return (a != b) & ~(np.isnan(a) & np.isnan(b))


def downstream(model_steps, changed):
    """The steps that come after these, by walking the graph forwards."""
    found = set()
    for name, step in model_steps.items():
        if name in changed or found.intersection(step.inputs) or changed.intersection(step.inputs):
            found.add(name)
    return found


def computed(trace):
    return [name for name in trace.steps if not isinstance(trace.step(name).op, Input)]


@thorough
@given(st.data())
def test_same_text_bit_for_bit(data):
    model = random_model("gpt2", torch.float32) if data.draw(st.booleans()) else example("block")
    ids = IDS if model.config.n_vocab > 6 else data.draw(tokens)
    before = model.trace(ids)
    state = data.draw(states(model, len(ids)))
    after = apply(before, state.changes).trace
    found = ripple(before, after)
    gone = [name for name in computed(before) if name not in after]
    names = [diff.name for diff in found.diffs]
    assert [name for name in names if name in after] == computed(after)
    assert len(names) == len(computed(after)) + len(gone) and set(gone) <= set(names)
    for diff in found.diffs:
        a, b = values(before, diff.name), values(after, diff.name)
        if a is None or b is None or a.shape != b.shape:
            assert diff.changed and diff.largest == math.inf
            continue
        differs = differing(a, b)
        assert (diff.changed, diff.count) == (differs.any(), differs.sum()), diff.name
        if diff.changed:
            with np.errstate(invalid="ignore", over="ignore"):
                gaps = np.where(differs, np.abs(a - b), 0.0)
            gaps = np.where(np.isnan(gaps), np.inf, gaps)
            assert diff.largest == pytest.approx(gaps.max(), rel=1e-6)
            assert gaps[diff.where] == pytest.approx(gaps.max(), rel=1e-6)
    changed = {diff.name for diff in found.changed}
    assert found.count == len(changed)
    assert found.first == (found.changed[0] if changed else None)
    assert changed <= reach(state, before, after) | set(gone)


def reach(state, before, after):
    """What can have changed: all steps that are done otherwise, hold other numbers, or follow."""
    edited = {change.name for change in state.changes if isinstance(change, Put)}
    switched = {
        name
        for name, step in after.graph.steps.items()
        if name not in before or done(before.step(name)) != done(step)
    }
    joined = {name for name, w in after.weights.items() if w is not before.weights.get(name)}
    return downstream(after.graph.steps, edited | switched | joined)


def done(step):
    return step.op, step.inputs


@thorough
@given(tokens, tokens)
def test_two_texts_token_by_token(one, other):
    model = example("block")
    before, after = model.trace(one), model.trace(other)
    rows = align(one, other)
    found = ripple(before, after, rows)
    here = [i for i, row in enumerate(rows) if row is not None]
    there = [row for row in rows if row is not None]
    new = tuple(i for i, row in enumerate(rows) if row is None)
    assert found.new == new
    for diff in found.diffs:
        a, b = values(before, diff.name), values(after, diff.name)
        axes = after.step(diff.name).axes
        for axis, word in enumerate(axes):
            if word in TOKENS:
                a, b = a.take(there, axis), b.take(here, axis)
        differs = differing(a, b)
        own = next(axis for axis, word in enumerate(axes) if word in TOKENS)
        moved = differs.any(axis=tuple(i for i in range(differs.ndim) if i != own))
        assert diff.count == differs.sum(), diff.name
        assert diff.positions == tuple(sorted({*np.array(here, int)[moved], *new})), diff.name
        assert diff.changed == bool(differs.any() or new), diff.name


def test_a_swap_without_positions_moves_rows_and_changes_nothing_in_the_embedding():
    model = example("block").switch(position="none")
    before, after = model.trace([0, 1, 2]), model.trace([1, 0, 2])
    found = ripple(before, after, align(before.ids, after.ids))
    assert found.rows == (1, 0, 2)
    assert not found["embed.sum"].changed and found.first.name == "blocks.0.attn.scores_masked"


def test_where_is_a_place_of_the_second_text():
    model = example("block")
    before, after = (
        model.trace([0, 1, 2]),
        model.trace([3, 0, 1, 2]).edit({"embed.token": {(2, 1): 9.0}}),
    )
    diff = ripple(before, after, align(before.ids, after.ids))["embed.token"]
    assert (diff.where, diff.count, diff.positions) == ((2, 1), 1, (0, 2))
    assert diff.largest == pytest.approx(9.0 - 0.1, abs=1e-15)


def test_steps_that_only_one_has():
    before = example("block").trace([0, 1, 2])
    after = apply(before, [Switch("norm", "none"), Switch("position", "rotary")]).trace
    found = ripple(before, after)
    assert "blocks.0.attn.q_rotated" in found and "embed.position" in found
    for name in ("blocks.0.attn.q_rotated", "embed.position", "ln_f.out"):
        assert found[name].changed and None in found[name].shapes
    back = ripple(after, before)
    assert {d.name for d in back.diffs} == {d.name for d in found.diffs}


def test_shared_steps_are_not_computed_to_be_compared(monkeypatch):
    """A change in the last block costs one block, also of the comparison."""
    model = random_model("gpt2")
    before = model.trace(IDS)
    before.capture()
    asked = []
    read = type(before).read

    def watched(self, names):
        names = list(names)
        asked.extend(names)
        return read(self, names)

    monkeypatch.setattr(type(before), "read", watched)
    after = apply(before, [Put("blocks.1.mlp.W_2", (0, 0), 9.0)]).trace
    found = ripple(before, after)
    assert found.first.name == "blocks.1.mlp.out" and found.count == 2 + 6
    assert not [name for name in asked if name.startswith("blocks.0.")]


def test_two_traces_that_have_nothing_to_do_with_each_other():
    one, other = example("part-1").trace([0, 1]), example("part-2").trace([0, 1])
    found = ripple(one, other)
    assert not found["embed.sum"].changed and found["blocks.0.attn.q"].changed


def test_the_same_number_again_changes_nothing():
    before = example("block").trace([0, 1, 2])
    found = ripple(before, apply(before, [Put("embed.W_E", (0, 0), 0.2)]).trace)
    assert (found.count, found.first, found.changed) == (0, None, ())
    assert len(found.diffs) == len(before.steps) - 2


def relative(before, after, name, n):
    """The largest difference of the first tokens, over their largest finite value before."""
    parts = (slice(n) if word in TOKENS else slice(None) for word in before.step(name).axes)
    a, b = values(before, name)[tuple(parts)], values(after, name)
    with np.errstate(invalid="ignore"):
        gap = np.where(a == b, 0.0, np.abs(a - b)).max()
    return gap / (np.abs(a[np.isfinite(a)]).max() or 1.0)


@pytest.mark.parametrize("subject, limit", [("block", 1e-12), ("gpt2", 1e-6)])
@pytest.mark.parametrize("times", [None, 0.2, 50.0])
def test_what_another_length_rounds_otherwise_is_told_apart(subject, limit, times):
    """A change as small as rounding stands in for it, since not every processor rounds alike."""
    model = example("block") if subject == "block" else random_model("gpt2")
    ids = [0, 1, 2] if subject == "block" else IDS
    n, name = len(ids) - 1, "blocks.0.resid_mid"
    before, after = model.trace(ids), model.trace(ids[:n])
    if times:
        where = int(before[name][0].abs().argmax())
        largest = before[name][:n].abs().max().item()
        near = after.value(name, (0, where)) + times * limit * largest
        after = after.edit({name: {(0, where): near}})
    found = ripple(before, after, align(before.ids, after.ids))
    sizes = {diff.name: relative(before, after, diff.name, n) for diff in found.diffs}
    assert {d.name for d in found.changed} == {k for k, size in sizes.items() if size}
    assert {d.name for d in found.rounded} == {k for k, size in sizes.items() if 0 < size < limit}
    assert (name in {d.name for d in found.rounded}) is (times == 0.2) or not times
    if times is None:
        assert found.first is None and found.rounded == found.changed
    if times == 50.0:
        assert found.first.name == name


def test_in_a_text_of_the_same_length_nothing_is_called_rounding():
    before = example("block").trace([0, 1, 2])
    old = before.value("blocks.0.resid_mid", (0, 0))
    found = ripple(before, before.edit({"blocks.0.resid_mid": {(0, 0): old * (1 + 4e-16)}}))
    assert found.count and not found.rounded and found.first.name == "blocks.0.resid_mid"


def test_a_token_that_is_new_is_no_rounding():
    model = example("block")
    before, after = model.trace([0, 1]), model.trace([0, 1, 2])
    found = ripple(before, after, align(before.ids, after.ids))
    assert found.count and not found.rounded and found.first.name == "embed.onehot"


def test_blocks_compared_together_differ_as_they_do_one_by_one(monkeypatch):
    before = random_model("gpt2", torch.float32).trace(IDS)
    after = apply(before, [Put("blocks.0.attn.W_Q", (0, 1, 2), 0.7)]).trace
    together = ripple(before, after)
    monkeypatch.setattr(import_module("core.changes.ripple"), "TOGETHER", 0)
    assert together == ripple(before, after)
    assert together.count > 10


def test_what_is_shared_is_the_very_same_tensor():
    before = example("block").trace([0, 1, 2])
    after = apply(before, [Put("blocks.0.attn.W_Q", (0, 1, 1), 5.0)]).trace
    same = shared(before, after)
    assert [n for n in computed(before) if before[n] is after[n]] == [
        n for n in computed(before) if n in same
    ]
    assert "blocks.0.attn.k" in same and "blocks.0.attn.q" not in same
    assert not shared(before, after, (0, None, 1))
