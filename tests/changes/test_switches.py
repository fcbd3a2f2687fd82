"""The switches: which values a model can have, and what each does to config and matrices."""

import pytest

from core.changes import SWITCHES, choices, chosen
from core.changes.switches import settings, switched
from core.models.config import Config, ConfigError
from core.models.worked_example import load
from tests.support.close import assert_close, same_bits
from tests.support.random_models import LLAMA, SMALL, build, random_model
from tests.support.subjects import PRESETS, example


@pytest.mark.parametrize(
    ("model", "setting", "found"),
    [
        (example("block"), "scaled", ["on", "off"]),
        (example("block"), "mask", ["on", "off"]),
        (example("block"), "norm", ["pre", "post", "none"]),
        (example("block"), "residual", ["on", "attn", "mlp", "off"]),
        (example("block"), "activation", ["gelu_tanh", "gelu", "relu", "silu", "none"]),
        (example("block"), "position", ["learned", "rotary", "sinusoidal", "none"]),
        (example("block"), "heads", ["several", "one"]),
        (example("block"), "kv_heads", ["each", "one"]),
        (build(), "kv_heads", ["each", "groups", "one"]),
        (random_model("llama"), "kv_heads", ["groups"]),  # shared ones stay shared
        (example("part-2"), "kv_heads", ["each"]),
        (example("part-2"), "position", ["learned", "sinusoidal", "none"]),  # heads of 3
        (example("part-2"), "heads", ["one"]),
        (random_model("llama"), "heads", ["several"]),  # keys are shared by heads
        (random_model("llama"), "position", ["rotary", "sinusoidal", "none"]),  # no W_P
    ],
    ids=lambda value: None if isinstance(value, (str, list)) else "model",
)
def test_choices(model, setting, found):
    assert choices(setting, model) == found


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("setting", SWITCHES)
def test_every_choice_is_what_the_switched_model_then_has(preset, setting):
    model = example(preset)
    assert chosen(setting, model.config) in choices(setting, model)
    for value in choices(setting, model):
        changed = switched(model, {setting: value})
        assert chosen(setting, changed.config) == value
        assert changed.trace([0, 1])["logits"].isfinite().all()


def test_a_switch_at_its_own_value_is_the_model_itself():
    model = example("block")
    own = {setting: chosen(setting, model.config) for setting in SWITCHES}
    assert settings(model.config, own) == {}
    assert switched(model, own).config == model.config


@pytest.mark.parametrize("values", [{"nothing": "on"}, {"scaled": "maybe"}, {"norm": "Pre"}])
def test_an_unknown_switch_or_value_is_refused(values):
    with pytest.raises(ConfigError, match="there is no switch"):
        settings(example("block").config, values)


def test_norms_come_back_where_the_model_had_them():
    config = example("part-6").config
    assert settings(config, {"norm": "post"})["norms"] == ("ln_f",)
    assert chosen("norm", Config(**SMALL | {"norm": "none"})) == "none"
    assert settings(example("part-2").config, {"norm": "pre"})["norms"] == ("ln_1", "ln_2", "ln_f")


def test_one_head_has_the_matrices_of_several_side_by_side():
    for model in (example("block"), build()):
        one = switched(model, {"heads": "one"})
        n, d = model.config.n_heads, model.config.d_head
        assert (one.config.n_heads, one.config.d_head) == (1, n * d)
        for name in ("W_Q", "W_K", "W_V"):
            name = f"blocks.0.attn.{name}"
            for head in range(n):
                part = one.weights[name][0, :, head * d : (head + 1) * d]
                assert same_bits(part.contiguous(), model.weights[name][head].contiguous())
            assert one.weights[name].data_ptr() == model.weights[name].data_ptr()
        assert one.weights["blocks.0.attn.W_O"] is model.weights["blocks.0.attn.W_O"]


def test_one_head_has_its_biases_joined():
    model = build()
    one = switched(model, {"heads": "one"})
    bias = model.weights["blocks.1.attn.b_K"]
    assert same_bits(one.weights["blocks.1.attn.b_K"], bias.reshape(1, -1))


def test_values_of_one_head_are_those_of_several():
    """Q, K and V side by side are the same numbers; only scores and shares are not."""
    model = example("block")
    several, one = model.trace([0, 1, 2]), switched(model, {"heads": "one"}).trace([0, 1, 2])
    for name in ("q", "k", "v"):
        name = f"blocks.0.attn.{name}"
        assert same_bits(one[name][0], several[name].permute(1, 0, 2).reshape(3, 4))
    scores = several["blocks.0.attn.scores"].sum(0)
    assert (one["blocks.0.attn.scores"][0] - scores).abs().max() < 1e-15


@pytest.mark.parametrize(("value", "n", "each"), [("groups", 2, 2), ("one", 1, 4)])
def test_shared_keys_and_values_are_the_means_of_those_they_replace(value, n, each):
    model = build()
    shared = switched(model, {"kv_heads": value})
    assert (shared.config.n_heads, shared.config.n_kv_heads) == (4, n)
    for name in ("W_K", "W_V", "b_K", "b_V"):
        name = f"blocks.1.attn.{name}"
        for i in range(n):
            group = model.weights[name].numpy()[i * each : (i + 1) * each]
            assert_close(shared.weights[name][i], group.mean(0), 1e-6)
    for name in ("W_Q", "b_Q", "W_O"):
        name = f"blocks.1.attn.{name}"
        assert shared.weights[name] is model.weights[name]


def test_of_one_head_nothing_is_shared_in_whatever_order_the_switches_stand():
    values = {"heads": "one", "kv_heads": "groups"}
    for order in (values, dict(reversed(values.items()))):
        one = switched(build(), order)
        assert one.config == switched(build(), {"heads": "one"}).config


def test_the_example_goes_from_four_keys_and_values_to_two_to_one():
    four = load(preset="part-5", size="n_heads-4")
    sizes = [switched(four, {"kv_heads": v}).config.n_kv_heads for v in choices("kv_heads", four)]
    assert sizes == [4, 2, 1]


def test_one_key_value_head_stays_shared():
    model = build(**LLAMA | {"n_kv_heads": 1})
    assert choices("heads", model) == ["several"]
    assert switched(model, {"mask": "off"}).config.n_kv_heads == 1


def test_no_activation_lets_everything_through():
    trace = switched(example("block"), {"activation": "none"}).trace([0, 1, 2])
    assert same_bits(trace["blocks.0.mlp.act"], trace["blocks.0.mlp.hidden"])
    found = trace.explain("blocks.0.mlp.act", (0, 1))
    assert found.terms[0].factors[1].value == 1
    assert trace.code("blocks.0.mlp.act") == "mlp_act = mlp_hidden"
    x, W_1, b_1, W_2, b_2 = (
        value.numpy()
        for value in (
            trace["blocks.0.ln_2.out"],
            *(trace.weights[f"blocks.0.mlp.{name}"] for name in ("W_1", "b_1", "W_2", "b_2")),
        )
    )
    one_matrix = x @ (W_1 @ W_2) + (b_1 @ W_2 + b_2)
    assert abs(trace["blocks.0.mlp.out"].numpy() - one_matrix).max() < 1e-15
