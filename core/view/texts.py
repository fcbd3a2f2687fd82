"""Every sentence that a person reads, by language and key, from assets/texts/<language>/*.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

TEXTS = Path(__file__).resolve().parents[2] / "assets" / "texts"
LANGUAGES = {"en": "English", "ko": "한국어"}

Text = Callable[..., str]


class UnknownText(KeyError):
    """A key that the language does not have."""


@cache
def load(language: str) -> dict[str, str]:
    """All texts of one language by dotted key."""
    texts: dict[str, str] = {}
    for path in sorted((TEXTS / language).glob("*.toml")):
        with path.open("rb") as file:
            texts |= dict(_flatten("", tomllib.load(file)))
    return texts


def _flatten(prefix: str, table: dict) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict):
            yield from _flatten(key, value)
        else:
            yield key, value


def text(language: str, key: str, **values: object) -> str:
    """The text with its {placeholders} filled in. Raises UnknownText.

    A key that names a table with `one` and `other` picks by the value `n`.
    """
    texts = load(language)
    if key not in texts:
        form = "one" if values.get("n") == 1 else "other"
        key = f"{key}.{form}"
    if key not in texts:
        raise UnknownText(f"{language}: {key}")
    return texts[key].format(**{name: _shown(value) for name, value in values.items()})


def _shown(value: object) -> object:
    """Whole numbers get their thousands separated: 50,257."""
    return f"{value:,}" if isinstance(value, int) else value


def gloss(t: Text, word: str) -> str:
    """What a word of the worked example means; empty for all others, and for who can read it."""
    try:
        meaning = t(f"gloss.{word}")
    except UnknownText:
        return ""
    return "" if meaning == word else meaning


def speaker(language: str) -> Text:
    """`t` of one language: t("overview.title"), t("axes.pos", n=5)."""
    return partial(text, language)
