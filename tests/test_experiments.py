"""Each ready experiment shows what its text says: computed in plain numpy, and met by the engine.

What the text claims is asserted on numpy's values of the state before and after, with the change
made by hand. That the engine's trace of the experiment's own link has those values, another test
says.
"""

import itertools
from functools import cache

import numpy as np
import pytest

import core
from core.changes import apply, decode, ripple
from core.experiments import BY_KEY, EXPERIMENTS
from tests.support import numpy_gpt
from tests.support.close import as_float64, assert_close

BLOCK = "blocks.0."
LAST = -1


@cache
def model(key, preset):
    return core.load(key, preset=preset) if preset else core.load(key)


def given(key, prompt=None, was=False):
    """What an experiment's model and text are, for numpy: config, weights, IDs."""
    experiment = BY_KEY[key]
    its = model(experiment.model, experiment.preset)
    weights = {name: as_float64(weight) for name, weight in its.weights.items()}
    text = prompt or (experiment.was if was else experiment.prompt)
    return its.config.to_dict(), weights, its.tokenizer.encode(text)


def run(key, prompt=None, was=False, edited=(), steps=None, **settings):
    """All steps in numpy; edited: weights by name with an index and what is put there.

    steps: elements of steps that are set, as `numpy_gpt.run` takes them.
    """
    config, weights, ids = given(key, prompt, was)
    for name, index, value in edited:
        weights[name] = weights[name].copy()
        weights[name][index] = value
    return numpy_gpt.run(config | settings, weights, ids, steps)


@cache
def compared(key):
    """The engine's traces before and after, of what the experiment's link says."""
    experiment = BY_KEY[key]
    its = model(experiment.model, experiment.preset)
    before = its.trace(experiment.was or experiment.prompt)
    applied = apply(its.trace(experiment.prompt), decode(experiment.state()["edits"]).in_force)
    assert not applied.unfit
    return before, applied.trace


def assert_met(key, before, after, names, tolerance=1e-12):
    """The engine's traces of an experiment are numpy's."""
    for trace, expected in zip(compared(key), (before, after), strict=True):
        for name in names:
            assert_close(trace[name], expected[name], tolerance, name)


def token_id(key, text):
    (found,) = given(key, text)[2]
    return found


def after_last(values):
    """The probabilities after the last token."""
    return values["probs"][LAST]


def top(key, values):
    its = model(BY_KEY[key].model, BY_KEY[key].preset)
    return its.tokenizer.token_text(int(after_last(values).argmax()))


def shares(p):
    return p / p.sum()


def test_keys_are_unique_and_links_are_complete():
    assert len(BY_KEY) == len(EXPERIMENTS) >= 12
    for experiment in EXPERIMENTS:
        state = experiment.state()
        assert experiment.changes or experiment.was, experiment.key
        assert decode(state["edits"]).in_force == experiment.changes
        assert {"model", "prompt", "layer", "head", "token"} <= set(state)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.key)
def test_something_to_see_and_nothing_that_does_not_fit(experiment):
    before, after = compared(experiment.key)
    layer, head, token = experiment.at
    config = after.model.config
    assert layer < config.n_layers and head < config.n_heads and token < len(after)
    if experiment.key != "swap_without":
        assert ripple(before, after).count


def test_twins_are_told_apart_by_their_place_alone():
    row = given("twins")[1]["embed.W_E"][0]
    before, after = run("twins"), run("twins", edited=[("embed.W_E", 1, row)])
    token, place = after["embed.token"], after["embed.position"]
    assert (token[0] == token[1]).all() and (before["embed.token"][1] != token[1]).any()
    np.testing.assert_allclose(
        after["embed.sum"][1] - after["embed.sum"][0], place[1] - place[0], atol=1e-15
    )
    alone = run("twins", edited=[("embed.W_E", 1, row)], position="none", causal=False)
    assert_close(alone["probs"][0], alone["probs"][1], 1e-15)
    assert_met("twins", before, after, ["embed.token", "embed.sum", "probs"])


def test_swapped_words_take_their_new_place_along():
    before, after = run("swap_with", was=True), run("swap_with")
    for old, new in ((0, 1), (1, 0)):  # the same word before and after
        assert (before["embed.token"][old] == after["embed.token"][new]).all()
        assert (before["embed.sum"][old] != after["embed.sum"][new]).any()
    assert np.abs(before["probs"][2] - after["probs"][2]).max() > 1e-3
    assert_met("swap_with", before, after, ["embed.sum", "probs"])


def test_without_position_a_swap_changes_nothing():
    before, after = run("swap_without", was=True), run("swap_without")
    order = [1, 0, 2]
    for name, value in before.items():
        if name.startswith("tokens."):
            continue
        axes = compared("swap_without")[0].step(name).axes
        for axis, word in enumerate(axes):
            if word in ("pos", "query", "key"):
                value = value.take(order, axis=axis)
        assert_close(after[name], value, 1e-15, name)
    engine = ripple(*compared("swap_without"), rows=order)
    assert engine.count == 0  # not even in the last bit
    assert_met("swap_without", before, after, ["embed.sum", "probs"])


def test_the_same_matrix_twice_makes_a_mirror_and_one_number_breaks_it():
    weights = given("mirror")[1]
    W_Q, W_K = weights[BLOCK + "attn.W_Q"][0], weights[BLOCK + "attn.W_K"][0]
    assert (W_Q == W_K).all() and W_K[0, 1] == 0
    before = run("mirror")
    after = run("mirror", edited=[(BLOCK + "attn.W_K", (0, 0, 1), 1.0)])
    old, new = before[BLOCK + "attn.scores"][0], after[BLOCK + "attn.scores"][0]
    assert_close(old, old.T, 1e-15)
    assert np.abs(new - new.T).max() > 0.1
    changed = before[BLOCK + "attn.k"] != after[BLOCK + "attn.k"]
    assert changed[0, :, 1].all() and not changed[0, :, [0, 2]].any()
    assert (before[BLOCK + "attn.q"] == after[BLOCK + "attn.q"]).all()
    assert_met("mirror", before, after, [BLOCK + "attn.k", BLOCK + "attn.scores"])


def test_any_matrix_twice_makes_a_mirror():
    """What the text says of every W, not only of the identity that the example has."""
    W = np.random.default_rng(0).normal(size=(3, 3))
    twice = [(BLOCK + "attn.W_Q", 0, W), (BLOCK + "attn.W_K", 0, W)]
    scores = run("mirror", edited=twice)[BLOCK + "attn.scores"][0]
    assert_close(scores, scores.T, 1e-14)


def test_without_scaling_softmax_saturates():
    config, _, _ = given("unscaled")
    assert config["d_head"] == 40
    before, after = run("unscaled"), run("unscaled", scaled=False)
    first = BLOCK + "attn.scores"
    assert (before[first] == after[first]).all()  # in the first block only the division is gone
    ratio = after[first + "_scaled"] / before[first + "_scaled"]
    np.testing.assert_allclose(ratio, 40**0.5, rtol=1e-9)
    layer, head, token = BY_KEY["unscaled"].at
    followed = f"blocks.{layer}.attn.weights"
    assert before[followed][head, token].max() < 0.5 and after[followed][head, token].max() > 0.99
    for i in range(config["n_layers"]):
        name = f"blocks.{i}.attn.weights"
        assert before[name][:, 1:].max(axis=-1).mean() < 0.75
        assert after[name][:, 1:].max(axis=-1).mean() > 0.85
    light = token_id("unscaled", " light")
    assert top("unscaled", before) == " light"
    assert after_last(after)[light] < after_last(before)[light] / 3
    assert top("unscaled", after) != " light"
    assert_met("unscaled", before, after, [followed, "probs"], 2e-4)


def test_without_mask_earlier_tokens_see_later_ones():
    before, after = run("unmasked"), run("unmasked", causal=False)
    name, later = BLOCK + "attn.weights", np.triu_indices(3, 1)
    for head in range(2):
        assert (before[name][head][later] == 0).all() and (after[name][head][later] > 0).all()
    assert_close(after["probs"][LAST], before["probs"][LAST], 1e-15)
    assert (np.abs(after["probs"] - before["probs"]).max(axis=1)[:LAST] > 1e-3).all()
    assert_met("unmasked", before, after, [name, "probs"])


def test_a_row_set_by_hand_hands_over_one_value():
    weights, heads = BLOCK + "attn.weights", BLOCK + "attn.heads"
    by_hand = {(0, 2, k): float(k == 0) for k in range(3)}  # all attention on the first token
    before, after = run("row_by_hand"), run("row_by_hand", steps={weights: by_hand})
    first = before[BLOCK + "attn.v"][0, 0]
    assert np.abs(before[heads][0, 2] - first).max() > 0.1
    assert_close(after[heads][0, 2], first, 1e-15)
    assert (after[heads][1] == before[heads][1]).all()
    assert (after["probs"][:2] == before["probs"][:2]).all()
    assert np.abs(after["probs"][2] - before["probs"][2]).max() > 1e-3
    assert_met("row_by_hand", before, after, [weights, heads, "probs"])


def test_one_head_adds_up_the_scores_of_all():
    before, (_, engine) = run("one_head"), compared("one_head")
    config, weights, ids = given("one_head")
    beside = {
        f"{BLOCK}attn.W_{letter}": np.concatenate(list(weights[f"{BLOCK}attn.W_{letter}"]), axis=1)[
            None
        ]
        for letter in "QKV"
    }
    after = numpy_gpt.run(
        config | {"n_heads": 1, "n_kv_heads": 1, "d_head": 4}, weights | beside, ids
    )
    scores = BLOCK + "attn.scores"
    assert_close(after[scores][0], before[scores].sum(axis=0), 1e-14)
    assert before[BLOCK + "attn.weights"].shape[0] == 2
    assert after[BLOCK + "attn.weights"].shape[0] == 1
    for name in (scores, BLOCK + "attn.weights", "probs"):
        assert_close(engine[name], after[name], 1e-12)


def test_one_head_of_24_carries_light():
    config = given("ablate")[0]
    every = itertools.product(range(config["n_layers"]), range(config["n_heads"]))
    without = {
        (layer, head): run(
            "ablate", steps={f"blocks.{layer}.attn.heads": {(head, None, None): 0.0}}
        )
        for layer, head in every
    }
    before, (layer, head, token) = run("ablate"), BY_KEY["ablate"].at
    light = token_id("ablate", " light")
    left = {place: after_last(values)[light] for place, values in without.items()}
    assert top("ablate", before) == " light"
    assert min(left, key=left.get) == (layer, head)
    assert left[layer, head] < after_last(before)[light] / 3
    assert min(share for place, share in left.items() if place != (layer, head)) > 0.25
    assert before[f"blocks.{layer}.attn.weights"][head, token, token - 1] > 0.95
    assert_met("ablate", before, without[layer, head], ["logits"], 2e-3)


def test_without_shortcuts_the_tokens_are_lost():
    before, after = run("no_residual"), run("no_residual", residual=())

    def alike(values):
        rows = values["ln_f.out"]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows @ rows.T)[np.triu_indices(len(rows), 1)].mean()

    assert alike(before) < 0.3 and alike(after) > 0.9
    heavens = token_id("no_residual", " heavens")
    assert top("no_residual", before) == " heavens" and after_last(before)[heavens] > 0.9
    assert after_last(after)[heavens] < 1e-4 and top("no_residual", after) != " heavens"
    assert_met("no_residual", before, after, ["probs"], 1e-3)


def test_post_norm_leaves_the_belt_normed():
    before, after = run("post_norm"), run("post_norm", norm_placement="post")
    out = BLOCK + "ln_2.out"
    belt = after[out]  # what leaves the block; without post-norm it is the sum itself
    np.testing.assert_allclose(belt.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(belt.std(axis=1), 1, atol=1e-4)
    assert np.abs(before[BLOCK + "resid_out"].mean(axis=1)).max() > 0.1
    assert np.abs(after["ln_f.out"] - belt).max() < 1e-4
    assert np.abs(before["ln_f.out"] - before[BLOCK + "resid_out"]).max() > 0.1
    first = BLOCK + "attn.scores"
    assert np.abs(after[first] - before[first]).max() > 0.1  # attention reads un-normed rows
    assert_met("post_norm", before, after, [BLOCK + "ln_1.out", out, "probs"])


def test_twice_gamma_is_half_the_temperature():
    before, after = run("gamma"), run("gamma", edited=[("ln_f.gamma", slice(None), 2.0)])
    assert (given("gamma")[1]["ln_f.gamma"] == 1).all()
    assert (after["logits"] == 2 * before["logits"]).all()
    p, q = after_last(before), after_last(after)
    assert (np.argsort(p) == np.argsort(q)).all()
    np.testing.assert_allclose(q, shares(p**2), atol=1e-14)
    assert q.max() > p.max() and q.min() < p.min()
    assert_met("gamma", before, after, ["logits", "probs"])


def test_without_a_curve_two_matrices_are_one():
    before, (_, engine) = run("no_curve"), compared("no_curve")
    weights = given("no_curve")[1]
    W_1, b_1, W_2, b_2 = (weights[BLOCK + f"mlp.{name}"] for name in ("W_1", "b_1", "W_2", "b_2"))
    one, bias = W_1 @ W_2, b_1 @ W_2 + b_2
    assert one.shape == (3, 3)
    x = before[BLOCK + "ln_2.out"]
    assert_close(engine[BLOCK + "mlp.out"], x @ one + bias, 1e-12)
    assert_close(engine[BLOCK + "mlp.act"], before[BLOCK + "mlp.hidden"], 1e-12)
    assert np.abs(before[BLOCK + "mlp.out"] - (x @ one + bias)).max() > 0.1


def test_one_number_of_the_unembedding_moves_one_logit():
    W_U = given("one_cell")[1]["unembed.W_U"]
    assert W_U[0, 2] == 1.1
    before, after = run("one_cell"), run("one_cell", edited=[("unembed.W_U", (0, 2), 0.1)])
    moved = after["logits"] - before["logits"]
    assert (np.delete(moved, 2, axis=1) == 0).all()
    np.testing.assert_allclose(moved[:, 2], -1.0 * before["ln_f.out"][:, 0], atol=1e-14)
    assert (before["probs"] != after["probs"]).all()
    assert_met("one_cell", before, after, ["logits", "probs"])


def test_a_changed_word_leaves_what_came_before_untouched():
    before, after = run("causality", was=True), run("causality")
    ids = [given("causality", was=was)[2] for was in (True, False)]
    where = [i for i, (a, b) in enumerate(zip(*ids, strict=True)) if a != b]
    assert where == [3]
    engine = ripple(*compared("causality"))
    reaching_back = {d.name.partition("attn.")[2] for d in engine.changed if min(d.positions) < 3}
    assert reaching_back == {"scores", "scores_scaled"}  # which the mask then strikes out
    for i in range(6):
        name = f"blocks.{i}.resid_out"
        assert_close(after[name][:3], before[name][:3], 1e-10, name)
        assert (np.abs(after[name][3:] - before[name][3:]).max(axis=1) > 1e-3).all()
    heavens = token_id("causality", " heavens")
    assert after_last(after)[heavens] < 0.7 < 0.95 < after_last(before)[heavens]
    assert_met("causality", before, after, ["probs"], 2e-4)


def test_patching_early_brings_israel_back_and_late_does_not():
    other, plain = run("patch_early", prompt="And the children of"), run("patch_early")
    israel = token_id("patch_early", " Israel")
    found = {}
    for key, layer in (("patch_early", 2), ("patch_late", 5)):
        name = f"blocks.{layer}.resid_in"
        patched = run(key, steps={name: {(2, None): other[name][2]}})
        found[key] = after_last(patched)
        assert_met(key, plain, patched, ["probs"], 2e-4)
    before = after_last(plain)[israel]
    assert after_last(plain).argmax() != israel and after_last(other).argmax() == israel
    assert before < 0.15 and after_last(other)[israel] > 0.6
    assert found["patch_early"].argmax() == israel and found["patch_early"][israel] > 0.5
    assert found["patch_late"].argmax() != israel and found["patch_late"][israel] < 0.2
