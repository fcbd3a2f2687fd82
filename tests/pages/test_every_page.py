"""Every page opens, with every model, in both languages, and says everything in words."""

import re

import pytest

from core.view import texts
from core.view.html import esc
from tests.support.app import ROOT, drawn, open_page, said
from tests.support.subjects import PRESETS

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
EXAMPLES = [{"model": "worked-example", "preset": preset} for preset in PRESETS]
# A block that is not the first, and a head and token that are not the last.
BUNDLED = {"model": "bundled", "layer": 3, "head": 2, "token": 1}
# What differs between presets is in English; in Korean the least and the most of a model suffice.
CASES = [("en", query) for query in (*EXAMPLES, BUNDLED)]
CASES += [("ko", query) for query in (EXAMPLES[0], EXAMPLES[-1], BUNDLED)]


def case_id(case):
    language, query = case
    return f"{language}-{query.get('preset', 'bundled')}"


@pytest.mark.parametrize("case", CASES, ids=case_id)
@pytest.mark.parametrize("name", PAGES)
def test_page_opens(name, case):
    language, query = case
    at = open_page(name, lang=language, **query)
    known = texts.load(language)
    headings = re.findall("<h1[^>]*>(.*?)</h1>", drawn(at))
    assert headings == [esc(known[f"{name}.title"])]
    assert "{" not in said(at)  # a placeholder that nobody filled in
    assert not set(re.findall(r"[\w.]+", said(at))) & {key for key in known if "." in key}
