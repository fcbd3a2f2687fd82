"""Tokens and the characters they are part of, against Python's own UTF-8; how they are shown."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.tokenizer import CharacterSpan, Piece, UnknownId, visible
from tests.support.tokenizers import GPT2, RANKS, TIKTOKEN, often


def test_an_emoji_split_over_two_tokens():
    assert GPT2.pieces(GPT2.encode("😀")) == [
        Piece(47249, b"\xf0\x9f\x98", "⟨F0 9F 98⟩", 0, range(1), False, True, range(2)),
        Piece(222, b"\x80", "⟨80⟩", 3, range(1), True, False, range(2)),
    ]
    assert GPT2.characters(GPT2.encode("😀")) == [CharacterSpan(0, "😀", 0, range(2))]


def test_a_syllable_split_over_two_tokens():
    first, second = GPT2.pieces(GPT2.encode("한"))
    assert (first.data, first.text) == (b"\xed\x95", "⟨ED 95⟩")
    assert (second.data, second.text) == (b"\x9c", "⟨9C⟩")
    assert first.group == second.group == range(2)


def test_a_token_of_a_space_and_part_of_a_syllable():
    """' 밥' is three tokens: the space with the first byte, then one byte each."""
    pieces = GPT2.pieces(GPT2.encode("a 밥"))
    assert [piece.text for piece in pieces] == ["a", " ⟨EB⟩", "⟨B0⟩", "⟨A5⟩"]
    assert [piece.chars for piece in pieces] == [range(1), range(1, 3), range(2, 3), range(2, 3)]
    assert [piece.starts_inside for piece in pieces] == [False, False, True, True]
    assert [piece.ends_inside for piece in pieces] == [False, True, True, False]
    assert [piece.group for piece in pieces] == [range(1), *[range(1, 4)] * 3]
    spans = GPT2.characters(GPT2.encode("a 밥"))
    assert [(span.text, span.tokens) for span in spans] == [
        ("a", range(1)),
        (" ", range(1, 2)),
        ("밥", range(1, 4)),
    ]


def test_a_combining_mark_is_a_character_of_its_own():
    """'e' + U+0301: the letter is one token, the mark's two bytes are two tokens."""
    spans = GPT2.characters(GPT2.encode("e\u0301"))
    assert [(s.text, s.tokens) for s in spans] == [("e", range(1)), ("\u0301", range(1, 3))]
    assert [piece.group for piece in GPT2.pieces(GPT2.encode("e\u0301"))] == [
        range(1),
        range(1, 3),
        range(1, 3),
    ]


def test_bytes_that_form_no_character():
    """A model may produce any sequence: 0x80 alone, then three bytes of four, then 'cat'."""
    spans = GPT2.characters([222, 47249, 9246])
    assert [(span.text, span.byte_start) for span in spans[:3]] == [("�", 0), ("�", 1), ("c", 4)]
    assert not any(p.starts_inside or p.ends_inside for p in GPT2.pieces([222, 47249, 9246]))


BYTE_IDS = [RANKS[bytes([byte])] for byte in range(256)]


@often
@given(st.lists(st.integers(0, 50256) | st.sampled_from(BYTE_IDS)))
def test_any_ids_have_pieces_and_characters_that_match_the_text(ids):
    text = TIKTOKEN.decode(ids)
    pieces, spans = GPT2.pieces(ids), GPT2.characters(ids)
    assert GPT2.decode(ids) == text == "".join(span.text for span in spans)
    assert [span.index for span in spans] == list(range(len(text)))
    for position, piece in enumerate(pieces):
        assert piece.data == TIKTOKEN.decode_single_token_bytes(piece.id)
        assert piece.byte_start == sum(len(before.data) for before in pieces[:position])
        assert all(position in spans[char].tokens for char in piece.chars)
        assert position in piece.group
        group = pieces[piece.group.start : piece.group.stop]
        together = b"".join(member.data for member in group).decode(errors="replace")
        assert together == text[group[0].chars.start : group[-1].chars.stop]
        assert piece.ends_inside == (position + 1 in piece.group)
        assert piece.starts_inside == (position - 1 in piece.group)
    for span in spans:
        assert all(span.index in pieces[position].chars for position in span.tokens)


@pytest.mark.parametrize("token_id", [-1, 50257, 10**12])
@pytest.mark.parametrize("method", ["token_bytes", "token_text"])
def test_an_id_out_of_range_is_refused(method, token_id):
    with pytest.raises(UnknownId, match=rf"{token_id} is out of range.* 0 to 50256"):
        getattr(GPT2, method)(token_id)


@pytest.mark.parametrize("method", ["decode", "pieces", "characters"])
def test_a_list_with_an_id_out_of_range_is_refused(method):
    with pytest.raises(UnknownId, match=r"50257 is out of range.* 0 to 50256"):
        getattr(GPT2, method)([9246, 50257])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" sat", "·sat"),
        ("a\nb\tc", "a↵b⇥c"),
        ("\x00\x01\r\x1b\x1f\x7f", "␀␁␍␛␟␡"),
        ("\x85\xa0", "⟨U+0085⟩⟨U+00A0⟩"),
        ("\u200d\ufeff\u202e\xad", "⟨U+200D⟩⟨U+FEFF⟩⟨U+202E⟩⟨U+00AD⟩"),
        ("\u3000\u2028\u3164\ufe0f", "⟨U+3000⟩⟨U+2028⟩⟨U+3164⟩⟨U+FE0F⟩"),
        ("\U000e0041\ud83d", "⟨U+E0041⟩⟨U+D83D⟩"),
        ("\u0301", "◌\u0301"),
        (" \u0301", "·◌\u0301"),
        ("e\u0301\u0308", "e\u0301\u0308"),
        ("한글 ÀÉ 😀 �", "한글·ÀÉ·😀·�"),
        (" ⟨EB 80⟩", "·⟨EB 80⟩"),
        ("", ""),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


def test_no_token_of_gpt2_is_shown_as_nothing():
    unseen = {"Cc", "Cf", "Cn", "Co", "Cs", "Zs", "Zl", "Zp"}
    for token_id in range(GPT2.n_vocab):
        shown = visible(GPT2.token_text(token_id))
        without_hex = re.sub("⟨[0-9A-F ]+⟩", "x", shown)
        assert without_hex, token_id
        assert not unseen & {unicodedata.category(char) for char in without_hex}, token_id


def test_token_text_keeps_spaces_and_control_characters():
    assert GPT2.token_text(3332) == " sat"
    assert GPT2.token_text(RANKS[b"\n"]) == "\n"
    assert GPT2.token_text(RANKS[b"\x00"]) == "\x00"


def test_token_text_of_every_whole_token_is_its_text():
    for token, rank in RANKS.items():
        text = token.decode(errors="replace")
        if text.encode() == token:
            assert GPT2.token_text(rank) == text
