"""The PyTorch lines shown beside each step, run as they are, give the step's values."""

import pytest
import torch

import core
from core.generate.cache import KVCache
from core.graph.ops import Interpolation, Stretch
from core.graph.trace import variable
from tests.support.subjects import PRESETS

SETTINGS = [{"preset": preset} for preset in PRESETS] + [
    {"position": "rotary"},
    {"position": "rotary", "rotary_layout": "interleaved"},
    {"position": "rotary", "rotary_stretch": Interpolation(4.0)},
    {"position": "rotary", "rotary_stretch": Stretch(8.0, n_ctx=64)},
    {"position": "sinusoidal"},
    {"norm": "rms", "n_kv_heads": 1},
    {"bias_qkv": True, "bias_out": True, "scaled": False},
    {"activation": "relu"},
    {"activation": "gelu"},
]


def run(trace, name):
    """Execute the code of one step with only torch, its inputs, and nothing of ours."""
    step = trace.step(name)
    given = {
        variable(part): (trace.weights[part] if part in trace.weights else trace[part]).clone()
        for part in step.inputs
    }
    namespace = {"torch": torch, **given}
    exec(trace.code(name), namespace)
    return namespace[variable(name)]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_code_computes_what_is_shown(settings):
    model = core.load("worked-example", **settings)
    trace = model.trace(model.default_prompt)
    for name in trace.steps[2:]:
        found = run(trace, name)
        expected = trace[name]
        assert found.shape == expected.shape, name
        torch.testing.assert_close(
            found.double(), expected.double(), rtol=1e-12, atol=1e-12, msg=name
        )


@pytest.mark.parametrize("settings", [{"preset": "part-5"}, *SETTINGS[len(PRESETS) :]], ids=str)
def test_code_of_a_decode_step_tells_its_keys_from_those_of_the_cache(settings):
    model = core.load("worked-example", **settings)
    cache = KVCache(model)
    cache.append(model.trace([0, 1]))
    trace = model.decode([2], cache)
    for part in ("scores", "heads"):
        name = f"blocks.0.attn.{part}"
        torch.testing.assert_close(run(trace, name), trace[name], rtol=1e-12, atol=1e-12)


def test_what_comes_from_outside_has_no_code():
    trace = core.load("worked-example").trace("나는")
    assert trace.code("tokens.ids") == "" == trace.code("tokens.positions")


def test_code_reads_like_the_mathematics():
    trace = core.load("worked-example").trace("나는 밥을")
    assert trace.code("blocks.0.attn.scores") == "scores = q @ k.mT"
    assert trace.code("blocks.0.attn.scores_scaled") == "scores_scaled = scores / 2 ** 0.5"
    assert trace.code("blocks.0.resid_mid") == "resid_mid = resid_in + attn_out"
