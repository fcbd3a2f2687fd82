"""Pictures of the Embedding, Position and Q, K, V pages: pure functions from values to HTML."""

import re

import numpy as np
import pytest
import torch

import core
from core.view import embedding_pictures, position_kinds, position_pictures, qkv_pictures, sketch
from core.view.look import Look
from core.view.texts import speaker
from tests.support.still import Still


def look(preset="block", token=2, head=0, language="en", ids=(0, 1, 2)):
    trace = core.load("worked-example", preset=preset, device="cpu").trace(list(ids))
    return Look(speaker(language), trace, Still(), 0, head, token)


@pytest.mark.parametrize(
    ("count", "written"),
    [
        (0, "0 B"),
        (72, "72 B"),
        (999, "999 B"),
        (1000, "1 KB"),
        (102_400, "102 KB"),
        (2**20, "1.05 MB"),
    ],
)
def test_bytes_are_written_in_the_largest_unit(count, written):
    assert qkv_pictures.bytes_text(count) == written


def test_share_of_zeros_is_never_rounded_to_all():
    assert embedding_pictures.written_share(embedding_pictures.zero_share(50257)) == "99.998 %"
    assert embedding_pictures.written_share(embedding_pictures.zero_share(6)) == "83.3 %"


def test_angle_is_drawn_as_it_is():
    drawn = sketch.angle_picture(2.0, 1.0, 0.0, ("a", "<b>"))
    assert "90.0°" in drawn and "--turn:-90.00deg" in drawn and "<b>&lt;" not in drawn
    assert "--long:100.00" in drawn and "--long:50.00" in drawn and "&lt;b&gt;" in drawn


def test_cosine_a_hair_above_1_is_no_angle():
    assert "0.0°" in sketch.angle_picture(1.0, 1.0, 1.0000000000000002, ("a", "b"))


@pytest.mark.parametrize("token", [0, 1, 2])
def test_written_product_lets_one_row_through(token):
    drawn = embedding_pictures.written_product(look(token=token))
    (one,) = re.findall(r'<span class="one">1·([0-9.]+)</span>', drawn)
    assert float(one) == (0.2, 0.8, 0.4)[token]
    assert drawn.count('class="zero"') == 5


def test_few_numbers_are_written_and_many_are_a_picture_that_is_read_out():
    few = sketch.row_of_values(np.array([0.5, -0.25]), 1.0, "row")
    assert "0.50" in few and "−0.25" in few
    many = sketch.row_of_values(np.linspace(-1, 1, 40), 1.0, "row <x>")
    assert many.startswith("<img") and 'alt="row &lt;x&gt;: −1.00, ' in many


@pytest.mark.parametrize(
    ("width", "columns"), [(1, [0]), (3, [0, 1, 2]), (16, [0, 2, 4, 8]), (160, [0, 20, 40, 80])]
)
def test_curves_are_of_numbers_that_exist_and_get_slower(width, columns):
    assert position_kinds.columns(width) == columns
    assert all(column < width for column in columns)


def test_places_compared_name_the_nearest_and_a_far_one():
    rows = torch.tensor([[1.0, 0], [0.9, 0.1], [0, 1.0], [-1.0, 0]])
    drawn = position_kinds.alike(look(token=0), {"learned": rows})
    assert "Place 0 is most like place 1 (0.99). With place 3 its cosine is −1.00." in drawn


def test_identity_is_found_only_where_it_is():
    assert qkv_pictures.identity(look("part-2")) == 0
    assert qkv_pictures.identity(look("part-3")) is None
    assert qkv_pictures.identity(look("block")) is None


def test_too_long_text_keeps_its_end():
    assert position_pictures.too_long(look(), beyond=5) == {"n": 13, "kept": 8, "cut": 5}
