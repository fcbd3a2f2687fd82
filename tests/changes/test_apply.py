"""A list of changes put in force: what fits acts, what does not is named and does nothing."""

import pytest
import torch

from core.changes import Changes, Entry, Patch, Put, Switch, apply
from tests.support.close import same_bits
from tests.support.random_models import IDS, random_model
from tests.support.subjects import example


@pytest.fixture
def before():
    return example("block").trace([0, 1, 2])


def test_nothing_changed_is_the_trace_itself(before):
    assert apply(before, ()).trace is before


def test_numbers_are_put_in_the_order_of_the_list(before):
    every, one = Put("embed.W_E", (None, 0), 1.0), Put("embed.W_E", (1, 0), 5.0)
    assert apply(before, [every, one]).trace.weights["embed.W_E"][:2, 0].tolist() == [1, 5]
    assert apply(before, [one, every]).trace.weights["embed.W_E"][:2, 0].tolist() == [1, 1]
    assert apply(before, [every, one, every]).trace.weights["embed.W_E"][:2, 0].tolist() == [1, 1]


def test_a_head_a_neuron_and_an_mlp_are_switched_off(before):
    head = apply(before, [Put("blocks.0.attn.heads", (0, None, None), 0.0)]).trace
    assert not head["blocks.0.attn.concat"][:, :2].any() and head["blocks.0.attn.concat"].any()
    neuron = apply(before, [Put("blocks.0.mlp.act", (None, 4), 0.0)]).trace
    assert not neuron["blocks.0.mlp.act"][:, 4].any()
    mlp = apply(before, [Put("blocks.0.mlp.out", (None, None), 0.0)]).trace
    assert same_bits(mlp["blocks.0.resid_out"], before["blocks.0.resid_mid"])


def test_a_switch_acts_before_numbers_wherever_it_stands(before):
    put = Put("blocks.0.attn.scores_masked", (0, 0, 2), 1.0)
    one = apply(before, [put, Switch("mask", "off")]).trace
    other = apply(before, [Switch("mask", "off"), put]).trace
    assert all(same_bits(one[name], other[name]) for name in one.steps)
    assert one["blocks.0.attn.scores_masked"][0, 0, 2] == 1


def test_switches_go_together(before):
    changed = apply(before, [Switch("norm", "none"), Switch("residual", "attn")]).trace
    config = changed.model.config
    assert (config.norms, config.residual) == ((), ("attn",))
    assert config.causal and before.model.config.norms


def test_a_row_is_taken_from_another_text(before):
    name = "blocks.0.resid_in"
    applied = apply(before, [Patch(name, (1, None), "물을 마셨다")])
    other = example("block").trace("물을 마셨다")
    assert same_bits(applied.trace[name][1], other[name][1])
    assert same_bits(applied.trace[name][[0, 2]], before[name][[0, 2]])


def test_a_whole_step_needs_a_text_of_the_same_length(before):
    patch = Patch("blocks.0.attn.out", (None, None), "물을 물을 .")
    other = example("block").trace("물을 물을 .")
    changed = apply(before, [patch]).trace
    assert same_bits(changed["blocks.0.attn.out"], other["blocks.0.attn.out"])
    short = Patch("blocks.0.attn.out", (None, None), "물을")
    assert apply(before, [short]).unfit == (short,)


def test_the_other_text_is_read_by_whoever_is_given(before):
    asked = []

    def read(text):
        asked.append(text)
        return before.model.trace([5, 5, 5])

    patch = Patch("embed.sum", (0, None), "anything")
    changed = apply(before, [patch], read).trace
    assert asked == ["anything"]
    assert same_bits(changed["embed.sum"][0], before.model.trace([5])["embed.sum"][0])


UNFIT = [
    Put("blocks.1.attn.q", (0, 0, 0), 1.0),
    Put("nothing", (0,), 1.0),
    Put("tokens.ids", (0,), 1.0),
    Put("embed.onehot", (0, 0), 1.0),
    Put("embed.W_E", (6, 0), 1.0),
    Put("embed.W_E", (0,), 1.0),
    Put("logits", (3, 0), 1.0),
    Patch("logits", (0, None), "cat"),
    Patch("logits", (0, None), ""),
    Patch("logits", (0, None), "나는 " * 9),
    Patch("logits", (2, None), "나는"),
    Patch("embed.W_E", (0, None), "나는"),
    Patch("nothing", (0, None), "나는"),
    Switch("norm", "sideways"),
    Switch("nothing", "off"),
]


@pytest.mark.parametrize("change", UNFIT, ids=str)
def test_what_does_not_fit_is_named_and_does_nothing(before, change):
    good = Put("embed.W_E", (0, 0), 0.3)
    applied = apply(before, [change, good])
    assert applied.unfit == (change,)
    alone = apply(before, [good]).trace
    assert all(same_bits(applied.trace[name], alone[name]) for name in alone.steps)


def test_a_switch_that_does_not_go_with_an_earlier_one_is_unfit():
    before = random_model("odd-width-sinusoidal").trace(IDS)
    rotary = Switch("position", "rotary")  # heads of 5 cannot be turned in pairs
    applied = apply(before, [rotary, Switch("scaled", "off")])
    assert applied.unfit == (rotary,) and not applied.trace.model.config.scaled


def test_heads_of_a_model_that_are_joined_take_their_steps_along(before):
    """One head is 4 wide: what was set for the second head has no place, a patch no shape."""
    one, put = Switch("heads", "one"), Put("blocks.0.attn.q", (1, 0, 0), 1.0)
    patch = Patch("blocks.0.attn.q", (0, 0, None), "물을 물을 물을")
    applied = apply(before, [one, put, patch])
    assert applied.unfit == (put, patch)
    assert applied.trace["blocks.0.attn.q"].shape == (1, 3, 4)


def test_a_number_too_large_for_the_weights_is_unfit():
    huge = Put("embed.W_E", (0, 0), 1e300)
    assert apply(random_model("gpt2", torch.float32).trace(IDS), [huge]).unfit == (huge,)
    assert apply(random_model("gpt2", torch.float64).trace(IDS), [huge]).unfit == ()


def test_a_list_of_changes():
    put, other = Put("logits", (0, 0), 1.0), Put("logits", (0, 1), 2.0)
    changes = Changes().with_change(put, other)
    assert changes.toggled(0).in_force == (other,)
    assert changes.toggled(0).toggled(0) == changes
    again = changes.toggled(0).with_change(Put("logits", (0, 0), 3.0))
    assert again.in_force == (other, Put("logits", (0, 0), 3.0))
    assert changes.without(0, 5).in_force == (other,)
    assert changes.at(("logits", (0, 1)), ("scaled",)) == (1,)
    assert Entry(Switch("scaled", "off")).place == ("scaled",)
    assert len(changes) == 2 and not Changes()
