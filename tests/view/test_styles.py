"""The style sheets: a class belongs to one of them, and nothing in them stops Streamlit."""

import re
from collections import defaultdict

from tests.support.app import ROOT

SHEETS = {path.stem: path.read_text("utf-8") for path in (ROOT / "assets/css").glob("*.css")}
SHARED = {"stApp"}  # where variables are set


def bare_classes(sheet):
    """The classes that a sheet styles wherever they occur: `.x { … }`, not `.page .x { … }`."""
    css = re.sub(r"/\*.*?\*/", "", sheet, flags=re.S)
    css = re.sub(r"@(media|container|supports)[^{]*\{", "", css)
    for selectors in re.findall(r"([^{}]+)\{", css):
        for selector in selectors.split(","):
            if found := re.fullmatch(r"\s*\.([\w-]+)(:[\w-]+(\([^)]*\))?)*\s*", selector):
                yield found[1]


def test_no_class_is_styled_by_two_sheets():
    sheets = defaultdict(set)
    for name, sheet in SHEETS.items():
        for cls in bare_classes(sheet):
            sheets[cls].add(name)
    assert {
        cls: names for cls, names in sheets.items() if len(names) > 1 and cls not in SHARED
    } == {}


def test_bare_classes_are_found():
    css = ".a { x: 1; } .b:hover, .c .d { x: 1; } @media (min-width: 1px) { .e { x: 1; } }"
    assert set(bare_classes(css)) == {"a", "b", "e"}


def test_no_sheet_has_what_would_end_the_style_element():
    # Streamlit drops a whole style sheet with a "<" in it, without an error.
    assert [name for name, sheet in SHEETS.items() if "<" in sheet] == []
