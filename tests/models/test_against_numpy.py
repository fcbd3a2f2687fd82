"""The engine against a GPT in plain numpy, step by step: 1e-12 in float64, 1e-5 in float32."""

import math

import numpy as np
import pytest
import torch

from core.graph.ops import Rotate, Sinusoid
from tests.support import numpy_gpt
from tests.support.close import as_float64, assert_close
from tests.support.random_models import CONFIGS, IDS, random_model
from tests.support.subjects import PRESETS, example


def numpy_values(model, ids):
    weights = {name: as_float64(weight) for name, weight in model.weights.items()}
    return numpy_gpt.run(model.config.to_dict(), weights, ids)


def assert_every_step_agrees(model, ids, tolerance=1e-12):
    trace, expected = model.trace(ids), numpy_values(model, ids)
    assert trace.steps == list(expected)
    for name in trace.steps:
        assert_close(trace[name], expected[name], tolerance, name)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("ids", [[0, 1, 2], [5], [3, 3, 4, 1, 0, 2, 5, 5]], ids=str)
def test_worked_example(preset, ids):
    assert_every_step_agrees(example(preset), ids)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_random_weights(name, dtype, tolerance):
    assert_every_step_agrees(random_model(name, dtype), IDS, tolerance)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rotation_far_from_the_start(layout):
    """Position 4,000 in one head of width 8, without any other part of a model."""
    x = torch.randn(1, 1, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    turned = Rotate(10000.0, layout).compute(x, torch.tensor([4000]))
    for i in range(4):
        a, b = (i, i + 4) if layout == "half" else (2 * i, 2 * i + 1)
        z = complex(x[0, 0, a], x[0, 0, b]) * np.exp(4000j / 10000 ** (i / 4))
        assert abs(complex(turned[0, 0, a], turned[0, 0, b]) - z) < 1e-11


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-7)])
def test_sinusoids_far_from_the_start(dtype, tolerance):
    """Rounding the angle to float32 first would be off by 1e-4 here."""
    positions, d_model = [0, 1, 511, 1023, 4095], 24
    like = torch.zeros(len(positions), d_model, dtype=dtype)
    table = Sinusoid().compute(torch.tensor(positions), like)
    expected = [[numpy_gpt.sinusoid(p, j, d_model) for j in range(d_model)] for p in positions]
    assert table.dtype == dtype
    assert_close(table, expected, tolerance)


def test_oracle_softmax_and_gelu_by_hand():
    """The oracle itself, against numbers worked out without it."""
    thirds = numpy_gpt.softmax(np.array([[math.log(1), math.log(2), -math.inf]]))
    assert_close(thirds, [[1 / 3, 2 / 3, 0]], 1e-15)
    one = {name: float(curve(np.array(1.0))) for name, curve in numpy_gpt.ACTIVATIONS.items()}
    assert one["relu"] == 1
    assert one["gelu"] == pytest.approx(0.8413447460685429, abs=1e-15)  # Φ(1)
    assert one["gelu_tanh"] == pytest.approx(0.8411919906082768, abs=1e-15)
    assert one["silu"] == pytest.approx(0.7310585786300049, abs=1e-15)  # 1 / (1 + 1/e)
