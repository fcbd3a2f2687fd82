"""A decode step that is edited or switched still reads its cache and knows its position."""

import pytest
import torch

from core.generate.cache import KVCache
from tests.support.close import assert_close, same_bits
from tests.support.random_models import IDS, random_model


def decoded(model, n_past: int = 6):
    """The trace of the last tokens after the others went through a cache."""
    cache = KVCache(model)
    cache.append(model.trace(IDS[:n_past]))
    return model.decode(IDS[n_past:], cache), cache


@pytest.mark.parametrize("name", ["gpt2", "llama", "no-blocks"])
def test_an_edit_acts_as_in_a_full_pass(name):
    model = random_model(name, torch.float64)
    step, _ = decoded(model)
    block = "" if name == "no-blocks" else "blocks.1."
    place = "embed.sum" if name == "no-blocks" else block + "resid_mid"
    edited = step.edit({place: {(0, 3): 5.0}})
    full = model.trace(IDS).edit({place: {(6, 3): 5.0}})
    assert edited["tokens.positions"].tolist() == [6, 7]
    assert edited.n_past == 6
    assert_close(edited["logits"], full["logits"][6:], 1e-12)


def test_an_edit_of_nothing_changes_nothing():
    step, _ = decoded(random_model("gpt2"))
    again = step.edit({}).edit({})
    assert again.steps == step.steps
    assert all(same_bits(again[name], step[name]) for name in step.steps)


def test_an_edited_step_keeps_its_cache_when_that_grows():
    step, cache = decoded(random_model("gpt2"))
    cache.append(step)
    edited = step.edit({"blocks.0.resid_in": {(0, 0): 1.0}})
    assert edited.shape("blocks.0.attn.scores") == (4, 2, 8)
    assert edited["blocks.0.attn.scores"].shape == (4, 2, 8)
    assert same_bits(edited["blocks.0.cache.k"], step["blocks.0.cache.k"])


def test_a_switch_keeps_the_cache():
    step, _ = decoded(random_model("gpt2"))
    switched = step.switch(scaled=False)
    scores = switched["blocks.0.attn.scores_scaled"]
    assert same_bits(scores, step["blocks.0.attn.scores"])
    assert switched["tokens.positions"].tolist() == [6, 7]
