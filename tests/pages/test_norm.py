"""The page on the residual and LayerNorm."""

import re

import numpy as np
import pytest

from tests.support.app import boards, drawn, open_page, pictures, rows, said, stacked


def example(preset="part-4", **query):
    return open_page("norm", model="worked-example", preset=preset, **query)


def test_final_norm_of_the_bundled_model():
    assert "160" in said(open_page("norm", model="bundled", layer=3, token=1, norm="ln_f"))


def test_printed_mean_and_spread():
    text = said(example())
    assert "μ = 1.28" in text and "√(σ² + ε) = 0.34" in text
    line = rows(example(), "followed along")[3]
    assert line[-2:] == ["1.28", "0.340"]


def test_stream_is_what_was_carried_plus_what_is_added():
    carried, added, total, *_ = (row[1:] for row in stacked(example()))
    assert carried == ["0.60", "0.40", "0.90"] and added == ["0.74", "0.44", "0.77"]
    for a, b, c in zip(carried, added, total, strict=True):
        assert float(a) + float(b) == pytest.approx(float(c), abs=0.011)


def test_printed_share_of_the_gradient():
    assert "gets 1/25 of what the last one gets" in said(example())
    first = rows(example(), "followed")[1]
    assert first == ["layer 1", "4.0 %", "0.00020"]


def test_order_of_the_numbers_is_kept():
    assert "0.84 < 1.34 < 1.67 became −1.30 < 0.17 < 1.13" in said(example())


def test_mean_after_the_norm_is_shown_as_it_is():
    # Which rounding is left, if any, depends on the order in which this processor adds.
    found = re.search(r"the mean comes out as (\S+) and the spread as 0\.99995\d", said(example()))
    assert re.fullmatch(r"0|−?\d\.\d·10⁻¹[5-9]", found[1])


def test_norm_is_chosen_in_the_link():
    at = example("block", norm="ln_1")
    assert "μ = 0.63" in said(at)  # the mean of [0.6, 0.4, 0.9]
    assert at.query_params["norm"] == "ln_1"


def test_nonsense_in_the_link_is_named_and_replaced():
    at = example("block", norm="ln_9")
    assert "ln_9" in said(at) and "μ =" in said(at)


def test_before_and_after_are_both_computed():
    table = [row for row in rows(example("block"), "plain compared")]
    assert table[1] == ["start", "1.15", "1.15"]
    assert table[2][0] == "after block 0" and table[2][2] == "1.73"


@pytest.mark.parametrize(
    ("preset", "word", "link"),
    [
        ("part-1", "no shortcut", "part-4"),
        ("part-2", "no norm here", "part-4"),
        ("part-6", "nothing to move", "block"),
    ],
)
def test_what_a_variant_lacks_gets_a_word_and_a_link(preset, word, link):
    at = example(preset)
    assert word in said(at) and f'data-set="preset={link}"' in drawn(at)


def test_a_wide_model_shows_every_matrix_and_the_windows_of_a_sum_agree():
    at = open_page("norm", model="bundled")
    titles = [one["title"] for one in pictures(at)]
    assert titles == [
        *("carried so far", "+ attention adds", "= carried on"),
        *("γ", "β", "On a common scale", "Stretched and shifted"),
    ]
    windows = [panel for board in boards(at) for panel in board["panels"]][:3]
    carried, added, total = (np.array(one["values"]).reshape(6, 12) for one in windows)
    assert carried + added == pytest.approx(total, abs=1e-6)


def test_additions_are_written_out():
    text = said(example("block"))
    assert "resid_mid[2, 0] = 0.6 − 1.496 = −0.8956" in text
    assert "resid_out: H + mlp.out" in text
