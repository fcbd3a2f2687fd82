"""Changes as a short text for a link, and back. Nothing in a link is trusted.

`v1~~blocks.0.attn.W_Q~1-0-2~0.8~~-scaled~off`: a version, then the entries; a leading minus says
that one is switched off. Only characters that stay as they are in an address.
"""

from __future__ import annotations

import base64
import binascii
import math
import re

from core.changes.change import Change, Changes, Entry, Patch, Put, Switch
from core.changes.switches import SWITCHES
from core.models.tokenizer import clean_text

VERSION = "v1"
MOST = 2_000  # entries, and characters of a patch's text
NAME = re.compile(r"[A-Za-z0-9_.]{1,60}")
INDEX = re.compile(r"(?:[0-9]{1,7}|x)(?:-(?:[0-9]{1,7}|x)){0,3}")
NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?")
TEXT = "t."


class BadLink(ValueError):
    """A text that `encode` does not write. kind: version, long or damaged."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def encode(changes: Changes) -> str:
    """The changes as text; empty for none."""
    if not changes:
        return ""
    return "~~".join([VERSION, *map(_entry, changes.entries)])


def _entry(entry: Entry) -> str:
    return ("" if entry.on else "-") + "~".join(_fields(entry.change))


def _fields(change: Change) -> tuple[str, ...]:
    if isinstance(change, Switch):
        return change.setting, change.value
    index = "-".join("x" if i is None else str(i) for i in change.index)
    if isinstance(change, Patch):
        letters = base64.urlsafe_b64encode(clean_text(change.text).encode())
        return change.name, index, TEXT + letters.decode("ascii").rstrip("=")
    return change.name, index, repr(float(change.value))


def decode(text: str) -> Changes:
    """The changes that `encode` was given. Raises BadLink."""
    if not text:
        return Changes()
    version, *entries = text.split("~~", MOST + 1)
    if version != VERSION:
        known = re.fullmatch(r"v[0-9]{1,4}", version)
        raise BadLink("version" if known else "damaged", f"not written by {VERSION}")
    if len(entries) > MOST:
        raise BadLink("long", f"more than {MOST} changes")
    return Changes().with_entries(map(_read_entry, entries))


def _read_entry(text: str) -> Entry:
    off = text.startswith("-")
    fields = text.removeprefix("-").split("~")
    if len(fields) == 2 and fields[1] in SWITCHES.get(fields[0], ((),))[0]:
        return Entry(Switch(*fields), not off)
    if len(fields) == 3 and NAME.fullmatch(fields[0]) and INDEX.fullmatch(fields[1]):
        index = tuple(None if i == "x" else int(i) for i in fields[1].split("-"))
        if fields[2].startswith(TEXT):
            return Entry(Patch(fields[0], index, _text(fields[2].removeprefix(TEXT))), not off)
        if NUMBER.fullmatch(fields[2]) and math.isfinite(value := float(fields[2])):
            return Entry(Put(fields[0], index, value), not off)
    raise BadLink("damaged", f"not a change: {text[:80]}")


def _text(letters: str) -> str:
    try:
        text = base64.b64decode(letters + "=" * (-len(letters) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise BadLink("damaged", "a text that was cut off") from error
    if len(text) > MOST:
        raise BadLink("long", f"a text of more than {MOST} characters")
    return text
