"""Rows of numbers under each other, squares of shares, and how small numbers are written."""

import re

import numpy as np
import pytest

import core
from core.view.look import Look
from core.view.stripes import FEW, Row, bars, columns_by_part, share_text, stack
from core.view.texts import speaker


@pytest.fixture(scope="module")
def look():
    model = core.load("worked-example", preset="block")
    return Look(speaker("en"), model.trace(model.default_prompt), None, 0, 0, 2)


def cells(drawn):
    return re.findall(r"<span[^>]*background[^>]*>([^<]*)</span>", drawn)


def test_few_numbers_are_written_and_many_are_a_picture():
    assert cells(bars(np.array([0.5, -1.25]), 1.0)) == ["0.50", "−1.25"]
    many = bars(np.linspace(-1, 2, FEW + 1), 2.0, "q")
    assert cells(many) == [] and 'alt="q (9: −1.00 … 2.00)"' in many


def test_parts_of_a_row_are_named():
    drawn = bars(np.arange(4.0), 4.0, parts=[("head 0", "red"), ("head 1", "blue")])
    assert re.findall(r"<small>(.*?)</small>", drawn) == ["head 0", "head 1"]
    assert drawn.index("1.00") < drawn.index("<small>head 0") < drawn.index("2.00")


def test_stack_draws_all_rows_on_one_scale_and_names_parts_in_totals_only():
    rows = [Row("a", np.array([1.0, 0.0])), Row("b", np.array([1.0, 4.0]), "=", total=True)]
    drawn = stack(speaker("en"), rows, 5.0, parts=[("x", "red"), ("y", "blue")])
    assert drawn.count("part-of") == 2
    assert drawn.count("20%, transparent") == 2  # 1 of 5, in either row


def test_stack_escapes_what_a_row_is():
    assert "<b>" not in stack(speaker("en"), [Row("a", np.ones(2), says='"><b>')], 1.0)


def test_columns_by_part_span_their_columns():
    links = [{"href": "?head=0"}, {"href": "?head=1"}]
    drawn = columns_by_part(np.ones((2, 4)), 1.0, [("a", "red"), ("b", "blue")], "W", links)
    assert drawn.count('colspan="2"') == 2 and drawn.count("1.00") == 8


@pytest.mark.parametrize(
    ("share", "written"),
    [(0.0, "0.00"), (1.0, "1.00"), (0.274, "0.27"), (0.0042, "0.004"), (3e-6, "< 0.0001")],
)
def test_share_text(share, written):
    assert share_text(share) == written
