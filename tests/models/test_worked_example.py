"""The worked example against numbers that existed before it.

`tests/data/worked_example.json` holds float64 values computed elsewhere, to be met at 1e-12, and
the tests hold what the series prints, to be met at its printed precision. What the series says
about dropout (1.11), the gradient of a net without shortcuts (1/25) and the cosine with a vector
of no model (0.9831) is not computed by the engine and therefore not here.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import core
from core.graph import Graph, Scope
from core.graph.ops import Activation, Mask, OneHot, QueryKey, Scale, Softmax, WeightedSum
from core.models.config import Config
from core.models.gpt import gpt
from core.models.gpt2_tokenizer import gpt2_tokenizer
from tests.support.close import as_float64, assert_close
from tests.support.subjects import PRESETS, example

FILE = Path(__file__).parents[1] / "data" / "worked_example.json"
KNOWN = json.loads(FILE.read_text(encoding="utf-8"))
SAME = [(preset, step) for preset, steps in KNOWN["same computation"].items() for step in steps]
LAST = KNOWN["last row of the same computation"]
LAST_ROWS = [(preset, step) for preset, steps in LAST.items() for step in steps]
ROUNDED = KNOWN["from the rounded row"]
ROW = ROUNDED["blocks.0.resid_mid"]


def numbers(values) -> np.ndarray:
    """A nested list with None for -inf."""
    return np.where(np.equal(values, None), -math.inf, values).astype(float)


def traced(preset):
    return example(preset).trace("나는 밥을 먹었다")


def printed(values, digits) -> list[str]:
    return [f"{value:.{digits}f}" for value in as_float64(values)]


def computed_from(model, given: dict, target: str):
    """The last row of the step `target` when that of the steps in `given` has these values."""
    rows = {
        name: {(-1, None): torch.tensor(value, dtype=torch.float64)}
        for name, value in given.items()
    }
    return model.trace("나는 밥을 먹었다").edit(rows)[target][-1:]


def weight_counts(config: Config) -> dict[str, int]:
    """How many numbers each weight has; nothing is allocated."""
    graph = Graph()
    gpt(Scope(graph), config)
    sizes = config.sizes()
    return {name: math.prod(sizes[a] for a in axes) for name, axes in graph.weights.items()}


def total(counts: dict[str, int], *parts: str) -> int:
    return sum(count for name, count in counts.items() if any(part in name for part in parts))


def test_presets_are_those_that_are_tested():
    entry = next(entry for entry in core.models() if entry.key == "worked-example")
    assert entry.presets == PRESETS


@pytest.mark.parametrize("preset, step", SAME)
def test_values_computed_elsewhere(preset, step):
    expected = numbers(KNOWN["same computation"][preset][step])
    assert_close(traced(preset)[step], expected, 1e-12)


@pytest.mark.parametrize("preset, step", LAST_ROWS)
def test_last_rows_computed_elsewhere(preset, step):
    """Part 6 goes on from part 5's last row, with and without a LayerNorm before the logits."""
    assert_close(traced(preset)[step][-1], LAST[preset][step], 1e-12)


@pytest.mark.parametrize("step", ROUNDED["part-4-mlp"])
def test_values_computed_elsewhere_from_a_rounded_row(step):
    """The series goes on with [0.74, 0.44, 0.77], which is attn.out rounded to two digits."""
    found = computed_from(example("part-4-mlp"), {"blocks.0.resid_mid": ROW}, step)
    assert_close(found, [ROUNDED["part-4-mlp"][step]], 1e-12)


def test_our_preset_goes_on_with_the_exact_row_instead():
    row = as_float64(traced("part-4-mlp")["blocks.0.resid_mid"][2])
    assert printed(row, 2) == ["0.74", "0.44", "0.77"]
    assert np.abs(row - ROW).min() > 1e-3


def test_prefill_of_two_tokens():
    trace = example("part-5").trace("나는 밥을")
    for step, expected in KNOWN["part-5 prefill of two tokens"].items():
        assert_close(trace[step], numbers(expected), 1e-12, step)


def test_decode_gives_the_last_row_of_a_whole_pass():
    """One new query with all keys and values, as with a cache, through the ops themselves."""
    trace, known = traced("part-5"), KNOWN["part-5 decode of the third"]
    q, k, v = (trace[f"blocks.0.attn.{c}"] for c in "qkv")
    scores = QueryKey().compute(q[:, -1:], k)
    weights = Softmax().compute(Mask(True).compute(Scale(3**0.5).compute(scores)))
    heads = WeightedSum().compute(weights, v)
    assert_close(scores[0, 0], known["scores"], 1e-12)
    assert_close(weights[0, 0], known["weights"], 1e-12)
    assert_close(heads[0, 0], known["heads"], 1e-12)
    assert_close(trace["blocks.0.attn.weights"][0, -1], known["weights"], 1e-12)
    assert_close(trace["blocks.0.attn.heads"][0, -1], known["heads"], 1e-12)


def test_printed_embedding_rows():
    rows = traced("part-1")["embed.sum"]
    assert [printed(row, 1) for row in rows] == [
        ["0.2", "1.0", "0.1"],
        ["0.9", "0.1", "0.4"],
        ["0.6", "0.4", "0.9"],
    ]


def test_printed_cosines():
    table, rows = example("part-1").weights["embed.W_E"], traced("part-1")["embed.sum"]
    assert f"{torch.cosine_similarity(table[0], table[1], dim=0).item():.2f}" == "0.35"
    assert f"{torch.cosine_similarity(table[0], rows[1], dim=0).item():.4f}" == "0.3377"


def test_printed_attention_of_part_2():
    trace = traced("part-2")
    assert printed(trace["blocks.0.attn.scores"][0, 2, 2:], 2) == ["1.33"]
    assert printed(trace["blocks.0.attn.scores_scaled"][0, 2], 2) == ["0.35", "0.54", "0.77"]
    assert printed(trace["blocks.0.attn.weights"][0, 2], 2) == ["0.27", "0.32", "0.41"]


def test_printed_output_of_part_3():
    assert printed(traced("part-3")["blocks.0.attn.out"][2], 2) == ["0.74", "0.44", "0.77"]


def test_printed_mean_and_standard_deviation_of_part_4():
    trace = traced("part-4")
    assert f"{trace.value('blocks.0.ln_2.mean', (2,)):.2f}" == "1.28"
    assert f"{trace.value('blocks.0.ln_2.var', (2,)) ** 0.5:.2f}" == "0.34"


def test_printed_hidden_values_of_part_4():
    trace = traced("part-4-mlp")
    hidden = printed(trace["blocks.0.mlp.hidden"][2], 2)
    assert hidden[:4] == ["1.61", "-0.40", "1.21", "-0.33"]
    assert printed(trace["blocks.0.mlp.act"][2, [1, 3]], 2) == ["-0.14", "-0.12"]


def test_gelu_turns_near_minus_three_quarters():
    z = torch.linspace(-2, 0, 20001, dtype=torch.float64)
    lowest = z[Activation("gelu_tanh").compute(z).argmin()].item()
    assert f"{lowest:.2f}" == "-0.75"


@pytest.mark.parametrize("preset", ["part-2", "part-5"])
def test_printed_z3_only_comes_out_with_rounded_weights(preset):
    """The series prints 0.47 in the middle; the exact sum is 0.4636.

    It is what one gets by rounding the attention weights to two digits before the weighted sum.
    """
    trace = traced(preset)
    exact = trace["blocks.0.attn.heads"][0, 2]
    assert printed(exact, 4) == ["0.5901", "0.4636", "0.5229"]
    rounded = trace["blocks.0.attn.weights"].round(decimals=2)
    as_printed = WeightedSum().compute(rounded, trace["blocks.0.attn.v"])[0, 2]
    assert printed(as_printed, 2) == ["0.59", "0.47", "0.52"]


def test_printed_tokens():
    tokenizer = gpt2_tokenizer()
    assert tokenizer.n_vocab == 50257
    assert tokenizer.encode("cat sat") == [9246, 3332]
    assert [tokenizer.token_text(i) for i in (9246, 3332)] == ["cat", " sat"]
    pieces = [piece.text for piece in tokenizer.pieces(tokenizer.encode("someunknownPlace"))]
    assert pieces == ["some", "unknown", "Place"]


def test_printed_share_of_zeros_in_a_one_hot_row():
    row = OneHot(50257).compute(torch.tensor([9246]))
    assert f"{(row == 0).double().mean().item():.3%}" == "99.998%"


def test_printed_sizes_of_gpt3():
    config = Config(n_layers=96, n_heads=96, d_model=12288, n_vocab=50257, n_ctx=2048)
    counts = weight_counts(config)
    attention = total(counts, "blocks.0.attn.W")
    mlp = total(counts, "blocks.0.mlp.W")
    assert counts["embed.W_E"] == 617_558_016
    assert f"{mlp:.1e}" == "1.2e+09"
    assert mlp == 2 * attention
    keys_and_values = 2 * config.n_kv_heads * config.d_head * config.n_ctx * config.n_layers
    assert f"{2 * keys_and_values / 2**30:.1f} GiB in fp16" == "9.0 GiB in fp16"


def test_printed_sizes_of_an_8b_model():
    config = Config(
        n_layers=32,
        n_heads=32,
        n_kv_heads=8,
        d_model=4096,
        d_mlp=14336,
        n_vocab=128_256,
        n_ctx=8192,
        position="rotary",
        norm="rms",
        activation="silu",
        gated=True,
        bias_qkv=False,
        bias_out=False,
        bias_mlp=False,
        tied=False,
    )
    counts = weight_counts(config)
    parts = [(".attn.",), (".mlp.",), ("embed.",), ("",)]
    billions = [f"{total(counts, *part) / 1e9:.1f}B" for part in parts]
    assert billions == ["1.3B", "5.6B", "1.1B", "8.0B"]
    assert config.n_heads / config.n_kv_heads == 4
