"""Arrays to pictures: pure functions, the same colours for the same quantity on every page.

Signed values go from purple through nothing to orange, shares from nothing to blue. Zero is
transparent, so one picture serves a light and a dark page.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
from PIL import Image

NEGATIVE, POSITIVE = "#7f5cc6", "#e07b14"
SHARE = "#2a7fb8"
MASKED = "#8b95a1"
# White text on each has a contrast of at least 4.5; told apart with every kind of colour vision
# by their order as well, and always accompanied by the token's text or number.
TOKEN_COLOURS = ("#4070a5", "#1f7a2e", "#a63272", "#856600", "#bb4a26", "#0f7272")
STEPS = 126  # strengths of each colour in a picture
BETWEEN, STRIPED = 254, 255  # beyond these: the two greys of masked cells
HATCH = 8  # pixels per cell where a masked cell is hatched, and from stripe to stripe, at least
HATCHED = 384  # pixels of a picture with masked cells; those of many cells have fewer for each
STRIPES = 16  # along the side of a picture, at most: they can be told apart in a small one too
STRIPE, TINT = 150, 50  # how strong the grey of masked cells is in stripes, and between wide ones
SMALL_PICTURE = 4096  # cells of a picture worth remembering
WIDEST = 768  # dots of a picture each way; beyond, each stands for several cells
THUMBNAIL = 192  # of a picture that is chosen among others, or stands on a card


class Root(float):
    """The end of a scale whose colours grow with a root of the value: half are 1 / 2^degree of it.

    For quantities whose small values must stay visible beside large ones: the residual stream
    grows a hundredfold from its start to its end.
    """

    degree: int

    def __new__(cls, end: float, degree: int = 2) -> Root:
        made = super().__new__(cls, end)
        made.degree = degree
        return made


# Where colours of shares end: attention over hundreds of tokens gives most of them next to nothing.
SHARES = Root(1.0, 3)


def degree(limit: float) -> int:
    """With which root of a value the colours of a scale grow; 1 if evenly."""
    return limit.degree if isinstance(limit, Root) else 1


def token_colour(position: int) -> str:
    """The colour that the token at `position` has everywhere."""
    return TOKEN_COLOURS[position % len(TOKEN_COLOURS)]


def nice_limit(top: float) -> float:
    """The first of 1, 2 and 5 times a power of ten that is not below `top`; 1 for 0."""
    if top <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(top))
    return next(power * step for step in (1, 2, 5, 10) if top <= power * step * (1 + 1e-9))


def signed_picture(values: np.ndarray, limit: float) -> str:
    """Rows of signed values as a PNG data URI, one pixel each; masked (−∞) cells are hatched."""
    levels = (STEPS + np.rint(_scaled(values, limit) * STEPS)).astype(np.uint8)
    return _png(levels, np.isneginf(values), _signed_palette)


def share_picture(values: np.ndarray, masked: np.ndarray | None = None) -> str:
    """Rows of shares as a PNG data URI."""
    levels = np.rint(np.maximum(_scaled(values, SHARES), 0.0) * 2 * STEPS).astype(np.uint8)
    hidden = np.zeros(values.shape, bool) if masked is None else masked
    return _png(levels, hidden, _share_palette)


def _scaled(values: np.ndarray, limit: float) -> np.ndarray:
    """How strongly each is coloured, from -1 to 1; masked ones not at all."""
    parts = np.clip(np.nan_to_num(values, neginf=0.0) / float(limit), -1.0, 1.0)
    root = degree(limit)
    return parts if root == 1 else np.sign(parts) * np.abs(parts) ** (1 / root)


def pooled(values: np.ndarray, widest: int = WIDEST, tallest: int = WIDEST) -> np.ndarray:
    """At most `tallest` rows and `widest` columns: of each block of cells the furthest from 0.

    Masked (−∞) only where the whole block is.
    """
    return _pooled_rows(_pooled_rows(values, tallest).T, widest).T


def _pooled_rows(values: np.ndarray, most: int) -> np.ndarray:
    """At most `most` rows, row by row, which is several times as fast as `reduceat`."""
    step = -(-len(values) // most)
    if step <= 1:
        return values
    values = np.ascontiguousarray(values)
    seen = np.where(values == -np.inf, np.inf, values)
    high, low = values[::step].copy(), seen[::step].copy()
    for i in range(1, step):
        n = len(values[i::step])  # the last block may have fewer rows
        np.maximum(high[:n], values[i::step], out=high[:n])
        np.minimum(low[:n], seen[i::step], out=low[:n])
    return np.where(-low > high, low, high)


def token_ink(position: int) -> str:
    """The token's colour for text on the page itself, lighter where the page is dark."""
    colour = token_colour(position)
    return f"light-dark({colour},color-mix(in srgb,{colour} 50%,white))"


@lru_cache(maxsize=128)
def colour_picture(positions: int, across: bool) -> str:
    """One pixel per token in its colour, along a picture's side (or its top: `across`)."""
    rgb = np.array([_rgb(token_colour(i)) for i in range(positions)], np.uint8)
    return _data_uri(Image.fromarray(rgb[None] if across else rgb[:, None], "RGB"))


def cell_colour(value: float, limit: float) -> str:
    """The same signed scale for one cell, as CSS."""
    if math.isinf(value):
        return "transparent"
    part = strength(value, limit)
    return f"color-mix(in srgb, {NEGATIVE if value < 0 else POSITIVE} {part:.0%}, transparent)"


def strength(value: float, limit: float) -> float:
    """How strongly a value is coloured, from 0 to 1."""
    return min(abs(value) / float(limit), 1.0) ** (1 / degree(limit))


def share_colour(value: float) -> str:
    """The share scale for one cell, as CSS."""
    return f"color-mix(in srgb, {SHARE} {strength(max(value, 0.0), SHARES):.0%}, transparent)"


def _png(levels: np.ndarray, masked: np.ndarray, palette: Callable[[], np.ndarray]) -> str:
    """A page has hundreds of small pictures, most of them as they were in the run before."""
    if levels.size > SMALL_PICTURE:
        return _encoded.__wrapped__(levels.tobytes(), masked.tobytes(), levels.shape, palette)
    return _encoded(levels.tobytes(), masked.tobytes(), levels.shape, palette)


@lru_cache(maxsize=4096)
def _encoded(
    levels_bytes: bytes,
    masked_bytes: bytes,
    shape: tuple[int, int],
    palette: Callable[[], np.ndarray],
) -> str:
    levels = np.frombuffer(levels_bytes, np.uint8).reshape(shape)
    masked = np.frombuffer(masked_bytes, bool).reshape(shape)
    colours = palette()
    if masked.any():
        levels, tint = _hatched(levels, masked)
        greys = [(*_rgb(MASKED), alpha) for alpha in (tint, STRIPE)]
        colours = np.vstack([colours[:BETWEEN], greys]).astype(np.uint8)
    image = Image.fromarray(levels, "P")
    image.putpalette(colours[:, :3].tobytes())
    return _data_uri(image, transparency=colours[:, 3].tobytes())


def _hatched(levels: np.ndarray, masked: np.ndarray) -> tuple[np.ndarray, int]:
    """Masked cells in stripes: each has its own, or where cells are small they run on over many.

    Between those there is a tint, so that a single masked cell never looks like a value of 0; how
    strong it is comes second.
    """
    size = min(HATCH, max(1, HATCHED // max(masked.shape)))
    levels, masked = (a.repeat(size, axis=0).repeat(size, axis=1) for a in (levels, masked))
    apart = max(HATCH, max(masked.shape) // STRIPES)
    row, column = np.ogrid[: masked.shape[0], : masked.shape[1]]
    stripe = (row + column) % apart < apart * 3 // 10
    greys = np.where(stripe, STRIPED, BETWEEN).astype(np.uint8)
    return np.where(masked, greys, levels), 0 if apart == size else TINT


@cache
def _signed_palette() -> np.ndarray:
    strength = (np.arange(256) - STEPS) / STEPS
    alphas = np.minimum(255, np.rint(np.abs(strength) * 255))
    colours = np.where(strength[:, None] < 0, _rgb(NEGATIVE), _rgb(POSITIVE))
    return np.column_stack([colours, alphas]).astype(np.uint8)


@cache
def _share_palette() -> np.ndarray:
    alphas = np.minimum(255, np.rint(np.arange(256) / (2 * STEPS) * 255))
    return np.column_stack([np.tile(_rgb(SHARE), (256, 1)), alphas]).astype(np.uint8)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def svg(width: int, height: int, shapes: list[str]) -> str:
    """Shapes as an SVG data URI that stretches to the room it gets."""
    content = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'preserveAspectRatio="none">{"".join(shapes)}</svg>'
    )
    return "data:image/svg+xml;base64," + base64.b64encode(content.encode()).decode("ascii")


def _data_uri(image: Image.Image, **options: object) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1, **options)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
