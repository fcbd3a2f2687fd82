"""Pages follow the model: rotary positions, RMSNorm, gated MLPs and shared keys and values."""

import re

import numpy as np
import pytest
import torch

from core.graph.ops import Interpolation, Stretch
from core.view import engine
from tests.support.app import ROOT, components, drawn, open_page, rows, said
from tests.support.random_models import CONFIGS, LLAMA, build

# As Qwen2: rotary halves, biases of Q, K and V alone, two query heads for each pair of K and V.
QWEN = CONFIGS["qkv-bias"] | {"d_head": 8, "rotary_base": 1000.0}
PLACE = 3
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


@pytest.fixture
def show(monkeypatch):
    def opened(page, settings, **query):
        model = build(**settings)
        monkeypatch.setattr(engine, "load", lambda key, variant: model)
        monkeypatch.setattr(engine, "trace", lambda key, variant, ids: model.trace(list(ids)))
        asked = {"model": "worked-example", "preset": "block", "prompt": "w3 w1 w4 w5 w9"}
        return model, open_page(page, **asked | {"token": PLACE, "layer": 1} | query)

    return opened


def clock_angles(at):
    found = re.findall(r"<figcaption>numbers (\d+) and (\d+)<b> ([0-9.]+)°</b>", drawn(at))
    return [(int(first), int(second), float(angle)) for first, second, angle in found]


def test_pairs_turn_by_place_times_their_rate(show):
    _, at = show("qkv", QWEN, head=2)
    rates = 1000.0 ** (-2 * np.arange(4) / 8)
    degrees = np.degrees(PLACE * rates) % 360
    drawn_once = [(i, i + 4, round(float(degrees[i]), 1)) for i in range(4)]
    found = clock_angles(at)
    assert [one[:2] for one in found] == [one[:2] for one in drawn_once] * 2  # of q, then of k
    assert [a for *_, a in found] == pytest.approx([a for *_, a in drawn_once] * 2, abs=0.06)


def test_stretched_angles_are_slower_and_said_to_be(show):
    """The slowest of four pairs turns 0.03 times in 32 places, so it turns 8 times slower."""
    stretch = Stretch(factor=8.0, few=1.0, many=4.0, n_ctx=32)
    _, at = show("position", QWEN | {"rotary_stretch": stretch})
    slow = np.degrees(1000.0 ** (-6 / 8) / 8)
    text = said(at)
    assert f"the last of the 4 by {slow:.2g}°" in text
    assert "less than 1 × around in 32 places now turns 8 times slower" in text
    assert "times slower" not in said(show("position", QWEN)[1])


@pytest.mark.parametrize("page", ["position", "qkv"])
def test_interpolated_angles_are_those_of_places_closer_together(show, page):
    _, at = show(page, QWEN | {"rotary_stretch": Interpolation(4.0)})
    fast, slow = np.degrees([1 / 4, 1000.0 ** (-6 / 8) / 4])
    text = said(at)
    assert f"{fast:.1f}°" in text and f"{slow:.2g}°" in text
    assert ("divided by 4, as if its places stood closer" in text) == (page == "position")


def test_a_pair_is_shown_before_and_after(show):
    model, at = show("qkv", QWEN, head=2)
    trace = model.trace("w3 w1 w4 w5 w9")
    x, y = trace["blocks.1.attn.q"][2, PLACE, [0, 4]].double().tolist()
    turned = (x + 1j * y) * np.exp(1j * PLACE)
    numbers = re.search(r'<div class="turned">(.*?)</div>', drawn(at), re.S).group(1)
    found = [float(n.replace("−", "-")) for n in re.findall(r">\s*([−0-9.]+)</a>", numbers)]
    assert found == pytest.approx([x, y, turned.real, turned.imag], abs=0.006)


def test_place_0_is_said_to_turn_nothing(show):
    assert "Place 0 turns nothing" in said(show("qkv", QWEN, token=0)[1])


def test_heads_that_share_keys_and_values_say_so(show):
    text = said(show("qkv", QWEN, head=3)[1])
    assert "Its key and value are number 1" in text
    assert "only 2 pairs of W_K and W_V, one for every 2 heads" in text
    assert "A head is one set of W_Q, W_K and W_V" not in text


def test_one_pair_of_keys_and_values_for_all(show):
    text = said(show("qkv", LLAMA | {"n_kv_heads": 1})[1])
    assert "(MQA)" in text and "those of all 4 heads" in text


def test_what_is_kept_is_the_turned_key(show):
    table = {
        row[0]: row[-1] for row in rows(show("qkv", QWEN)[1], "plain stacked worded facts-table")
    }
    assert "kept on" in table["K′"] and "kept on" in table["V"]
    assert "kept on" not in table["K"] and "kept on" not in table["Q′"]


def test_scores_are_those_of_the_turned_rows(show):
    assert "S = Q′·K′ᵀ" in said(show("scores", QWEN)[1])


def test_rms_norm_takes_the_root_of_the_mean_square(show):
    model, at = show("norm", LLAMA, norm="ln_1")
    x = model.trace("w3 w1 w4 w5 w9")["blocks.1.resid_in"].double().numpy()
    root = np.sqrt((x[PLACE] ** 2).mean() + 1e-6)
    text = said(at)
    shown = re.search(r"√\(mean\(x²\) \+ ε\) = ([0-9.]+)", text).group(1)
    assert float(shown) == pytest.approx(root, rel=5e-3)
    taken = [float(row[-1]) for row in rows(at, "followed along")[1 : 1 + len(x)]]
    assert taken == pytest.approx(np.sqrt((x**2).mean(axis=1)), rel=5e-3)


def test_rms_norm_speaks_of_no_mean_and_no_beta_of_its_own(show):
    text = said(show("norm", LLAMA)[1])
    assert "RMSNorm on one row" in text
    for untrue in ("Take off its mean", "mean μ", "shift by β", "√(σ² + ε) ="):
        assert untrue not in text


def test_the_path_speaks_of_no_beta_and_no_row_of_places(show):
    text = said(show("overview", LLAMA)[1])
    assert "Where it stands comes in later, when attention turns" in text
    assert text.count("Each of the columns is multiplied by a learned γ.") == 3
    for untrue in ("Where it stands is added", "learned β", "Stretched and shifted"):
        assert untrue not in text


def test_the_path_names_the_head_whose_keys_are_drawn(show):
    """The query head 3 of 4 shares the second of two keys and values."""
    text = said(show("overview", QWEN, head=3)[1])
    for step, of_two in (("Q = X·W_Q", False), ("K = X·W_K", True), ("V = X·W_V", True)):
        after = text.split(step)[1]
        assert after.split("here: ")[1].startswith("head 1 of 2" if of_two else "head 3 of 4")


def test_position_page_begins_with_the_turning(show):
    _, at = show("position", QWEN)
    text = said(at)
    assert "this model turns the query and the key" in text
    assert text.index("Turned, not added") < text.index("Only the distance")
    assert "rotary positions add nothing to a token’s row" in text
    assert "This model’s learned rows" not in text and "This model’s W_P" not in text


def test_rotary_dot_products_are_the_models_own(show):
    """The query of one token with the key of another, at distance 0 and 1."""
    model, at = show("position", QWEN, head=1)
    table = drawn(at).split(">Rotary</caption>")[1].split("</table>")[0]
    first = re.search(r">\+0</span></th>(.*?)</tr>", table, re.S).group(1)
    found = [float(re.sub("<[^>]+>", "", c).replace("−", "-")) for c in first.split("</td>")[:2]]
    expected = model.trace("w3 w5")["blocks.0.attn.scores"][1, 1, 0].item()
    assert found[1] == pytest.approx(expected, abs=6e-4)


def test_a_gated_mlp_has_its_own_words(show):
    text = said(show("mlp", LLAMA)[1])
    for true in (
        "a gate and an offer",
        "SiLU of the gate",
        "times the offer",
        "W_gate, W_up and W_2",
    ):
        assert true in text
    for untrue in ("GPT-2 computes GELU", "column of W_1", "same W_1 and W_2", "GELU, with tanh"):
        assert untrue not in text


def test_silu_is_drawn_in_a_colour_of_its_own(show):
    at = show("mlp", LLAMA)[1]
    (curve,) = components(at, "curve")
    assert [one["name"] for one in curve["curves"]] == ["SiLU", "GELU, exact", "ReLU"]
    assert len({one["colour"] for one in curve["curves"]}) == 3
    z = np.linspace(-1.4, -1.1, 300_001)
    assert curve["flat"]["z"] == pytest.approx(z[(z / (1 + np.exp(-z))).argmin()], abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_in_bfloat16(show, page, name):
    """numpy has no such numbers: each picture has to be drawn from wider ones."""
    assert "{" not in said(show(page, CONFIGS[name] | {"dtype": torch.bfloat16})[1])


@pytest.mark.parametrize("name", ["llama", "qkv-bias", "layer-norm-without-beta"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_with_every_kind_of_model(show, page, name):
    text = said(show(page, CONFIGS[name])[1])
    assert "{" not in text
    if CONFIGS[name].get("norm_beta") is False or CONFIGS[name].get("norm") == "rms":
        assert "shift by β" not in text
