"""The path strip leads to every page there is."""

import re
from pathlib import Path

from core.view.strip import BESIDE, EXPERIMENTS, FILES, OVERVIEW, PAGES, SIZES, STOPS

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_can_be_reached_and_is_listed():
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    listed = set(re.findall(r'st\.Page\("pages/(\w+)\.py"', (ROOT / "app.py").read_text()))
    assert pages == set(FILES) == listed == {OVERVIEW, EXPERIMENTS, SIZES, *PAGES.values(), *BESIDE}


def test_pages_belong_to_stops():
    assert set(PAGES) | set(BESIDE.values()) <= set(STOPS)
