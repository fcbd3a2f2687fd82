"""Reading token by token equals the full pass, with edits in force too, and costs one row."""

import pytest
import torch

import core
from core import sizes
from core.analysis import sampling
from core.changes import Patch, Put, Switch, apply
from core.generate import cost, reader
from core.generate.branches import Branches
from core.generate.generate import pick
from tests.support.close import assert_close
from tests.support.random_models import IDS, build, random_model

MODELS = ("gpt2", "llama", "no-blocks")
LATER = [*IDS, 3, 11, 7]


def last(model, ids, edits=(), n_first=4):
    """The last row's logits, read in single rows, and those of a full pass."""
    known = reader.Reader()
    for end in range(n_first, len(ids) + 1):
        full = apply(model.trace(ids[:end]), edits).trace
        step = known.step(full, n_first)
        assert len(step) == (end if end == n_first else 1)
    return step["logits"][-1], full["logits"][-1]


@pytest.mark.parametrize("name", MODELS)
def test_single_rows_equal_a_full_pass(name):
    assert_close(*last(random_model(name, torch.float64), LATER), 1e-12)


EDITS = {
    "a weight": [Put("blocks.0.attn.W_K", (0, 1, 1), 3.0), Put("embed.W_E", (3, None), 0.5)],
    "a head off": [Put("blocks.0.attn.heads", (1, None, None), 0.0)],
    "a row of the first pass": [Put("blocks.0.resid_mid", (2, 3), 5.0)],
    "a key of the first pass": [Put("blocks.1.attn.k", (0, 1, None), 1.0)],
    "a row of a later step": [Put("blocks.1.resid_mid", (len(LATER) - 1, 1), 4.0)],
    "a row of a step between": [Put("blocks.0.resid_mid", (len(LATER) - 3, 1), 4.0)],
    "one score": [Put("blocks.0.attn.scores", (0, len(LATER) - 1, 2), 9.0)],
    "all scores of a key": [Put("blocks.0.attn.scores_scaled", (0, None, 1), 2.0)],
    "no scale": [Switch("scaled", "off")],
    "no norm, and a row": [Switch("norm", "none"), Put("blocks.0.resid_mid", (5, 0), 2.0)],
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_edits_act_as_in_a_full_pass(name, edits):
    model = random_model(name, torch.float64)
    found, full = last(model, LATER, edits)
    assert_close(found, full, 1e-12)
    if not isinstance(edits[0], Switch):
        assert not torch.equal(full, model.trace(LATER)["logits"][-1])


def test_a_patch_of_all_rows_acts_as_in_a_full_pass():
    """The other text is as long as this one, so only the last step can be compared."""
    model = random_model("gpt2", torch.float64)
    other = model.trace([i % 5 for i in LATER])
    full = model.trace(LATER).edit(
        {"blocks.0.resid_mid": {(None, None): other["blocks.0.resid_mid"]}}
    )
    step = reader.Reader().step(full, 4)
    assert len(step) == 1
    assert_close(step["logits"][-1], full["logits"][-1], 1e-12)


def test_a_patch_from_a_link_acts_as_in_a_full_pass():
    model = core.load("worked-example", preset="block")
    edits = [Patch("blocks.0.resid_mid", (1, None), "나는 물을")]
    assert_close(*last(model, [0, 1, 2, 3, 4], edits, 2), 1e-12)


def test_a_step_costs_one_row_and_one_copy(monkeypatch):
    model, known, passes = random_model("gpt2"), reader.Reader(), []
    known.step(model.trace(LATER[:6]), 4)
    monkeypatch.setattr(reader, "_filled", passes.append)
    for end in range(7, len(LATER) + 1):
        assert len(known.step(model.trace(LATER[:end]), 4)) == 1
    assert passes == []


def test_two_ways_on_do_not_disturb_each_other():
    model, known = random_model("gpt2", torch.float64), reader.Reader()
    ways = [[*IDS, 3, 5, 7], [*IDS, 3, 6, 7], [*IDS, 3, 5, 8], [*IDS, 3, 6, 7]]
    for way in ways:
        for end in range(len(IDS) + 1, len(way) + 1):
            full = model.trace(way[:end])
            step = known.step(full, len(IDS))
            assert_close(step["logits"][-1], full["logits"][-1], 1e-12)


def test_memory_is_bounded():
    model = random_model("gpt2")
    least = reader.Reader(memory=0)
    for end in range(5, len(LATER) + 1):
        least.step(model.trace(LATER[:end]), 4)
    assert len(least._steps) == 1


def test_the_cache_holds_every_token():
    model = random_model("llama", torch.float64)
    full = model.trace(LATER)
    cache = reader.Reader().cache(full, 4)
    assert len(cache) == len(LATER)
    assert_close(cache.values()["blocks.1.cache.k"], full["blocks.1.attn.k_rotated"], 1e-12)
    assert len(reader.Reader().cache(model.trace(IDS[:4]), 4)) == 4


def test_without_a_mask_every_step_is_a_full_pass():
    full = build(causal=False).trace(IDS)
    assert reader.Reader().step(full, 2) is full
    with pytest.raises(ValueError, match="causal"):
        reader.Reader().cache(full, 2)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_draw_at_a_depth_is_the_one_that_generate_takes(seed):
    model = core.load("bundled")
    steps = list(model.generate("It is a truth", 12, seed=seed, temperature=0.9, top_k=40))
    assert sampling.draws(seed, 12).tolist() == [step.draw for step in steps]
    tree, known, first = Branches(), reader.Reader(), model.tokenizer.encode("It is a truth")
    for depth, step in enumerate(steps):
        full = model.trace([*first, *tree.ids()])
        chosen = core.distribution(known.step(full, len(first))["logits"][-1], 0.9, 40)
        tree = tree.grown(pick(chosen, sampling.draws(seed, depth + 1)[-1].item()))
        assert tree.ids()[-1] == step.id


CONFIGS = [random_model(name).config for name in MODELS]


@pytest.mark.parametrize("config", CONFIGS, ids=MODELS)
@pytest.mark.parametrize(("n_tokens", "n_past"), [(6, 0), (1, 6), (1, 1), (3, 4)])
def test_cost_is_the_sum_over_the_steps_of_a_trace(config, n_tokens, n_past):
    """Of its rows after the last block only one counts; those before it are a trace's own."""
    found = cost.needed(config, n_tokens, n_past)
    model = next(m for m in map(random_model, MODELS) if m.config == config)
    ids = [i % 7 for i in range(n_tokens + n_past)]
    full = model.trace(ids)
    trace = (
        full
        if not n_past
        else model.decode(ids[n_past:], reader.Reader().cache(model.trace(ids[:n_past]), n_past))
    )
    row = model.decode(ids[-1:], reader.Reader().cache(model.trace(ids[:-1]), len(ids)))
    needed = [name for name in trace.steps if name not in ("embed.onehot",)]
    costs = [(trace if n.startswith(("embed", "blocks")) else row).cost(n) for n in needed]
    inputs = ("tokens.", "cache.")
    costs = [c for n, c in zip(needed, costs, strict=True) if not any(i in n for i in inputs)]
    assert found.multiply_adds == sum(c.multiply_adds for c in costs)
    assert found.bytes_read == sum(c.bytes_read for c in costs)
    assert found.bytes_written == sum(c.bytes_written for c in costs)


def test_products_cost_what_the_model_card_says():
    """The Sizes page counts products of matrices alone; norms, softmax and curves add little."""
    config = core.load("bundled").config
    for found, card in (
        (cost.needed(config, 128), sizes.prefill(config, 128)),
        (cost.needed(config, 1, 127), sizes.decode(config, 127)),
    ):
        assert card.multiply_adds < found.multiply_adds < 1.03 * card.multiply_adds
