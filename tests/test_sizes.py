"""Sizes against published figures, and against the model itself where it can be built."""

import math

import pytest

import core
from core import sizes
from tests.support.random_models import CONFIGS, build

CARDS = sizes.CARDS


def parts(card, group):
    return sizes.total(line for line in sizes.parameters(CARDS[card]) if line.group == group)


@pytest.mark.parametrize(
    ("card", "published"),
    [
        ("GPT-2 small", 124_439_808),
        ("GPT-2 medium", 354_823_168),
        ("GPT-2 large", 774_030_080),
        ("GPT-2 XL", 1_557_611_200),
        ("Llama 3 8B", 8_030_261_248),
        ("SmolLM2 135M", 134_515_008),
    ],
)
def test_parameters_as_published(card, published):
    assert sizes.total(sizes.parameters(CARDS[card])) == published


def test_gpt2_small_untied_and_without_its_embeddings():
    small = CARDS["GPT-2 small"].to_dict()
    untied = core.Config.from_dict(small | {"tied": False})
    assert sizes.total(sizes.parameters(untied)) == 163_037_184
    assert sizes.block_matrices(CARDS["GPT-2 small"]) == 84_934_656


def test_gpt3():
    assert round(sizes.total(sizes.parameters(CARDS["GPT-3 175B"])) / 1e9) == 175
    lines = {line.key: line.value for line in sizes.parameters(CARDS["GPT-3 175B"])}
    assert lines["W_E"] == 617_558_016
    assert (lines["W_1"] + lines["W_2"]) / 96 == 1_207_959_552
    assert sum(lines[f"W_{part}"] for part in "QKVO") / 96 == 603_979_776
    assert sizes.cache(CARDS["GPT-3 175B"], 2048, precision="bf16").value == 9 * sizes.GIB


def test_llama_3_8b_by_part():
    assert parts("Llama 3 8B", "attention") == 1_342_177_280
    assert parts("Llama 3 8B", "mlp") == 5_637_144_576
    assert parts("Llama 3 8B", "embedding") + parts("Llama 3 8B", "unembedding") == 1_050_673_152


@pytest.mark.parametrize(("heads", "per_token"), [(32, 524_288), (8, 131_072), (1, 16_384)])
def test_sharing_keys_and_values_makes_the_cache_smaller(heads, per_token):
    card = core.Config.from_dict(CARDS["Llama 3 8B"].to_dict() | {"n_kv_heads": heads})
    assert sizes.cache(card, 1).value == per_token


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_are_the_weights_that_a_model_has(name):
    model = build(**CONFIGS[name])
    counted = sum(weight.numel() for weight in model.weights.values())
    assert sizes.total(sizes.parameters(model.config)) == counted


@pytest.mark.parametrize("preset", ["part-1", "part-2", "part-4", "part-6", "block"])
def test_parameters_of_the_worked_example(preset):
    model = core.load("worked-example", preset=preset)
    counted = sum(weight.numel() for weight in model.weights.values())
    assert sizes.total(sizes.parameters(model.config)) == counted


def test_prefill_computes_what_the_steps_of_the_model_say():
    model = core.load("bundled")
    trace = model.trace("It is a truth universally acknowledged")
    products = ("q", "k", "v", "scores", "heads", "attn.out", "hidden", "mlp.out")
    steps = [name for name in trace.steps if name.endswith(tuple(f".{p}" for p in products))]
    own = sum(trace.cost(name).multiply_adds for name in steps)
    n = len(trace)
    # The model computes the logits of every token, the formula those of the last.
    logits = trace.cost("logits").multiply_adds // n
    # Attention multiplies only with the keys that the mask leaves, or with all of them.
    assert own + logits == sizes.prefill(model.config, n).multiply_adds


def test_linear_and_quadratic_parts_of_gpt2_small():
    card = CARDS["GPT-2 small"]
    short, long = sizes.prefill(card, 100), sizes.prefill(card, 200)
    head = 768 * 50257
    assert short.linear == 100 * 84_934_656 + head
    assert long.linear - head == 2 * (short.linear - head)
    assert short.quadratic == 2 * 12 * 768 * 100**2
    assert long.quadratic == 4 * short.quadratic
    assert sizes.decode(card, 99).linear == 84_934_656 + head
    assert sizes.decode(card, 99).quadratic == 2 * 12 * 768 * 100


def test_decoding_alone_waits_for_memory_and_with_many_for_compute():
    card, machine = CARDS["GPT-2 small"], sizes.Machine(100e12, 1e12, 16e9)
    weights = 124_439_808 * 2
    cached = 2 * 12 * 768 * 2 * 16
    alone = sizes.decode_time(card, 16, machine)
    assert alone.bottleneck == "memory"
    assert alone.seconds == pytest.approx((weights + cached) / 1e12)
    assert sizes.prefill_time(card, 1000, machine).bottleneck == "compute"
    batch = sizes.crossing(card, 16, machine)
    below, above = math.floor(batch), math.ceil(batch)
    assert sizes.decode_time(card, 16, machine, below).bottleneck == "memory"
    assert sizes.decode_time(card, 16, machine, above).bottleneck == "compute"


def test_long_contexts_never_reach_the_limit_of_compute():
    assert sizes.crossing(CARDS["GPT-2 small"], 10**6, sizes.Machine(1e15, 1e12, 16e9)) is None


@pytest.mark.parametrize(
    ("precision", "gib"), [("fp32", 29.92), ("bf16", 14.96), ("int8", 7.48), ("int4", 3.74)]
)
def test_weight_memory_of_8b(precision, gib):
    found = sizes.weight_bytes(CARDS["Llama 3 8B"], precision) / sizes.GIB
    assert round(found, 2) == gib


def test_what_must_be_in_memory():
    need = dict(sizes.needed(CARDS["Llama 3 8B"], 8192, 4, "int8", "bf16"))
    assert need["weights"] == 8_030_261_248
    assert need["cache"] == 131_072 * 8192 * 4
    assert need["logits"] == 4 * 128_256 * 4
