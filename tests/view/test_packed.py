"""Long texts in an address."""

import random
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.view.packed import MARK, BadPacking, pack, unpack

SERVER_TAKES = 64 * 1024  # bytes of a request's head, in uvicorn


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(text):
    assert unpack(pack(text)) == text


def test_a_short_text_stays_readable():
    assert pack("나는 밥을 먹었다") == "나는 밥을 먹었다"


def test_a_text_that_looks_packed_comes_back():
    assert unpack(pack(MARK + "abc")) == MARK + "abc"


@pytest.mark.parametrize("letters", [(0xAC00, 0xD7A3), (0x1F300, 0x1F5FF), (0x20, 0x7E)])
def test_ten_thousand_letters_fit_a_request(letters):
    # Drawn at random, which packs worse than anything a person writes.
    text = "".join(map(chr, random.Random(0).choices(range(*letters), k=10_000)))
    assert unpack(pack(text)) == text
    assert len(urlencode({"prompt": pack(text)})) < SERVER_TAKES


@pytest.mark.parametrize(
    "damage", [lambda p: p[:-20], lambda p: p[:40] + "AAAA" + p[44:], lambda p: p + "*"]
)
def test_damage_is_noticed(damage):
    packed = pack("In the beginning " * 500)
    with pytest.raises(BadPacking):
        unpack(damage(packed))


def test_a_text_without_end_is_refused():
    with pytest.raises(BadPacking):
        unpack(pack("a" * 2_000_000))
