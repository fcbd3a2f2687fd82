"""A whole view as a small JSON file that people can read, and back. Nothing in a file is trusted.

    {"ripple": 1, "model": "worked-example", "preset": "block", "prompt": "…", "was": "",
     "changes": [{"set": "blocks.0.attn.W_Q", "at": [1, 0, 2], "to": 0.8},
                 {"take": "blocks.0.attn.out", "at": [2, null], "from": "a text", "on": false},
                 {"switch": "scaled", "to": "off"}],
     "look": {"page": "scores", "layer": 0, "head": 1, "token": 2, "side": "after", "open": "…"}}

null in a place stands for all of that axis, as in `Put`. Whether a change fits a model is not
decided here: see `apply`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.changes.change import Change, Changes, Entry, Patch, Put, Switch
from core.changes.link import BadLink, decode, encode

VERSION = 1
LARGEST = 1_000_000  # bytes
NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
# One of ours, one of the hub as "openai-community/gpt2", or a whole path.
MODEL = re.compile(
    r"[A-Za-z0-9_.-]{1,96}(/[A-Za-z0-9_.-]{1,96})?|(/|[A-Za-z]:[/\\])[^\x00-\x1f]{1,1000}"
)
SIZE = re.compile(r"[a-z0-9_.-]{0,200}")
TRAIL = re.compile(r"[A-Za-z0-9_.~-]{0,4000}")
FIELDS = ("ripple", "model", "preset", "prompt", "was", "changes", "look")


class BadFile(ValueError):
    """A file that `write` does not write. kind: large, foreign (no file of ours), version, damaged.

    The text says what is wrong, for the log.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class Saved:
    """A whole view.

    model, preset, size: as `core.load` takes them; no preset or size is "". prompt, was: the text
    and the one before. look: where we look, by parameter: `page`, `side` and `open` words, the
    others whole numbers.
    """

    model: str
    preset: str
    prompt: str
    was: str = ""
    changes: Changes = field(default_factory=Changes)
    look: Mapping[str, str | int] = field(default_factory=dict)
    size: str = ""


def write(saved: Saved) -> str:
    """The view as the text of a file, one line for each change."""
    values = {
        "ripple": VERSION,
        "model": saved.model,
        "preset": saved.preset,
        "prompt": saved.prompt,
        "was": saved.was,
        "changes": [_written(entry) for entry in saved.changes.entries],
        "look": dict(saved.look),
    } | ({"size": saved.size} if saved.size else {})
    lines = (f"{_json(key)}: {_lines(value)}" for key, value in values.items())
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def read(data: str | bytes) -> Saved:
    """The view that `write` was given. Raises BadFile."""
    values = _parsed(data)
    if not isinstance(values, dict) or "ripple" not in values:
        raise BadFile("foreign", "no file of ours")
    version = values["ripple"]
    if type(version) is not int or version != VERSION:
        raise BadFile("version" if type(version) is int else "damaged", f"version {version!r:.40}")
    _only(values, (*FIELDS, "size") if "size" in values else FIELDS)
    size = values.get("size", "")
    _need(isinstance(size, str) and SIZE.fullmatch(size), "size")
    for key, pattern in (("model", MODEL), ("preset", re.compile(f"(?:{NAME.pattern})?"))):
        _need(isinstance(values[key], str) and pattern.fullmatch(values[key]), key)
    _need(all(isinstance(values[key], str) for key in ("prompt", "was")), "a text")
    words = {key: values[key] for key in ("model", "preset", "prompt", "was")}
    listed, look = _changes(values["changes"]), _look(values["look"])
    return Saved(**words, changes=listed, look=look, size=size)


def _written(entry: Entry) -> dict[str, Any]:
    change = entry.change
    match change:
        case Put(name, index, value):
            fields = {"set": name, "at": list(index), "to": value}
        case Patch(name, index, text):
            fields = {"take": name, "at": list(index), "from": text}
        case Switch(setting, value):
            fields = {"switch": setting, "to": value}
    return fields if entry.on else {**fields, "on": False}


def _lines(value: object) -> str:
    """JSON on one line; of a list each item on a line of its own."""
    if not isinstance(value, list) or not value:
        return _json(value)
    return "[\n    " + ",\n    ".join(map(_json, value)) + "\n  ]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _parsed(data: str | bytes) -> Any:
    """What the JSON says, if it is the plain JSON that we write."""
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(data) > LARGEST:
        raise BadFile("large", f"more than {LARGEST:,} bytes")
    try:
        text = data.decode("utf-8-sig")
        values = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant)
        json.dumps(values, ensure_ascii=False).encode("utf-8")  # no half characters
    except BadFile:
        raise
    except (ValueError, RecursionError) as error:
        raise BadFile("foreign", str(error)) from error
    return values


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    _need(len(values) == len(pairs), "a field that occurs twice")
    return values


def _no_constant(name: str) -> None:
    raise BadFile("damaged", f"{name} is no number")


def _changes(found: Any) -> Changes:
    _need(isinstance(found, list), "changes")
    changes = Changes(tuple(map(_entry, found)))
    try:
        again = decode(encode(changes))
    except BadLink as error:
        raise BadFile("large" if error.kind == "long" else "damaged", str(error)) from error
    _need(again == changes, "a place that is changed twice")
    return changes


def _entry(found: Any) -> Entry:
    _need(isinstance(found, dict), "a change")
    on = found.pop("on", True)
    _need(isinstance(on, bool), "on")
    return Entry(_change(found), on)


def _change(found: dict[str, Any]) -> Change:
    if "set" in found:
        _only(found, ("set", "at", "to"))
        return Put(_word(found["set"]), _index(found["at"]), _number(found["to"]))
    if "take" in found:
        _only(found, ("take", "at", "from"))
        return Patch(_word(found["take"]), _index(found["at"]), _word(found["from"]))
    _only(found, ("switch", "to"))
    return Switch(_word(found["switch"]), _word(found["to"]))


def _index(found: Any) -> tuple[int | None, ...]:
    _need(isinstance(found, list), "a place")
    _need(all(i is None or _whole(i) for i in found), "a place")
    return tuple(found)


def _number(found: Any) -> float:
    _need(type(found) in (int, float) and abs(found) <= sys.float_info.max, "a number")
    return float(found)


def _look(found: Any) -> dict[str, str | int]:
    kinds: dict[str, Callable[[Any], object]] = {
        "page": lambda value: isinstance(value, str) and NAME.fullmatch(value),
        "side": lambda value: isinstance(value, str) and NAME.fullmatch(value),
        "open": lambda value: isinstance(value, str) and TRAIL.fullmatch(value),
        "precision": lambda value: isinstance(value, str) and NAME.fullmatch(value),
        "layer": _whole,
        "head": _whole,
        "token": _whole,
    }
    _need(isinstance(found, dict), "look")
    _only(found, kinds, all_of_them=False)
    for key, value in found.items():
        _need(kinds[key](value), f"look: {key}")
    return found


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**7


def _word(value: Any) -> str:
    _need(isinstance(value, str), "a name")
    return value


def _only(found: dict[str, Any], fields: Any, all_of_them: bool = True) -> None:
    """No field that we do not know, and none that is missing."""
    unknown = found.keys() - set(fields)
    _need(not unknown, "a field that we do not write")
    _need(not all_of_them or len(found) == len(fields), "a field is missing")


def _need(right: object, what: str) -> None:
    if not right:
        raise BadFile("damaged", what)
