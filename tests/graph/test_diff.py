"""Two traces compared: nothing where nothing changed, and exact counts where something did."""

import math

import numpy as np
import pytest
import torch

import core
from core.graph import Pair, compare, compare_all
from tests.support.random_models import CONFIGS, IDS, random_model
from tests.support.subjects import SUBJECTS, example, subject_id, subject_ids, subject_model

INF, NAN = math.inf, math.nan
AXES = ("pos", "d_model")


def compared(a, b, axes=AXES):
    as_tensor = [None if x is None else torch.tensor(x, dtype=torch.float64) for x in (a, b)]
    return compare("x", axes, *as_tensor)


@pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)
def test_the_same_prompt_changes_nothing(subject):
    model, ids = subject_model(subject), subject_ids(subject)
    diffs = core.diff(model.trace(ids), model.trace(ids))
    assert [step.name for step in diffs] == list(model.graph.steps)
    for step in diffs:
        assert (step.changed, step.count, step.largest, step.relative) == (False, 0, 0.0, 0.0)
        assert (step.where, step.positions) == (None, ())


@pytest.mark.parametrize("name", [n for n, c in CONFIGS.items() if c.get("causal", True)])
def test_another_last_token_changes_only_the_last_position(name):
    """Raw scores are the exception: before the mask every query meets the new key."""
    model = random_model(name)
    last = len(IDS) - 1
    unmasked = ("attn.scores", "attn.scores_scaled")
    for step in core.diff(model.trace(IDS), model.trace([*IDS[:-1], 7])):
        if step.name == "tokens.positions" or step.name == "embed.position":
            assert not step.changed
        elif step.name.endswith(unmasked):
            assert step.positions == tuple(range(len(IDS)))
        elif step.changed:
            assert step.positions == (last,), step.name
        else:
            assert step.name == "probs"  # saturated: the last row is all on one token


def test_counts_are_exact():
    """나는 밥을 먹었다 -> … 물을: rows [0.4 0.3 0.9] and [0.5 0.5 0.2] of the embedding."""
    model = example("block")
    diffs = {step.name: step for step in core.diff(model.trace([0, 1, 2]), model.trace([0, 1, 3]))}
    ids, onehot, token = (diffs[n] for n in ("tokens.ids", "embed.onehot", "embed.token"))
    assert (ids.count, ids.largest, ids.where) == (1, 1.0, (2,))
    assert (onehot.count, onehot.largest, onehot.where) == (2, 1.0, (2, 2))
    assert (token.count, token.where) == (3, (2, 2))
    assert token.largest == pytest.approx(0.7, abs=1e-15)
    assert token.relative == pytest.approx(0.7 / 0.9, abs=1e-15)
    assert diffs["blocks.0.attn.scores"].count == 2 * (3 + 2)
    assert diffs["blocks.0.attn.weights"].count == 2 * 3


def test_a_common_prefix_counts_the_changed_elements():
    model = random_model("gpt2")
    one, other = model.trace(IDS), model.trace([*IDS[:5], 7, 8, 10])
    for step in core.diff(one, other):
        expected = int((one[step.name] != other[step.name]).sum())
        assert step.count == expected, step.name
    assert step.name == "probs"


def test_steps_that_only_one_trace_has():
    full, bare = example("block").trace([0]), example("part-1").trace([0])
    diffs = core.diff(full, bare)
    assert [step.name for step in diffs] == full.steps
    missing = [step for step in diffs if step.shapes[1] is None]
    assert [step.name for step in missing] == [n for n in full.steps if n not in bare.steps]
    for step in missing:
        assert (step.changed, step.largest, step.relative) == (True, INF, INF)
    backwards = core.diff(bare, full)
    assert [step.name for step in backwards][: len(bare.steps)] == bare.steps
    assert all(step.shapes[0] is None for step in backwards[len(bare.steps) :])
    assert len(backwards) == len(full.steps)


def test_prompts_of_different_length_differ_in_shape():
    model = example("block")
    diffs = core.diff(model.trace([0, 1]), model.trace([0, 1, 2]))
    assert all(step.changed and step.largest == INF for step in diffs)
    assert diffs[0].shapes == ((2,), (3,))


def test_equal_infinities_and_nans_are_no_change():
    assert not compared([[INF, -INF, NAN]], [[INF, -INF, NAN]]).changed


@pytest.mark.parametrize("a, b", [(0.0, -INF), (-INF, 0.0), (INF, -INF), (NAN, 0.0), (0.0, NAN)])
def test_an_infinity_or_nan_against_anything_else_is_infinitely_far(a, b):
    found = compared([[1.0, a]], [[1.0, b]])
    assert (found.changed, found.largest, found.where, found.count) == (True, INF, (0, 1), 1)
    assert found.relative == INF


def test_a_masked_row_is_compared_by_what_is_finite():
    found = compared([[2.0, -INF]], [[1.0, -INF]])
    assert (found.largest, found.relative, found.where, found.count) == (1.0, 0.5, (0, 0), 1)


def test_relative_is_to_the_largest_of_the_first():
    assert compared([[1.0, -8.0]], [[3.0, -8.0]]).relative == 0.25
    assert compared([[0.0, 0.0]], [[0.0, 1e-9]]).relative == INF


def test_positions_are_those_of_the_token_axis():
    a, b = torch.zeros(2, 3, 3), torch.zeros(2, 3, 3)
    b[1, 2, 0] = b[0, 0, 1] = 1
    attention = compare("x", ("head", "query", "key"), a, b)
    assert attention.positions == (0, 2)
    values = compare("x", ("kv_head", "pos", "d_head"), a, b)
    assert values.positions == (0, 2)
    assert compare("x", ("d_model", "d_mlp", "head"), a, b).positions == ()


def test_the_smallest_difference_counts():
    found = compared([[1.0]], [[math.nextafter(1.0, 2)]])
    assert found.changed
    assert found.largest == 2**-52


SPECIAL = [0.0, -0.0, 1.0, -1.5, 3e38, -3e38, 1e-45, INF, -INF, NAN]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("seed", range(60))
def test_any_numbers_against_numpy(seed, dtype):
    """Also infinities, NaN, numbers whose difference overflows, and those next to nothing."""
    rng = np.random.default_rng(seed)
    a, b = (torch.tensor(rng.choice(SPECIAL, (4, 3))).to(dtype) for _ in range(2))
    b = torch.where(torch.tensor(rng.random((4, 3)) < rng.random()), a, b)
    found = compare("x", AXES, a, b)
    one, other = a.double().numpy(), b.double().numpy()
    with np.errstate(invalid="ignore"):
        gap = np.where(one == other, 0.0, np.abs(one - other))
    gap = np.where(np.isnan(one) & np.isnan(other), 0.0, np.where(np.isnan(gap), INF, gap))
    assert (found.changed, found.count) == (bool(gap.any()), np.count_nonzero(gap))
    assert found.positions == tuple(np.flatnonzero(gap.any(axis=1)))
    if found.changed:
        in_type = gap.max() <= torch.finfo(torch.promote_types(dtype, torch.float32)).max
        assert found.largest == pytest.approx(gap.max(), rel=1e-6) or not in_type
        assert gap[found.where] > 0


def test_a_difference_that_the_type_cannot_hold_is_still_a_number():
    found = compare("x", AXES, torch.tensor([[3e38]]), torch.tensor([[-3e38]]))
    assert found.largest == pytest.approx(6e38, rel=1e-6)
    assert found.relative == pytest.approx(2.0)


def test_whole_numbers_are_compared_exactly():
    """Two token IDs that float32 could not tell apart."""
    found = compare("x", ("pos",), torch.tensor([5, 2**24]), torch.tensor([5, 2**24 + 1]))
    assert (found.largest, found.where, found.count, found.positions) == (1.0, (1,), 1, (1,))
    bytes_ = torch.tensor([[0, 255]], dtype=torch.uint8), torch.tensor([[1, 0]], dtype=torch.uint8)
    assert compare("x", AXES, *bytes_).largest == 255.0


def test_zero_and_minus_zero_are_the_same_number():
    assert not compared([[0.0]], [[-0.0]]).changed


def test_nan_in_both_is_no_change_beside_one():
    found = compared([[NAN, 1.0, INF]], [[NAN, 2.0, INF]])
    assert (found.largest, found.relative, found.where, found.count) == (1.0, 1.0, (0, 1), 1)


def test_float32_is_compared_with_itself_and_with_float64():
    a = torch.tensor([[0.1]])
    assert not compare("x", AXES, a, a.double()).changed
    assert compare("x", AXES, a, torch.tensor([[0.1]], dtype=torch.float64)).largest < 2e-9


def test_steps_compared_at_once_differ_as_they_do_one_by_one():
    """Of the same shape, with and without infinities, -0 alone in a row; of others; equal; gone."""
    rng = np.random.default_rng(0)
    values = [torch.tensor(rng.choice(SPECIAL, (4, 3))) for _ in range(5)]
    values[0][2] = -0.0
    shapes = (2, 4, 3), (2, 4, 3), (4,), ()
    values += [torch.tensor(rng.normal(size=shape)) for shape in shapes]
    pairs = [
        Pair(f"x{i}", ("head", *AXES)[3 - a.ndim :], a, a + torch.tensor(rng.random(a.shape)))
        for i, a in enumerate(values)
    ]
    pairs += [Pair("same", AXES, *values[:1] * 2), Pair("gone", AXES, values[0], None)]
    found = compare_all(pairs)
    assert found == [compare(pair.name, pair.axes, pair.a, pair.b) for pair in pairs]
    assert [diff.changed for diff in found] == [True] * 9 + [False, True]
    assert found[0].relative_rows[2] == INF
