"""Arrays to pictures: pure functions, the same colours for the same quantity on every page.

Signed values go from purple through nothing to orange, shares from nothing to blue. Zero is
transparent, so one picture serves a light and a dark page.
"""

from __future__ import annotations

import base64
import io
import math

import numpy as np
from PIL import Image

NEGATIVE, POSITIVE = "#7f5cc6", "#e07b14"
SHARE = "#2a7fb8"
MASKED = "#8b95a1"
# White text on each has a contrast of at least 4.5; told apart with every kind of colour vision
# by their order as well, and always accompanied by the token's text or number.
TOKEN_COLOURS = ("#4070a5", "#1f7a2e", "#a63272", "#856600", "#bb4a26", "#0f7272")
STEPS = 127
HATCH = 8  # pixels per cell where a masked cell is hatched
WIDEST = 2048  # pixels of a picture; beyond, each stands for several cells
HATCHED_CELLS = 48  # rows up to which it is; beyond, a masked cell is plain grey


class Root(float):
    """The end of a scale whose colours grow with the square root of the value.

    For quantities whose small values must stay visible beside large ones: the residual stream
    grows a hundredfold from its start to its end.
    """


def token_colour(position: int) -> str:
    """The colour that the token at `position` has everywhere."""
    return TOKEN_COLOURS[position % len(TOKEN_COLOURS)]


def nice_limit(*arrays: np.ndarray) -> float:
    """Where the colour scale ends: 1, 2 or 5 times a power of ten, above 98 % of the values."""
    finite = np.concatenate([np.abs(a[np.isfinite(a)]).ravel() for a in arrays])
    top = float(np.quantile(finite, 0.98)) if finite.size else 0.0
    if top <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(top))
    return next(power * step for step in (1, 2, 5, 10) if top <= power * step * (1 + 1e-9))


def signed_picture(values: np.ndarray, limit: float) -> str:
    """Rows of signed values as a PNG data URI, one pixel each; masked (−∞) cells are hatched."""
    scaled = np.clip(np.nan_to_num(values, neginf=0.0) / float(limit), -1.0, 1.0)
    if isinstance(limit, Root):
        scaled = np.sign(scaled) * np.sqrt(np.abs(scaled))
    levels = (STEPS + np.rint(scaled * STEPS)).astype(np.uint8)
    return _png(levels, np.isneginf(values), STEPS, _signed_palette())


def share_picture(values: np.ndarray, top: float = 1.0, masked: np.ndarray | None = None) -> str:
    """Rows of shares (0 to `top`) as a PNG data URI."""
    levels = np.rint(np.clip(values / top, 0.0, 1.0) * 2 * STEPS).astype(np.uint8)
    hidden = np.zeros(values.shape, bool) if masked is None else masked
    return _png(levels, hidden, 0, _share_palette())


def pooled(values: np.ndarray, widest: int = WIDEST) -> np.ndarray:
    """At most `widest` rows and columns: of each block of cells the value furthest from 0."""
    for axis in (0, 1):
        step = -(-values.shape[axis] // widest)
        if step > 1:
            starts = np.arange(0, values.shape[axis], step)
            high = np.maximum.reduceat(values, starts, axis)
            low = np.minimum.reduceat(values, starts, axis)
            values = np.where(-low > high, low, high)
    return values


def token_ink(position: int) -> str:
    """The token's colour for text on the page itself, lighter where the page is dark."""
    colour = token_colour(position)
    return f"light-dark({colour},color-mix(in srgb,{colour} 50%,white))"


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
    part = min(abs(value) / float(limit), 1.0)
    return math.sqrt(part) if isinstance(limit, Root) else part


def share_colour(value: float) -> str:
    """The share scale for one cell, as CSS."""
    return f"color-mix(in srgb, {SHARE} {min(value, 1.0):.0%}, transparent)"


def _png(levels: np.ndarray, masked: np.ndarray, nothing: int, palette: tuple[bytes, bytes]) -> str:
    """`nothing` is the level that draws nothing."""
    if masked.any():
        levels = _hatched(levels, masked, nothing)
    image = Image.fromarray(np.ascontiguousarray(levels), "P")
    image.putpalette(palette[0])
    return _data_uri(image, transparency=palette[1])


def _hatched(levels: np.ndarray, masked: np.ndarray, nothing: int) -> np.ndarray:
    """Level 255 is the grey of masked cells: in stripes where there is room for them."""
    if len(levels) > HATCHED_CELLS:
        return np.where(masked, 255, levels).astype(np.uint8)
    cell = np.ones((HATCH, HATCH), np.uint8)
    levels, masked = np.kron(levels, cell), np.kron(masked, cell).astype(bool)
    row, column = np.indices(levels.shape)
    stripe = (row + column) % HATCH < 2
    return np.where(masked, np.where(stripe, 255, nothing), levels).astype(np.uint8)


def _signed_palette() -> tuple[bytes, bytes]:
    colours, alphas = bytearray(), bytearray()
    for level in range(256):
        strength = (level - STEPS) / STEPS
        colours += bytes(_rgb(NEGATIVE if strength < 0 else POSITIVE))
        alphas.append(min(255, round(abs(strength) * 255)))
    return _with_mask(colours, alphas)


def _share_palette() -> tuple[bytes, bytes]:
    colours = bytearray(bytes(_rgb(SHARE)) * 256)
    alphas = bytearray(min(255, round(level / (2 * STEPS) * 255)) for level in range(256))
    return _with_mask(colours, alphas)


def _with_mask(colours: bytearray, alphas: bytearray) -> tuple[bytes, bytes]:
    colours[-3:] = bytes(_rgb(MASKED))
    alphas[255] = 150
    return bytes(colours), bytes(alphas)


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
