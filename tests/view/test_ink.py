"""Numbers in coloured cells can be read, on a light page and on a dark one."""

import re
from pathlib import Path

import pytest

from core.view.figures import NEGATIVE, POSITIVE, SHARE, SHARES, strength
from core.view.html import ink

CSS = (Path(__file__).resolve().parents[2] / "assets/css/overview.css").read_text(encoding="utf-8")
PAGES = {"light": ("#ffffff", "#1c2430"), "dark": ("#12181f", "#e8edf3")}


def rgb(colour):
    colour = "".join(2 * c for c in colour[1:]) if len(colour) == 4 else colour[1:]
    return [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]


def luminance(colour):
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def ink_colour(cls, theme):
    """What the style sheet says, the page's own ink without a class."""
    if cls is None:
        return PAGES[theme][1]
    said = re.search(rf"^\.{cls} {{ color: (.*); }}", CSS, re.M).group(1)
    both = re.findall("#[0-9a-f]+", said)
    return both[-1] if theme == "dark" else both[0]


@pytest.mark.parametrize("theme", PAGES)
@pytest.mark.parametrize(("colour", "sign"), [(NEGATIVE, -1), (POSITIVE, 1), (SHARE, 0)])
def test_number_stands_out_from_its_cell_at_every_strength(colour, sign, theme):
    page = rgb(PAGES[theme][0])
    for percent in range(101):
        part = percent / 100
        cell = [part * a + (1 - part) * b for a, b in zip(rgb(colour), page, strict=True)]
        cls = ink(part**3, None) if sign == 0 else ink(sign * part, 1.0)
        assert sign or strength(part**3, SHARES) == pytest.approx(part)
        assert contrast(cell, rgb(ink_colour(cls, theme))) > 4.3, (percent, cls)
