"""Whatever is changed, the result is that of a new model with the changed numbers in it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.changes import Changes, apply
from tests.support import numpy_gpt
from tests.support.close import same_bits
from tests.support.edited_states import in_float64, states
from tests.support.random_models import IDS, random_model
from tests.support.subjects import PRESETS, example

RANDOM = ("gpt2", "llama", "post-norm-sinusoidal-relu", "no-residual-unscaled-not-causal")
thorough = settings(max_examples=20, deadline=None, derandomize=True, database=None)
tokens = st.lists(st.integers(0, 5), min_size=1, max_size=6)


def assert_near(actual, expected, name):
    """At 1e-12 of the largest number, or of 1: edited numbers may cancel to almost nothing."""
    finite = np.isfinite(expected)
    assert np.array_equal(actual[~finite], expected[~finite], equal_nan=True), name
    largest = np.abs(expected[finite]).max(initial=1.0)
    assert np.abs(actual[finite] - expected[finite]).max(initial=0.0) <= 1e-12 * largest, name


@thorough
@given(st.data())
@pytest.mark.parametrize("preset", PRESETS)
def test_worked_example_equals_a_fresh_model_and_numpy(preset, data):
    model, ids = example(preset), data.draw(tokens)
    state = data.draw(states(model, len(ids)))
    applied = apply(model.trace(ids), state.changes)
    fresh = state.fresh(model).trace(ids).edit(state.steps)
    with np.errstate(all="ignore"):  # a variance can be set to -1, which has no root
        by_hand = numpy_gpt.run(state.config, in_float64(state.weights), ids, state.steps)
    assert applied.unfit == ()
    assert applied.trace.steps == list(by_hand)
    for name, value in by_hand.items():
        assert same_bits(applied.trace[name], fresh[name]), name
        assert_near(applied.trace[name].numpy(), value, name)


@thorough
@given(st.data())
@pytest.mark.parametrize("name", RANDOM)
def test_random_models_equal_a_fresh_model(name, data):
    model = random_model(name, torch.float32)
    state = data.draw(states(model, len(IDS)))
    applied = apply(model.trace(IDS), state.changes)
    fresh = state.fresh(model).trace(IDS).edit(state.steps)
    assert applied.unfit == () and applied.trace.steps == fresh.steps
    for step in fresh.steps:
        assert same_bits(applied.trace[step], fresh[step]), step


@thorough
@given(st.data())
def test_a_change_that_is_removed_or_switched_off_leaves_nothing_behind(data):
    """The other changes give what they would have given without it, bit for bit."""
    model = example("block")
    before = model.trace([0, 1, 2])
    before.capture()
    state = data.draw(states(model, 3))
    changes = Changes().with_change(*state.changes)
    if not changes:
        return
    gone = data.draw(st.integers(0, len(changes) - 1))
    apply(before, changes.in_force).trace.capture()
    off = apply(before, changes.toggled(gone).in_force)
    removed = apply(before, changes.without(gone).in_force)
    anew = apply(model.trace([0, 1, 2]), changes.without(gone).in_force)
    for step in anew.trace.steps:
        assert same_bits(off.trace[step], anew.trace[step]), step
        assert same_bits(removed.trace[step], anew.trace[step]), step
    assert apply(before, ()).trace is before


@thorough
@given(st.data())
def test_weights_of_the_model_are_never_written(data):
    model = random_model("gpt2", torch.float32)
    own = {name: weight.numpy().copy() for name, weight in model.weights.items()}
    places = {name: weight.data_ptr() for name, weight in model.weights.items()}
    state = data.draw(states(model, len(IDS)))
    changed = apply(model.trace(IDS), state.changes).trace
    changed.capture()
    edited = {change.name for change in state.changes if hasattr(change, "name")}
    for name, weight in model.weights.items():
        assert weight.data_ptr() == places[name] and np.array_equal(weight.numpy(), own[name])
        same = changed.weights.get(name)
        if name not in edited and same is not None and same.shape == weight.shape:
            assert same is weight, f"{name} was copied"
