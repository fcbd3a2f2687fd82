"""Changes in a link: what is written can be read again, and any other text is refused politely."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.changes import BadLink, Changes, Entry, Patch, Put, Switch, decode, encode
from core.changes.link import MOST
from core.changes.switches import SWITCHES

NAMES = st.from_regex(r"[A-Za-z0-9_.]{1,60}", fullmatch=True)
INDICES = st.lists(st.none() | st.integers(0, 9_999_999), min_size=1, max_size=4).map(tuple)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SETTINGS = [(setting, value) for setting, (values, *_) in SWITCHES.items() for value in values]
CHANGES = st.one_of(
    st.builds(Put, NAMES, INDICES, NUMBERS),
    st.builds(Patch, NAMES, INDICES, st.text(max_size=40)),
    st.sampled_from(SETTINGS).map(lambda pair: Switch(*pair)),
)
LISTS = st.lists(st.builds(Entry, CHANGES, st.booleans()), max_size=8).map(Changes().with_entries)
FULL = Changes(
    (
        Entry(Put("blocks.0.attn.W_Q", (1, 0, 2), 0.8)),
        Entry(Put("blocks.0.attn.heads", (0, None, None), -1e-300), on=False),
        Entry(Patch("blocks.0.resid_mid", (2, None), "물을 ~~ 마셨다")),
        Entry(Switch("norm", "post"), on=False),
    )
)


@given(LISTS)
def test_what_is_written_is_read_again(changes):
    text = encode(changes)
    assert decode(text) == changes
    assert encode(decode(text)) == text


@given(LISTS)
def test_only_letters_that_stay_as_they_are_in_an_address(changes):
    letters = encode(changes)
    assert all(letter.isascii() and (letter.isalnum() or letter in "-._~+") for letter in letters)


def test_a_link_reads_as_documented():
    assert encode(Changes()) == "" and decode("") == Changes()
    assert encode(FULL).split("~~")[:3] == [
        "v1",
        "blocks.0.attn.W_Q~1-0-2~0.8",
        "-blocks.0.attn.heads~0-x-x~-1e-300",
    ]
    assert encode(FULL).endswith("~~-norm~post")


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="v1~-x.eE0_abnormt", max_size=60),
        st.lists(st.text(alphabet="~-x.0189et_normpes", max_size=12)).map("~~".join),
        st.builds(lambda text: "v1~~" + text, st.text()),
    )
)
def test_any_text_gives_changes_or_a_bad_link(text):
    try:
        found = decode(text)
    except BadLink as error:
        assert error.kind in ("version", "long", "damaged")
    else:
        assert decode(encode(found)) == found


@given(st.integers(0, len(encode(FULL))), st.integers(0, 10), st.text(max_size=3))
def test_a_link_that_was_tampered_with_is_read_or_refused(at, gone, put):
    text = encode(FULL)
    try:
        found = decode(text[:at] + put + text[at + gone :])
    except BadLink:
        return
    for change in found.in_force:
        assert not isinstance(change, Put) or math.isfinite(change.value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("v2~~logits~0-0~1.0", "version"),
        ("v1000", "version"),
        ("v1~~", "damaged"),
        ("hello", "damaged"),
        ("v1~~logits~0-0~", "damaged"),
        ("v1~~logits~0-0~nan", "damaged"),
        ("v1~~logits~0-0~inf", "damaged"),
        ("v1~~logits~0-0~1e400", "damaged"),
        ("v1~~logits~0-0~1_0", "damaged"),
        ("v1~~logits~0-0~٣", "damaged"),
        ("v1~~logits~-1-0~1.0", "damaged"),
        ("v1~~logits~0-0-0-0-0~1.0", "damaged"),
        ("v1~~<b>~0~1.0", "damaged"),
        ("v1~~scaled~maybe", "damaged"),
        ("v1~~nothing~off", "damaged"),
        ("v1~~logits~0-0~t.!!!", "damaged"),
        ("v1~~logits~0-0~t./w", "damaged"),  # no UTF-8
        ("v1~~logits~0-0~t." + "QUFB" * MOST, "long"),
        ("v1" + "~~scaled~off" * (MOST + 1), "long"),
    ],
)
def test_a_bad_link_says_why(text, kind):
    with pytest.raises(BadLink) as error:
        decode(text)
    assert error.value.kind == kind


def test_of_two_entries_for_one_place_the_later_one_counts_and_stands_last():
    found = decode("v1~~logits~x-0~0.0~~logits~1-0~1.0~~logits~x-0~2.0")
    assert found.in_force == (Put("logits", (1, 0), 1.0), Put("logits", (None, 0), 2.0))


def test_half_a_character_in_a_text_does_no_harm():
    found = decode(encode(Changes().with_change(Patch("logits", (0, 0), "a\ud83d"))))
    assert found.in_force == (Patch("logits", (0, 0), "a\ufffd"),)
