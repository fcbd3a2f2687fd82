"""HTML helpers: nothing typed is ever markup, and numbers read as people write them."""

import math
import re

import pytest

from core.view import html
from core.view.figures import Root


@pytest.mark.parametrize("text", ["<b>x</b>", '"onload="x', "a & b", "<script>alert(1)</script>"])
def test_text_is_escaped_everywhere(text):
    for made in (
        html.esc(text),
        html.para(text),
        html.chip(text, 0, text, title=text),
        html.small_matrix([[1.0]], [text], limit=1.0, caption=text, columns=[text]),
        html.image("data:x", text),
    ):
        assert "<b>" not in made
        assert "<script" not in made
        assert '"onload' not in made


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.61, "0.61"),
        (-0.5, "−0.50"),
        (-0.001, "−0.001"),
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (0.0007, "0.0007"),
        (-7e-5, "−7·10⁻⁵"),
        (-math.inf, "−∞"),
        (1234567.0, "1.2·10⁶"),
        (2e-7, "2·10⁻⁷"),
    ],
)
def test_numbers(value, written):
    assert html.number(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        *((0.0, "0.00"), (0.011881, "0.0119"), (0.1090367, "0.109"), (-4.2, "−4.20")),
        *((1234.5, "1234"), (0.0004, "0.000400"), (4e-5, "4.00·10⁻⁵"), (math.inf, "∞")),
        *((math.nan, "NaN"), (1e7, "1.00·10⁷")),
    ],
)
def test_three_digits_say_something(value, written):
    assert html.significant(value) == written


@pytest.mark.parametrize(
    ("share", "written"), [(0.118, "11.8 %"), (1.0, "100.0 %"), (0.0003, "0.03 %"), (0, "0.0 %")]
)
def test_percentages_never_hide_a_small_share(share, written):
    assert html.percent(share) == written


def test_masked_cells_say_so():
    made = html.small_matrix([[1.0, -math.inf]], ["a"], limit=1.0, caption="scores")
    assert 'class="masked">−∞<' in made


def test_tokens_show_their_spaces_and_are_not_endless():
    assert html.shown(" sat\n") == "·sat↵"
    assert len(html.shown("x" * 999)) == html.LONGEST


def test_legend_of_shares_names_the_share_of_half_the_colour():
    ends = re.findall("<span>(.*?)</span>", html.share_legend(""))
    assert ends == ["0", "0.125", "1"]


def test_legend_of_a_root_scale_names_the_middles():
    assert "1.25" in html.signed_legend(Root(5.0), "")
    assert "1.25" in html.signed_legend(Root(10.0, 3), "")
    assert "1.25" not in html.signed_legend(5.0, "")


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (5.54e-17, "5.5·10⁻¹⁷"), (-5.96e-8, "−6.0·10⁻⁸"), (0.25, "0.2500")],
)
def test_a_difference_is_0_only_if_there_is_none(value, written):
    assert html.tiny(value) == written


def test_one_of_several_picks_is_marked():
    drawn = html.picks("<a>", [("<b>", False, {"href": "?x=1"}), ("c", True, {"href": "?x=2"})])
    assert "&lt;a&gt;" in drawn and "&lt;b&gt;" in drawn
    assert drawn.count("<a ") == 2 and drawn.count('aria-current="true"') == 1
    assert '<a class="pick here" aria-current="true" href="?x=2">c</a>' in drawn


def test_what_is_no_number_is_said_to_be_none():
    """An edit can take the root of a negative variance, or divide nothing by nothing."""
    nan, inf = math.nan, math.inf
    assert (html.number(nan), html.tiny(nan), html.percent(nan)) == ("NaN", "NaN", "NaN")
    assert (html.tiny(inf), html.tiny(-inf), html.tiny(0.0)) == ("∞", "−∞", "0")
