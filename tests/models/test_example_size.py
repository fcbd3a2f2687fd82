"""The worked example in other sizes: its own numbers in the corner, and every step by numpy."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import core
from core.models import example_size
from core.models.example_size import LIMITS, filling, read, write
from core.models.worked_example import settings
from tests.support import numpy_gpt
from tests.support.close import as_float64
from tests.support.subjects import PRESETS

FILE = Path(__file__).parents[2] / "assets" / "worked_example.json"
MATRICES = json.loads(FILE.read_text(encoding="utf-8"))["matrices"]


def load(size="", preset="block"):
    return core.load("worked-example", preset=preset, size=size, device="cpu")


def random_sizes(seed):
    rng = random.Random(seed)
    some = rng.sample(list(LIMITS), rng.randint(1, len(LIMITS)))
    ends = rng.random() < 0.3
    return {n: rng.choice(LIMITS[n]) if ends else rng.randint(*LIMITS[n]) for n in some}


def test_sizes_as_text():
    assert read("") == {} and write({}) == ""
    assert read("d_model-4.n_heads-1") == {"n_heads": 1, "d_model": 4}
    assert write({"d_model": 4, "n_heads": 1}) == "n_heads-1.d_model-4"
    for seed in range(50):
        assert read(write(random_sizes(seed))) == random_sizes(seed)


@pytest.mark.parametrize(
    "text",
    [
        "d_model",
        "d_model-",
        "d_model-9",
        "d_model-1",
        "n_heads-0",
        "d_model-4.",
        ".",
        "d_model-4.d_model-5",
        "norm-2",
        "d_model--4",
        "d_model-٤",
        "d_model-4444",
        "d_model-4~n_heads-1",
        "n_vocab-13",
        " ",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(core.ConfigError):
        read(text)


@pytest.mark.parametrize("seed", range(40))
def test_every_size_of_every_preset_against_numpy(seed):
    rng = random.Random(seed)
    preset, sizes = PRESETS[seed % len(PRESETS)], random_sizes(seed)
    model = load(write(sizes), preset)
    config = model.config.to_dict()
    assert all(config[name] == size for name, size in sizes.items())
    ids = [rng.randrange(config["n_vocab"]) for _ in range(rng.randint(1, config["n_ctx"]))]
    weights = {name: as_float64(weight) for name, weight in model.weights.items()}
    trace, expected = model.trace(ids), numpy_gpt.run(config, weights, ids)
    assert trace.steps == list(expected)
    for name, value in expected.items():
        found, finite = trace[name].numpy(), np.isfinite(value)
        assert np.array_equal(found[~finite], value[~finite]), name
        largest = np.abs(value[finite]).max(initial=1.0)
        assert np.abs(found[finite] - value[finite]).max(initial=0.0) <= 1e-12 * largest, name


@pytest.mark.parametrize("name", ["embed.W_E", "embed.W_P", "mlp.W_1", "mlp.b_1", "unembed.W_U"])
def test_the_example_s_numbers_stay_in_the_corner(name):
    size = "d_model-5.d_mlp-9.n_vocab-8.n_ctx-10"
    place = name if name.startswith(("embed", "unembed")) else f"blocks.0.{name}"
    found, given = as_float64(load(size).weights[place]), np.array(MATRICES[name], float)
    assert np.array_equal(found[tuple(map(slice, given.shape))], given)
    cut = as_float64(load("d_model-2.d_mlp-4.n_vocab-4.n_ctx-5").weights[place])
    assert np.array_equal(cut, given[tuple(map(slice, cut.shape))])


@pytest.mark.parametrize("name", ["W_Q", "W_K", "W_V"])
def test_heads_keep_their_numbers_and_new_ones_get_their_own(name):
    given = np.array(MATRICES[f"attn.{name}"]["2"], float)
    found = as_float64(load("n_heads-3.d_model-4.d_head-3").weights[f"blocks.0.attn.{name}"])
    assert found.shape == (3, 4, 3)
    assert np.array_equal(found[:2, :3, :2], given)
    one = as_float64(load("n_heads-1").weights[f"blocks.0.attn.{name}"])
    assert np.array_equal(one, np.eye(3)[None, :, :2])


def test_a_wider_head_does_not_shift_the_rows_of_the_next():
    given = np.array(MATRICES["attn.W_O"]["2"], float).reshape(2, 2, 3)
    found = as_float64(load("d_head-3").weights["blocks.0.attn.W_O"]).reshape(2, 3, 3)
    assert np.array_equal(found[:, :2], given)


def test_what_is_new_depends_on_matrix_and_place_alone():
    large, wide = load("d_model-8.d_mlp-16"), load("d_model-6.d_mlp-7")
    for name in ("blocks.0.mlp.W_1", "blocks.0.mlp.W_2", "embed.W_E"):
        a, b = as_float64(large.weights[name]), as_float64(wide.weights[name])
        assert np.array_equal(a[tuple(map(slice, b.shape))], b)
    numbers = {filling(name, (i, j)) for name in ("a", "b") for i in range(9) for j in range(9)}
    assert len(numbers) > 60
    assert all(abs(number) <= 0.5 and round(number, 2) == number for number in numbers)
    # Part of links that people have: these never change.
    assert [filling("embed.W_E", (0, j)) for j in (3, 4)] == [0.05, -0.25]


def test_all_blocks_are_alike_and_norms_untrained():
    model = load("n_layers-3.d_model-4")
    for name in ("attn.W_O", "mlp.W_1"):
        one, last = (model.weights[f"blocks.{i}.{name}"] for i in (0, 2))
        assert one.tolist() == last.tolist()
    assert model.weights["blocks.2.ln_1.gamma"].tolist() == [1.0] * 4


def test_a_size_that_is_the_preset_s_own_is_left_out():
    assert load("d_model-3.n_heads-2").size == "" and load().variant == "block"
    model = load("n_heads-2.d_head-1", "part-2")
    assert (model.preset, model.size, model.variant) == (
        "part-2",
        "n_heads-2.d_head-1",
        "part-2~n_heads-2.d_head-1",
    )
    assert settings("block")["d_model"] == 3


def test_words_of_a_larger_vocabulary():
    model = load("n_vocab-12")
    words = [model.tokenizer.token_text(i) for i in range(12)]
    assert words[:6] == ["나는", "밥을", "먹었다", "물을", "마셨다", "."]
    assert len(set(words)) == 12 and all(
        model.tokenizer.encode(w) == [i] for i, w in enumerate(words)
    )
    with pytest.raises(core.UnknownWord):
        load().trace("빵을")
    assert load("n_vocab-3").tokenizer.n_vocab == 3


def test_the_limits_are_those_of_what_can_be_loaded():
    for name, (least, most) in LIMITS.items():
        for size in (least, most):
            model = load(f"{name}-{size}")
            assert getattr(model.config, name) == size
            assert model.trace(model.default_prompt)["probs"].isfinite().all()
    assert example_size.LIMITS["n_vocab"][1] == 12


def test_every_preset_s_own_size_lies_within_the_limits():
    for preset in PRESETS:
        for name, (least, most) in LIMITS.items():
            assert least <= settings(preset)[name] <= most


def test_only_the_worked_example_has_sizes():
    with pytest.raises(ValueError, match="'bundled' has no settings; size was given"):
        core.load("bundled", size="d_model-4")
