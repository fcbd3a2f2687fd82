"""Both languages say the same things, and every key that the code asks for exists."""

import ast
import re
import string
from pathlib import Path

import pytest

from core.view.texts import LANGUAGES, UnknownText, load, text

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT / "app.py", *(ROOT / "core/view").glob("*.py"), *(ROOT / "pages").glob("*.py")]
KEY = re.compile(r"[a-z_]+(\.[\w-]+)+")
FORMS = (".one", ".other")


def placeholders(sentence):
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def strings():
    """Every constant and every beginning of an f-string in the code of the pages."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                yield node.values[0].value + "*"


def base(key):
    return next((key.removesuffix(form) for form in FORMS if key.endswith(form)), key)


def test_languages_have_the_same_keys():
    keys = {language: set(load(language)) for language in LANGUAGES}
    assert keys["en"] == keys["ko"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_have_the_same_placeholders_as_in_english(language):
    other = load(language)
    differing = {
        key
        for key, sentence in load("en").items()
        if placeholders(sentence) - {"n"} != placeholders(other[key]) - {"n"}
    }
    assert not differing


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_empty(language):
    assert not {key for key, sentence in load(language).items() if not sentence.strip()}


def test_korean_is_translated():
    """The same in both languages are only symbols, names and what people type."""
    english, korean = load("en"), load("ko")
    symbols = re.compile(r"\{[^}]*\}|\w*_\w*|\b(exp|softmax|sqrt)\b")
    same = {key for key, sentence in korean.items() if sentence == english[key]}
    words = {key for key in same if re.search("[a-z]{3,}", symbols.sub("", english[key]))}
    quoted = (".prompt", ".model", ".translation")
    assert not {key for key in words if not key.endswith(quoted)}


def test_every_text_is_used():
    """By its whole key, by the beginning of a computed key, or at least by its section's name."""
    asked = set(strings())
    parts = {part for value in asked for part in value.rstrip("*").split(".")}
    beginnings = tuple(v.rstrip("*") for v in asked if "." in v and v.endswith(("*", ".")))
    unused = {
        key
        for key in map(base, load("en"))
        if key not in asked
        and not key.startswith(beginnings)
        and not set(key.split(".")[1:]) <= parts
    }
    assert not {key for key in unused if not key.startswith("models.")}


def test_counts_choose_their_form_and_numbers_get_separators():
    assert text("en", "axes.pos", n=1) == "1 token"
    assert text("en", "axes.vocab", n=50257) == "50,257 possible tokens"


def test_an_unknown_key_is_an_error():
    with pytest.raises(UnknownText, match=r"no\.such"):
        text("en", "no.such")
