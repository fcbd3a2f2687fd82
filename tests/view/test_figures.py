"""Pictures: the pixels are the values, and colours can be read."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from core.view import figures


def pixels(uri):
    """A PNG data URI as [height, width, RGBA]."""
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")).astype(int)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def test_signed_picture_has_one_pixel_per_value_in_the_colour_of_its_sign():
    picture = pixels(figures.signed_picture(np.array([[-2.0, 0.0, 1.0]]), 2.0))
    assert picture.shape == (1, 3, 4)
    assert list(picture[0, 0, :3]) == rgb(figures.NEGATIVE)
    assert list(picture[0, 2, :3]) == rgb(figures.POSITIVE)
    assert list(picture[0, :, 3]) == [255, 0, 129]


def test_values_beyond_the_scale_get_its_full_colour():
    picture = pixels(figures.signed_picture(np.array([[9.0, -9.0]]), 1.0))
    assert list(picture[0, :, 3]) == [255, 255]


def test_root_scale_shows_small_values_more_strongly():
    values = np.array([[0.25]])
    plain = pixels(figures.signed_picture(values, 1.0))[0, 0, 3]
    root = pixels(figures.signed_picture(values, figures.Root(1.0)))[0, 0, 3]
    assert (plain, root) == (64, 129)
    assert figures.strength(0.25, figures.Root(1.0)) == 0.5


def test_masked_cells_are_hatched_not_coloured():
    picture = pixels(figures.signed_picture(np.array([[1.0, -np.inf]]), 1.0))
    hatched = picture[:, figures.HATCH :]
    assert set(map(tuple, hatched.reshape(-1, 4)[hatched[..., 3].ravel() > 0][:, :3])) == {
        tuple(rgb(figures.MASKED))
    }
    assert 0 in hatched[..., 3] and hatched[..., 3].max() > 0


def test_shares_are_proportional():
    alphas = pixels(figures.share_picture(np.array([[0.0, 0.5, 1.0]])))[0, :, 3]
    assert list(alphas) == [0, 128, 255]


@pytest.mark.parametrize(
    ("values", "limit"), [([0.3], 0.5), ([1.0], 1.0), ([3.0, -4.9], 5.0), ([60.0], 100.0), ([0], 1)]
)
def test_scales_end_at_round_numbers(values, limit):
    assert figures.nice_limit(np.array(values, float)) == pytest.approx(limit)


def test_scale_ignores_masked_values():
    assert figures.nice_limit(np.array([-np.inf, 0.9])) == 1.0


@pytest.mark.parametrize("colour", figures.TOKEN_COLOURS)
def test_white_text_on_token_colours_is_readable(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_a_token_keeps_its_colour_by_position():
    assert figures.token_colour(0) == figures.token_colour(len(figures.TOKEN_COLOURS))
    assert len(set(figures.TOKEN_COLOURS)) == len(figures.TOKEN_COLOURS)
