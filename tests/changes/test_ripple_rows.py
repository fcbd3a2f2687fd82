"""How much every token's row changed in every step, against plain numpy."""

import math

import numpy as np
import pytest
import torch

from core.changes import Put, Switch, align, apply, ripple
from core.graph import compare
from core.graph.op import Input
from tests.support.random_models import IDS, random_model
from tests.support.subjects import example

TOKENS = ("pos", "query")


def numbers(trace, name):
    return trace[name].numpy().astype(np.float64)


def furthest(values, axis):
    """The largest finite absolute value of each token."""
    values = np.where(np.isfinite(values), np.abs(values), 0.0)
    return values.max(axis=tuple(i for i in range(values.ndim) if i != axis))


def expected(before, after, name):
    """Largest difference of each token, and the same over the token's largest value before."""
    a, b = numbers(before, name), numbers(after, name)
    axis = next(i for i, word in enumerate(before.step(name).axes) if word in TOKENS)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(a == b, 0.0, b - a)
        rows = np.abs(gap).max(axis=tuple(i for i in range(gap.ndim) if i != axis))
        return rows, np.where(rows == 0, 0.0, rows / furthest(a, axis))


def traced(subject):
    if subject == "block":
        return example("block").trace([0, 1, 2])
    return random_model("gpt2").trace(IDS)


@pytest.mark.parametrize("subject", ["block", "gpt2"])
@pytest.mark.parametrize(
    "change",
    [
        Put("blocks.0.attn.W_Q", (0, 1, 1), 0.8),
        Put("blocks.0.attn.scores", (1, 2, 0), -3.0),
        Put("blocks.0.resid_mid", (1, None), 0.0),
        Put("embed.W_E", (1, 0), 5.0),
        Switch("mask", "off"),
        Switch("scaled", "off"),
    ],
    ids=str,
)
def test_rows_are_those_of_numpy(subject, change):
    before = traced(subject)
    after = apply(before, [change]).trace
    found = ripple(before, after)
    assert found.count
    for diff in found.diffs:
        a, b = numbers(before, diff.name), numbers(after, diff.name)
        assert diff.changed == (not np.array_equal(a, b)), diff.name
        if diff.changed:
            rows, shares = expected(before, after, diff.name)
            np.testing.assert_allclose(diff.rows, rows, rtol=1e-6, err_msg=diff.name)
            np.testing.assert_allclose(diff.relative_rows, shares, rtol=1e-6, err_msg=diff.name)
            assert diff.positions == tuple(np.flatnonzero(rows))
            assert diff.largest == pytest.approx(rows.max(), rel=1e-6)
        else:
            assert diff.rows == diff.relative_rows == ()


def test_every_computed_step_occurs_once_and_only_those_downstream_change():
    before = traced("gpt2")
    after = apply(before, [Put("blocks.1.mlp.W_1", (0, 0), 0.5)]).trace
    found = ripple(before, after)
    computed = [name for name in after.steps if not isinstance(after.step(name).op, Input)]
    assert [diff.name for diff in found.diffs] == computed
    assert {diff.name for diff in found.changed} <= after.reached
    assert found.first.name == "blocks.1.mlp.hidden"


def test_a_row_of_a_causal_model_leaves_the_rows_before_it():
    before = traced("gpt2")
    token = 5
    after = apply(before, [Put("blocks.0.resid_in", (token, 0), 3.0)]).trace
    touched = [diff for diff in ripple(before, after).changed if ".scores" not in diff.name]
    assert len(touched) > 20
    for diff in touched:
        assert not any(diff.rows[:token]), diff.name
        assert diff.rows[token] > 0 or diff.name.endswith(("attn.k", "attn.v")), diff.name


def test_a_new_token_is_infinitely_far_and_the_others_are_compared_with_their_own():
    model = random_model("gpt2")
    before, after = model.trace([3, 4, 5]), model.trace([3, 9, 4, 5])
    rows = align(before.ids, after.ids)
    assert rows == (0, None, 1, 2)
    diff = ripple(before, after, rows)["embed.sum"]
    a, b = numbers(before, "embed.sum"), numbers(after, "embed.sum")
    gap = np.abs(b[[0, 2, 3]] - a).max(axis=1)
    assert diff.rows[1] == diff.relative_rows[1] == math.inf
    assert diff.positions == (1, 2, 3)
    np.testing.assert_allclose(np.delete(diff.rows, 1), gap, rtol=1e-6)
    shares = gap / np.abs(a).max(axis=1)
    np.testing.assert_allclose(np.delete(diff.relative_rows, 1), shares, rtol=1e-6)
    token = ripple(before, after, rows)["embed.token"]
    assert token.rows == (0.0, math.inf, 0.0, 0.0)


def test_where_is_the_first_of_the_largest_in_a_wide_value():
    rng = np.random.default_rng(0)
    a = torch.tensor(rng.normal(size=(4, 7, 501)))
    b = a.clone()
    b[2, 3, 499] += 4.0
    b[1, 6, 2] -= 4.5
    b[3, 0, 0] += 1.0
    diff = compare("x", ("head", "pos", "vocab"), a, b)
    assert (diff.where, diff.count, diff.positions) == ((1, 6, 2), 3, (0, 3, 6))


def test_steps_that_are_gone_stand_where_they_were():
    before = traced("block")
    after = apply(before, [Switch("norm", "none")]).trace
    found = [diff.name for diff in ripple(before, after).diffs]
    assert found == [n for n in before.steps if not isinstance(before.step(n).op, Input)]
    back = [diff.name for diff in ripple(after, before).diffs]
    assert back == found
    gone = ripple(before, after)["blocks.0.ln_1.mean"]
    assert (gone.changed, gone.shapes) == (True, ((3,), None))
