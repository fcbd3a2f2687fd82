"""Edited and switched traces: the right values, and nothing computed that need not be."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core.graph.trace import Trace
from core.models.model import Model
from tests.support import numpy_gpt
from tests.support.close import assert_close, same_bits
from tests.support.random_models import IDS, build

EXAMPLE = core.load("worked-example", device="cpu")
NUMBERS = st.floats(-3, 3, allow_subnormal=False)


@pytest.fixture
def trace():
    return EXAMPLE.trace(EXAMPLE.default_prompt)


@st.composite
def weight_edits(draw):
    """Up to five elements of any of the example's matrices."""
    edits: dict = {}
    for _ in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(sorted(EXAMPLE.weights)))
        index = tuple(draw(st.integers(0, size - 1)) for size in EXAMPLE.weights[name].shape)
        edits.setdefault(name, {})[index] = draw(NUMBERS)
    return edits


def edited_tensors(edits):
    """The example's weights with the edits written into plain copies."""
    tensors = {name: weight.clone() for name, weight in EXAMPLE.weights.items()}
    for name, changes in edits.items():
        for index, value in changes.items():
            tensors[name][index] = value
    return tensors


def fresh(tensors, config=EXAMPLE.config):
    model = Model("fresh", config, tensors, EXAMPLE.tokenizer, torch.device("cpu"), torch.float64)
    return model.trace(EXAMPLE.default_prompt)


def computed(monkeypatch, trace, name=None):
    """The steps computed when `name`, or everything, is asked for."""
    names, run = [], Trace._run

    def counting(self, plan, at_hand):
        names.extend(step.name for step in plan.steps)
        return run(self, plan, at_hand)

    monkeypatch.setattr(Trace, "_run", counting)
    trace.capture() if name is None else trace[name]
    return names


@settings(max_examples=60, deadline=None)
@given(weight_edits())
def test_edited_weights_equal_a_fresh_model_and_numpy(edits):
    edited = EXAMPLE.trace(EXAMPLE.default_prompt).edit(edits)
    tensors = edited_tensors(edits)
    new = fresh(tensors)
    arrays = {name: np.array(tensor.tolist()) for name, tensor in tensors.items()}
    by_hand = numpy_gpt.run(EXAMPLE.config.to_dict(), arrays, edited.ids)
    for name in edited.steps:
        assert same_bits(edited[name], new[name]), name
        if np.isfinite(by_hand[name]).all():
            np.testing.assert_allclose(edited[name].numpy(), by_hand[name], atol=1e-12, rtol=1e-9)


def test_a_step_is_set_and_what_follows_is_computed_from_it(trace):
    row = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    edited = trace.edit({"blocks.0.attn.weights": {(1, 2, None): row}})
    assert edited["blocks.0.attn.weights"][1, 2].tolist() == row.tolist()
    v = np.array(trace["blocks.0.attn.v"].tolist())
    expected = np.array(trace["blocks.0.attn.heads"].tolist())
    expected[1, 2] = row.numpy() @ v[1]
    assert_close(edited["blocks.0.attn.heads"], expected, 1e-12)


def test_a_head_is_switched_off(trace):
    edited = trace.edit({"blocks.0.attn.heads": {(1, None, None): 0.0}})
    first = trace["blocks.0.attn.heads"][0].numpy()
    W_O = trace.weights["blocks.0.attn.W_O"].numpy()
    assert_close(edited["blocks.0.attn.out"], first @ W_O[:2], 1e-12)


def test_values_of_another_prompt_are_patched_in(trace):
    other = EXAMPLE.trace("물을 물을 물을")
    patch = {"blocks.0.resid_in": {(None, None): other["blocks.0.resid_in"]}}
    patched = trace.edit(patch)
    assert same_bits(patched["logits"], other["logits"])
    assert patched.tokens == trace.tokens


def test_only_what_an_edit_reaches_is_computed(monkeypatch):
    model = build(n_layers=4)
    trace = model.trace(IDS)
    trace.capture()
    edited = trace.edit({"blocks.3.mlp.b_1": {(0,): 1.0}})
    names = computed(monkeypatch, edited)
    assert names[0] == "blocks.3.mlp.hidden"
    assert names == trace.steps[trace.steps.index("blocks.3.mlp.hidden") :]


def test_asking_for_an_untouched_step_computes_nothing(monkeypatch, trace):
    trace.capture()
    edited = trace.edit({"blocks.0.mlp.W_1": {(0, 0): 2.0}})
    assert computed(monkeypatch, edited, "blocks.0.attn.out") == []
    assert edited["blocks.0.attn.out"] is trace["blocks.0.attn.out"]


def test_what_changed_lies_downstream_of_the_edit(trace):
    edited = trace.edit({"blocks.0.attn.W_V": {(0, 0, 0): 2.0}})
    changed = {step.name for step in core.diff(trace, edited) if step.changed}
    assert changed <= edited.reached
    assert "blocks.0.attn.weights" not in edited.reached
    assert "blocks.0.attn.v" in changed and "logits" in changed


def test_earlier_tokens_are_untouched_bit_for_bit():
    trace = build().trace(IDS)
    edited = trace.edit({"blocks.0.resid_in": {(5, 3): 9.0}})
    for step in core.diff(trace, edited):
        if not step.name.endswith((".scores", ".scores_scaled")):  # not masked yet
            assert all(position >= 5 for position in step.positions), step.name
    assert not same_bits(trace["logits"][5:], edited["logits"][5:])


def test_an_edit_that_sets_the_same_value_changes_nothing(trace):
    edited = trace.edit({"embed.W_E": {(0, 0): 0.2}})
    assert not any(step.changed for step in core.diff(trace, edited))


def test_edits_add_up_and_the_later_one_wins(trace):
    once = trace.edit({"embed.W_E": {(0, 0): 5.0, (1, 1): 6.0}})
    twice = once.edit({"embed.W_E": {(0, 0): 0.2}, "blocks.0.resid_mid": {(0, 0): 1.0}})
    assert twice.weights["embed.W_E"][:2, :2].tolist() == [[0.2, 0.9], [0.8, 6.0]]
    assert twice["blocks.0.resid_mid"][0, 0] == 1.0
    back = twice.edit({"embed.W_E": {(1, 1): 0.1}})
    assert same_bits(back["embed.sum"], trace["embed.sum"])


def test_the_model_and_the_base_stay_as_they_were(trace):
    before = {name: value.clone() for name, value in trace.capture().items()}
    weights = {name: value.clone() for name, value in EXAMPLE.weights.items()}
    edits = {name: {(0,) * weight.ndim: 7.0} for name, weight in EXAMPLE.weights.items()}
    trace.edit(edits).capture()
    assert all(same_bits(before[name], trace[name]) for name in trace.steps)
    assert all(same_bits(weights[name], EXAMPLE.weights[name]) for name in weights)


def test_an_edited_element_explains_itself(trace):
    edited = trace.edit({"blocks.0.attn.scores": {(0, 2, 1): 4.0}})
    explanation = edited.explain("blocks.0.attn.scores", (0, 2, 1))
    assert (explanation.value, explanation.edited, explanation.terms) == (4.0, True, ())
    assert not edited.explain("blocks.0.attn.scores", (0, 2, 0)).edited


@pytest.mark.parametrize(
    "settings",
    [
        {"scaled": False},
        {"causal": False},
        {"residual": False},
        {"norm": "none"},
        {"norm": "rms"},
        {"norm_placement": "post"},
        {"activation": "relu"},
        {"position": "none"},
        {"position": "rotary"},
        {"position": "sinusoidal"},
    ],
    ids=str,
)
def test_a_switched_trace_equals_a_fresh_model(settings, trace):
    switched = trace.switch(**settings)
    new = core.load("worked-example", device="cpu", **settings).trace(trace.ids)
    assert switched.steps == new.steps
    assert all(same_bits(switched[name], new[name]) for name in new.steps)


def test_a_switch_computes_from_where_it_acts(monkeypatch, trace):
    trace.capture()
    names = computed(monkeypatch, trace.switch(scaled=False))
    assert names[0] == "blocks.0.attn.scores_scaled"


def test_switching_back_gives_the_same_bits(trace):
    back = trace.switch(causal=False).switch(causal=True)
    assert same_bits(back["logits"], trace["logits"])


def test_edits_survive_a_switch(trace):
    edited = trace.edit({"embed.W_E": {(0, 0): 2.0}, "ln_f.normed": {(0, 0): 1.0}})
    switched = edited.switch(norm="none")
    assert switched["embed.token"][0, 0] == 2.0
    assert "ln_f.normed" not in switched.edits


def test_a_norm_switched_on_starts_untrained():
    part_2 = core.load("worked-example", preset="part-2", device="cpu")
    switched = part_2.trace("나는 밥을").switch(norms=True)
    assert switched.weights["ln_f.gamma"].tolist() == [1, 1, 1]


def test_a_switch_that_needs_other_matrices_says_so(trace):
    with pytest.raises(core.WeightsError, match=r"blocks\.1\.attn\.W_Q is missing"):
        trace.switch(n_layers=2)


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ({"tokens.ids": {(0,): 1}}, "follow from the prompt"),
        ({"embed.onehot": {(0, 0): 1}}, "cannot be edited"),
        ({"blocks.9.attn.q": {(0, 0, 0): 1}}, "neither a weight nor a computed step"),
        ({"logits": {(0, 6): 1.0}}, "has no element"),
        ({"logits": {(0,): 1.0}}, "its shape is"),
        ({"logits": {(0, 0): math.nan}}, "cannot be set to NaN"),
        ({"logits": {(0, None): torch.zeros(5)}}, "does not fit there"),
        ({"logits": {(0, 0): torch.zeros(1)}}, "does not fit there"),
        ({"embed.W_E": {(None, 0): torch.zeros(6, 1)}}, "does not fit there"),
        ({"logits": {(0, 0): 1.0}, "probs": {(3, 0): 1.0}}, r"probs has no element \(3, 0\)"),
    ],
)
def test_an_impossible_edit_is_refused(trace, edits, message):
    with pytest.raises(core.EditError, match=message):
        trace.edit(edits)


def test_negative_indices_count_from_the_end(trace):
    edited = trace.edit({"logits": {(-1, -1): 3.0}})
    assert edited["logits"][2, 5] == 3.0
    assert edited.explain("logits", (2, 5)).edited
    assert edited.edit({"logits": {(2, -1): 4.0}}).edits == {"logits": {(2, 5): 4.0}}


@pytest.mark.parametrize(
    ("dtype", "largest"), [(torch.float32, 3.4028e38), (torch.float16, 65504.0)]
)
def test_a_number_that_the_type_cannot_hold_is_refused(dtype, largest):
    trace = build(dtype).trace(IDS)
    assert trace.edit({"embed.W_E": {(0, 0): -largest}}).weights["embed.W_E"].isfinite().all()
    for name, index in (("embed.W_E", (0, 0)), ("embed.sum", (0, 0))):
        with pytest.raises(core.EditError, match="at most"):
            trace.edit({name: {index: 2 * largest}})


def test_infinity_can_be_put_as_a_mask_does(trace):
    edited = trace.edit({"blocks.0.attn.scores_masked": {(0, 2, 1): -math.inf}})
    assert edited["blocks.0.attn.weights"][0, 2, 1] == 0


def test_the_later_of_two_overlapping_edits_wins(trace):
    """Also where the earlier edit of a whole axis is made again."""
    once = trace.edit({"embed.W_E": {(None, 0): 1.0, (2, 0): 5.0}})
    assert once.weights["embed.W_E"][:, 0].tolist() == [1, 1, 5, 1, 1, 1]
    again = once.edit({"embed.W_E": {(None, 0): 2.0}})
    assert again.weights["embed.W_E"][:, 0].tolist() == [2] * 6


def test_base_is_what_a_trace_was_made_from(trace):
    assert trace.base is None and trace.reached == set(trace.steps)
    edited = trace.edit({"embed.W_E": {(0, 0): 2.0}})
    switched = edited.switch(causal=False)
    assert (edited.base, switched.base) == (trace, edited)
    assert "blocks.0.attn.q" in edited.reached and "embed.token" not in switched.reached
    for name in set(trace.steps) - switched.reached - {"tokens.ids", "tokens.positions"}:
        assert switched[name] is edited[name], name
