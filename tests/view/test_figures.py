"""Pictures: the pixels are the values, and colours can be read."""

import base64
import io
import re

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
    assert list(picture[0, :, 3]) == [255, 0, 128]


def test_values_beyond_the_scale_get_its_full_colour():
    picture = pixels(figures.signed_picture(np.array([[9.0, -9.0]]), 1.0))
    assert list(picture[0, :, 3]) == [255, 255]


def test_root_scale_shows_small_values_more_strongly():
    values = np.array([[0.25]])
    plain = pixels(figures.signed_picture(values, 1.0))[0, 0, 3]
    root = pixels(figures.signed_picture(values, figures.Root(1.0)))[0, 0, 3]
    assert (plain, root) == (65, 128)
    assert figures.strength(0.25, figures.Root(1.0)) == 0.5
    cube = figures.Root(8.0, 3)
    assert figures.strength(-1.0, cube) == pytest.approx(0.5)
    assert pixels(figures.signed_picture(np.array([[-1.0]]), cube))[0, 0, 3] in (127, 128, 129)


def test_masked_cells_are_hatched_not_coloured():
    picture = pixels(figures.signed_picture(np.array([[1.0, -np.inf]]), 1.0))
    hatched = picture[:, figures.HATCH :]
    assert set(map(tuple, hatched.reshape(-1, 4)[hatched[..., 3].ravel() > 0][:, :3])) == {
        tuple(rgb(figures.MASKED))
    }
    assert 0 in hatched[..., 3] and hatched[..., 3].max() > 0


@pytest.mark.parametrize("n", [41, 100, 256])
def test_hatching_can_be_seen_at_any_size_and_leaves_the_values_alone(n):
    shares = np.linspace(0, 1, n * n).reshape(n, n)
    hidden = np.triu(np.ones((n, n), bool), 1)
    picture = pixels(figures.share_picture(shares, masked=hidden))
    size = len(picture) // n
    each = picture[::size, ::size]
    assert np.abs(each[~hidden, 3] - np.cbrt(shares[~hidden]) * 255).max() <= 1.1
    grey = picture[hidden.repeat(size, 0).repeat(size, 1)]
    assert (grey[:, :3] == rgb(figures.MASKED)).all()
    last = picture[: size * n // 2, -1, 3]  # down half of the right edge, where all is masked
    stripes = (np.diff((last == last.max()).astype(int)) == 1).sum()
    assert 5 <= stripes <= 10  # 12 to 50 pixels from one to the next where a picture has 250


def test_a_hatched_picture_of_a_long_text_is_no_larger_than_one_of_its_numbers():
    """One byte a dot, as it is without a mask; four would take four times as long to send."""
    values = np.random.default_rng(0).normal(size=(512, 512))
    hidden = np.triu(np.ones((512, 512), bool), 1)
    hatched = figures.signed_picture(np.where(hidden, -np.inf, values), 3.0)
    assert len(hatched) < len(figures.signed_picture(values, 3.0))


def test_single_masked_cell_of_many_never_looks_like_zero():
    for at in range(0, 256, 5):
        hidden = np.zeros((256, 256), bool)
        hidden[at, 3] = True
        picture = pixels(figures.share_picture(np.zeros((256, 256)), masked=hidden))
        assert picture[at, 3, 3] >= figures.TINT
        assert (picture[..., 3] > 0).sum() == 1


def test_shares_have_the_colour_of_their_root_in_pictures_and_in_cells():
    shares = [0.0, 0.008, 0.125, 1.0, 1.5]
    alphas = pixels(figures.share_picture(np.array([shares])))[0, :, 3]
    assert list(alphas) == [0, 51, 128, 255, 255]
    parts = [re.search(r"(\d+)%", figures.share_colour(share)).group(1) for share in shares]
    assert parts == ["0", "20", "50", "100", "100"]


def test_even_attention_over_a_long_text_can_be_seen():
    """A share of 1/100 evenly coloured would be 3 of 255, which no eye tells from nothing."""
    picture = pixels(figures.share_picture(np.full((100, 100), 0.01)))
    assert picture[..., 3].min() >= 50


def test_a_share_below_0_that_an_edit_made_has_no_colour():
    assert pixels(figures.share_picture(np.array([[-0.5]])))[0, 0, 3] == 0
    assert " 0%" in figures.share_colour(-0.5)


@pytest.mark.parametrize(
    ("top", "limit"), [(0.3, 0.5), (1.0, 1.0), (4.9, 5.0), (60.0, 100.0), (0.0, 1.0)]
)
def test_scales_end_at_round_numbers(top, limit):
    assert figures.nice_limit(top) == pytest.approx(limit)


@pytest.mark.parametrize("colour", figures.TOKEN_COLOURS)
def test_white_text_on_token_colours_is_readable(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_a_token_keeps_its_colour_by_position():
    assert figures.token_colour(0) == figures.token_colour(len(figures.TOKEN_COLOURS))
    assert len(set(figures.TOKEN_COLOURS)) == len(figures.TOKEN_COLOURS)
