"""What must hold in every model, whatever its weights and prompt."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.close import same_bits
from tests.support.random_models import CONFIGS, IDS, SMALL, random_model
from tests.support.subjects import SUBJECTS, subject_id, subject_trace

ids = st.lists(st.integers(0, SMALL["n_vocab"] - 1), min_size=2, max_size=SMALL["n_ctx"])
CAUSAL = [name for name, config in CONFIGS.items() if config.get("causal", True)]
a_few = settings(max_examples=25, deadline=None, derandomize=True, database=None)
each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)


def steps_of_role(trace, role):
    return [step for step in trace.graph.steps.values() if step.role == role]


def rows_until(step, value, n):
    """The part of a value that belongs to the first n tokens."""
    for axis, word in enumerate(step.axes):
        if word in ("pos", "query", "key"):
            value = value.narrow(axis, 0, n)
    return value


@each_subject
def test_attention_rows_and_probabilities_sum_to_one(subject):
    trace = subject_trace(subject)
    tolerance = 1e-15 if trace.model.dtype == torch.float64 else 1e-6
    for step in [*steps_of_role(trace, "attn.weights"), *steps_of_role(trace, "probs")]:
        weights = trace[step.name].double()
        assert (weights.sum(-1) - 1).abs().max() < 4 * tolerance
        assert weights.min() >= 0


@each_subject
def test_exactly_the_later_keys_are_masked(subject):
    trace = subject_trace(subject)
    n = len(trace)
    later = torch.ones(n, n, dtype=torch.bool).triu(1) & trace.model.config.causal
    for step in steps_of_role(trace, "attn.scores_masked"):
        masked, weights = trace[step.name], trace[step.name.replace("scores_masked", "weights")]
        assert torch.equal(masked == -torch.inf, later.expand_as(masked))
        assert torch.equal(weights == 0, later.expand_as(weights))
        scaled = trace[step.name.replace("masked", "scaled")]
        assert torch.equal(masked[~later.expand_as(masked)], scaled[~later.expand_as(scaled)])


@each_subject
def test_residual_stream_is_the_sum_of_what_was_added(subject):
    """Bit for bit; a part without a shortcut replaces the stream by its output."""
    trace, residual = subject_trace(subject), subject_trace(subject).model.config.residual
    pre = trace.model.config.norm_placement == "pre"
    for i in range(trace.model.config.n_layers):
        block = f"blocks.{i}."
        added = trace[block + "attn.out"]
        expected = trace[block + "resid_in"] + added if "attn" in residual else added
        assert same_bits(trace[block + "resid_mid"], expected)
        normed = not pre and block + "ln_1.out" in trace
        middle = trace[block + ("ln_1.out" if normed else "resid_mid")]
        if block + "mlp.out" not in trace:
            assert same_bits(trace[block + "resid_out"], middle)
            continue
        added = trace[block + "mlp.out"]
        expected = middle + added if "mlp" in residual else added
        assert same_bits(trace[block + "resid_out"], expected)


@each_subject
def test_blocks_hand_the_stream_on_unchanged(subject):
    trace = subject_trace(subject)
    stream = "embed.sum"
    for i in range(trace.model.config.n_layers):
        assert same_bits(trace[f"blocks.{i}.resid_in"], trace[stream])
        post = trace.model.config.norm_placement == "post"
        stream = f"blocks.{i}.ln_2.out" if post else f"blocks.{i}.resid_out"
        stream = stream if stream in trace else f"blocks.{i}.resid_out"


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_later_token_never_changes_an_earlier_row(name, dtype):
    model = random_model(name, dtype)
    for n_same in (1, 5, 7):
        ids = [*IDS[:n_same], *(7 + i for i in IDS[n_same:])]
        one, other = model.trace(IDS), model.trace(ids)
        for step in model.graph.steps.values():
            before = rows_until(step, one[step.name], n_same)
            after = rows_until(step, other[step.name], n_same)
            assert same_bits(before, after), step.name


@a_few
@given(st.sampled_from(CAUSAL), ids, st.data())
def test_no_prompt_lets_the_future_in(name, prompt, data):
    n_same = data.draw(st.integers(1, len(prompt) - 1))
    rest = data.draw(st.lists(st.integers(0, 28), min_size=(k := len(prompt) - n_same), max_size=k))
    model = random_model(name)
    one, other = model.forward(prompt), model.forward([*prompt[:n_same], *rest])
    assert same_bits(one[:n_same], other[:n_same])


def test_without_a_mask_the_future_does_get_in():
    """Shows that the tests above can fail."""
    model = random_model("no-residual-unscaled-not-causal")
    one, other = model.forward(IDS), model.forward([*IDS[:-1], 7])
    assert not torch.equal(one[0], other[0])


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "no-blocks"])
def test_later_tokens_do_see_earlier_ones(name):
    model = random_model(name)
    one, other = model.forward(IDS), model.forward([7, *IDS[1:]])
    assert not torch.equal(one[-1], other[-1])


@pytest.mark.parametrize("name", CONFIGS)
def test_a_head_sees_positions_unless_the_model_has_none(name):
    """Swapping two earlier tokens changes what the last token collects, or must not."""
    model = random_model(name, torch.float64)
    one, other = model.forward([3, 1, 4]), model.forward([1, 3, 4])
    same = torch.allclose(one[-1], other[-1], rtol=0, atol=1e-12)
    has_no_position = model.config.position == "none" and model.config.n_layers == 1
    assert same == (has_no_position or name == "no-blocks")
