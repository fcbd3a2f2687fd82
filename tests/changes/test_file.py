"""A view as a file: what is written can be read again, and nothing else can."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from core.changes import Changes, Entry, Patch, Put, Switch
from core.changes.file import LARGEST, BadFile, Saved, read, write

FULL = Saved(
    model="worked-example",
    preset="block",
    prompt='나는 “밥을”\n먹었다 \\ "x"',
    was="나는 물을",
    size="n_heads-1.d_model-4",
    changes=Changes(
        (
            Entry(Put("blocks.0.attn.W_Q", (1, 0, 2), 0.8)),
            Entry(Put("blocks.0.attn.heads", (0, None, None), -1e-7), on=False),
            Entry(Patch("blocks.0.attn.out", (2, None), "물을 마셨다")),
            Entry(Switch("scaled", "off"), on=False),
        )
    ),
    look={"page": "scores", "layer": 0, "token": 2, "side": "before", "open": "logits~2-1"},
)
WRITTEN = json.loads(write(FULL))


def kind_of(data):
    with pytest.raises(BadFile) as error:
        read(data if isinstance(data, str | bytes) else json.dumps(data))
    return error.value.kind


def changed(**fields):
    return {**WRITTEN, **fields}


def test_what_is_written_is_read_again():
    assert read(write(FULL)) == FULL
    assert read(write(FULL).encode()) == FULL
    assert read(write(Saved("bundled", "", ""))) == Saved("bundled", "", "")


def test_the_file_names_every_change_so_that_people_can_read_it():
    assert WRITTEN["ripple"] == 1
    assert WRITTEN["changes"] == [
        {"set": "blocks.0.attn.W_Q", "at": [1, 0, 2], "to": 0.8},
        {"set": "blocks.0.attn.heads", "at": [0, None, None], "to": -1e-7, "on": False},
        {"take": "blocks.0.attn.out", "at": [2, None], "from": "물을 마셨다"},
        {"switch": "scaled", "to": "off", "on": False},
    ]
    assert '    {"switch": "scaled", "to": "off", "on": false}\n' in write(FULL)


def test_a_file_saved_by_an_editor_with_a_mark_of_its_own_is_read():
    assert read(b"\xef\xbb\xbf" + write(FULL).encode()) == FULL


numbers = some.floats(allow_nan=False, allow_infinity=False)
indices = some.lists(some.none() | some.integers(0, 9_999_999), min_size=1, max_size=4).map(tuple)
names = some.from_regex(r"[A-Za-z0-9_.]{1,60}", fullmatch=True)
texts = some.text(some.characters(exclude_categories=["Cs"]), max_size=30)
entries = some.builds(
    Entry,
    some.builds(Put, names, indices, numbers)
    | some.builds(Patch, names, indices, texts)
    | some.builds(Switch, some.just("norm"), some.sampled_from(["pre", "post", "none"])),
    some.booleans(),
)


@given(some.lists(entries, max_size=8), texts)
def test_any_changes_survive_the_file(found, prompt):
    saved = Saved("bundled", "", prompt, changes=Changes().with_entries(found))
    assert read(write(saved)) == saved


@pytest.mark.parametrize("version", [0, 2, 10**30])
def test_another_version_is_said(version):
    assert kind_of(changed(ripple=version)) == "version"


def test_what_is_too_large_is_said():
    assert kind_of(b"[" * (LARGEST + 1)) == "large"
    assert kind_of(" " * LARGEST + "é") == "large"
    many = [{"set": "logits", "at": [i, 0], "to": 0} for i in range(2_001)]
    assert kind_of(changed(changes=many)) == "large"


@pytest.mark.parametrize(
    "data",
    [
        "",
        "\x00\x01",
        b"\xff\xfe\x00",
        "\ud800",
        "PK\x03\x04",
        "[" * 400_000,
        '{"a":' * 100_000,
        "[]",
        "null",
        '"ripple"',
        "1" * 10_000,
        '{"cells": []}',
        write(FULL)[:-5],
        write(FULL) + "x",
        write(FULL).replace("나는", "\\ud800"),
    ],
)
def test_what_is_no_file_of_ours_is_said(data):
    assert kind_of(data) == "foreign"


@pytest.mark.parametrize(
    "fields",
    [
        {"ripple": True},
        {"ripple": "1"},
        {"ripple": 1.0},
        {"ripple": None},
        {"extra": 1},
        {"model": "../../etc/passwd"},
        {"model": "a/b/c"},
        {"model": ""},
        {"model": ["bundled"]},
        {"preset": "a/b"},
        {"preset": None},
        {"size": "../x"},
        {"size": 4},
        {"prompt": 5},
        {"was": None},
        {"changes": {}},
        {"changes": None},
        {"look": []},
        {"look": {"depth": 1}},
        {"look": {"layer": -1}},
        {"look": {"layer": True}},
        {"look": {"token": 10**9}},
        {"look": {"head": "1"}},
        {"look": {"page": "../secrets"}},
        {"look": {"open": "<script>"}},
        {"look": {"side": 3}},
    ],
)
def test_a_field_that_was_tampered_with_is_refused(fields):
    assert kind_of(changed(**fields)) == "damaged"


@pytest.mark.parametrize("missing", [key for key in WRITTEN if key != "size"])
def test_a_field_that_is_missing_is_refused(missing):
    rest = {key: value for key, value in WRITTEN.items() if key != missing}
    assert kind_of(rest) == ("foreign" if missing == "ripple" else "damaged")


PUT = {"set": "logits", "at": [0, 1], "to": 0.5}


@pytest.mark.parametrize(
    "change",
    [
        None,
        "drop",
        [],
        {},
        {"on": True},
        PUT | {"to": "0.5"},
        PUT | {"to": True},
        PUT | {"to": None},
        PUT | {"to": 10**400},
        PUT | {"at": []},
        PUT | {"at": [0, -1]},
        PUT | {"at": [0, 1.0]},
        PUT | {"at": [0, False]},
        PUT | {"at": [0, 10**8]},
        PUT | {"at": [0] * 5},
        PUT | {"at": "0-1"},
        PUT | {"set": "../../weights"},
        PUT | {"set": ""},
        PUT | {"set": "x" * 61},
        PUT | {"set": 7},
        PUT | {"on": 1},
        PUT | {"note": ""},
        PUT | {"switch": "scaled"},
        {"set": "logits", "to": 1},
        {"take": "logits", "at": [0, None], "from": 4},
        {"switch": "scaled", "to": "maybe"},
        {"switch": "dropout", "to": "off"},
        {"switch": ["scaled"], "to": "off"},
    ],
)
def test_a_change_that_was_tampered_with_is_refused(change):
    assert kind_of(changed(changes=[change])) == "damaged"


def test_a_place_that_is_changed_twice_is_refused():
    assert kind_of(changed(changes=[PUT, PUT | {"to": 1}])) == "damaged"


def test_a_patch_with_a_very_long_text_is_refused():
    long = {"take": "logits", "at": [0, None], "from": "x" * 2_001}
    assert kind_of(changed(changes=[long])) == "large"


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused(written):
    assert kind_of(json.dumps(changed(changes=[PUT])).replace("0.5", written)) == "damaged"


def test_a_field_that_occurs_twice_is_refused():
    assert kind_of(write(FULL).replace('"ripple": 1', '"ripple": 1, "ripple": 1')) == "damaged"


def test_numbers_that_are_none_are_never_written():
    with pytest.raises(ValueError):
        write(Saved("bundled", "", "", changes=Changes((Entry(Put("logits", (0,), math.nan)),))))
