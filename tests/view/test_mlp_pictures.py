"""The hourglass, rows of numbers as links, and the chart of the curve."""

import html
import re

import numpy as np
import pytest
import torch

from core.models.catalogue import load
from core.view import mlp_curve, mlp_experiments, mlp_pictures, vector
from core.view.look import Look
from core.view.texts import LANGUAGES, speaker
from tests.support.random_models import IDS, random_model
from tests.support.still import Still


def look_at(model, prompt=None, token=-1, language="en"):
    trace = model.trace(prompt or model.default_prompt)
    return Look(speaker(language), trace, Still(), 0, 0, token % len(trace))


@pytest.fixture(scope="module")
def look():
    return look_at(load("worked-example", preset="part-4-mlp"))


def test_each_number_of_the_hourglass_opens_itself(look):
    links = re.findall(
        r'<a .*?data-set="open=([^"&]*)&amp;at=glass"[^>]*>(.*?)</a>', mlp_pictures.glass(look)
    )
    for target, text in links:
        name, index = html.unescape(target).replace("%7E", "~").split("~")
        value = look.trace.value(name, tuple(map(int, index.split("-"))))
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.0051)
    assert len(links) == 3 + 6 + 6 + 3


def test_hourglass_is_as_wide_as_its_vectors(look):
    widths = re.findall(r'class="line" style="width:([\d.]+)%', mlp_pictures.glass(look))
    assert list(map(float, widths)) == [50, 100, 100, 50]


@pytest.mark.parametrize("language", LANGUAGES)
def test_gated_mlp_has_its_own_levels(language):
    look = look_at(random_model("llama", torch.float64), IDS, language=language)
    names = [name.rpartition(".")[2] for name in mlp_pictures.steps(look)]
    assert names == ["out", "gate", "up", "act", "product", "out"]
    made = mlp_pictures.glass(look) + mlp_experiments.memory(look) + mlp_pictures.sizes(look)
    assert "W_gate" in made and "{" not in made
    assert [cut.name for cut in mlp_experiments.cuts(look)] == mlp_pictures.steps(look)


def test_long_row_is_a_picture_that_opens_its_largest_number():
    look = look_at(random_model("gpt2", torch.float64), IDS, token=2)
    made = vector.row(look, "blocks.0.mlp.hidden", 2, 1.0, "x")
    values = look.values("blocks.0.mlp.hidden")[2]
    assert f"blocks.0.mlp.hidden~2-{np.abs(values).argmax()}" in made.replace("%7E", "~")
    assert f'alt="{len(values)} numbers, from' in made


@pytest.mark.parametrize(
    ("value", "written"), [(1.234, "+1.23"), (-0.004, "−0.004"), (0.0, "0.000"), (-2.0, "−2.00")]
)
def test_signed_numbers(value, written):
    assert vector.signed(value) == written


def test_dots_lie_on_the_models_curve(look):
    z = mlp_pictures.values_before_curve(look)
    points = mlp_curve.content(look)["points"]
    assert points["z"] == pytest.approx(z, abs=1e-6)
    assert points["value"] == pytest.approx(look.values("blocks.0.mlp.act")[2], abs=1e-6)
    slope = (
        torch.nn.functional.gelu(torch.tensor(z) + 1e-4) - torch.nn.functional.gelu(torch.tensor(z))
    ) / 1e-4
    assert points["slope"] == pytest.approx(slope.numpy(), abs=2e-3)


def test_curves_are_drawn_through_their_values(look):
    sent = mlp_curve.content(look)
    z, drawn = torch.tensor(sent["z"], dtype=torch.float64), sent["curves"]
    gelu = torch.nn.functional.gelu
    values = (gelu(z, approximate="tanh"), gelu(z), torch.relu(z))
    for curve, value in zip(drawn, values, strict=True):
        assert curve["value"] == pytest.approx(value.tolist(), abs=1e-6)
    assert 0.0 in sent["z"]  # where ReLU has its corner


@pytest.mark.parametrize("scale", [1.0, 4.0, 40.0])
def test_curve_reaches_every_number_in_so_many_places(scale):
    model = load("worked-example", preset="part-4-mlp")
    name = "blocks.0.mlp.hidden"
    trace = model.trace(model.default_prompt).edit({name: {(2, 0): -9 * scale, (2, 1): 12 * scale}})
    look = Look(speaker("en"), trace, Still(), 0, 0, 2)
    sent = mlp_curve.content(look)
    low, high = sent["range"]
    assert low < -9 * scale and high > 12 * scale
    assert (sent["z"][0], sent["z"][-1]) == pytest.approx((low, high))
    assert len(sent["z"]) <= mlp_curve.PLACES + 2


def test_own_curve_is_drawn_once_and_first():
    assert mlp_curve.kinds("gelu_tanh") == ["gelu_tanh", "gelu", "relu"]
    assert mlp_curve.kinds("silu") == ["silu", "gelu", "relu"]  # the tanh is GPT-2's


def test_silenced_neurons_are_counted(look):
    hidden = look.values("blocks.0.mlp.hidden")
    found = mlp_curve.silenced(look)
    assert found == {
        "total": 6,
        "negative": int((hidden[2] < 0).sum()),
        "always": int((hidden.max(axis=0) < 0).sum()),
    }


def test_blanked_token_is_never_the_one_looked_at():
    model = load("worked-example", preset="block")
    assert mlp_experiments.other_token(look_at(model, token=0)) == 1
    assert mlp_experiments.other_token(look_at(model, token=2)) == 1
    assert mlp_experiments.other_token(look_at(model, "나는", token=0)) is None
