"""Tokenizers, against tiktoken, a naive merge loop, Python's own UTF-8 decoder, and by hand."""

import random
import re
import unicodedata
from itertools import pairwise
from time import perf_counter

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiktoken_ext.openai_public import r50k_pat_str

from core.models.bpe import GPT2_FILE, VocabularyError, gpt2_tokenizer, load_ranks
from core.models.tokenizer import (
    CharacterSpan,
    Piece,
    UnknownId,
    UnknownWord,
    WordTokenizer,
    visible,
)

GPT2 = gpt2_tokenizer()
RANKS = load_ranks()
TIKTOKEN = tiktoken.Encoding(
    "oracle",
    pat_str=r50k_pat_str,
    mergeable_ranks=RANKS,
    special_tokens={"<|endoftext|>": 50256},
    explicit_n_vocab=50257,
)
WORDS = WordTokenizer(["나는", "밥을", "먹었다", "물을", "마셨다", "."])

# What breaks tokenizers: joined emoji, flags, conjoining jamo, stacked marks, controls, spaces.
# The last line holds half emoji, and characters newer than tiktoken's Unicode tables.
HARD = [
    *("'s", "'t", "'ll", "'ve", "'S", "’s", "!!", "<|", "|>", "  ", "\r\n", " a"),
    *"aBzéß한글각漢字العहिन् \u1112\u1161\u11ab 1²٣½Ⅷ '.,_-€ \n\t\x0b\x85\xa0\u2003\u3000\u2028",
    *"😀👨👩🏽🇰🇷❤\ufe0f\u200d\ufeff\u202e\u0300\u0301\u0308\x00\x01\x1c\x7f\xad",
    *"\ufffd\ud83d\ude00\u0558\u088f\U00011de0\U0003fc3f",
]
anything = st.text(st.characters()) | st.lists(st.sampled_from(HARD)).map("".join)
often = settings(max_examples=600, deadline=None, derandomize=True, database=None)


def explained(text: str) -> list[int]:
    return [token_id for piece in GPT2.explain(text) for token_id in piece.ids]


def without_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def naive_steps(data: bytes) -> tuple[list[tuple], list[bytes]]:
    """Rescan all pairs before every merge: slow, and plainly the rule."""
    parts, steps = [bytes([byte]) for byte in data], []
    while True:
        pairs = [(RANKS.get(a + b), i) for i, (a, b) in enumerate(pairwise(parts))]
        pairs = [(rank, i) for rank, i in pairs if rank is not None]
        if not pairs:
            return steps, parts
        rank, i = min(pairs)
        steps.append((tuple(parts), i, rank, parts[i] + parts[i + 1]))
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


# --- the numbers of the source series -----------------------------------------------------------


def test_cat_sat():
    assert GPT2.encode("cat sat") == [9246, 3332]
    assert [piece.text for piece in GPT2.pieces([9246, 3332])] == ["cat", " sat"]


def test_a_long_made_up_word_falls_into_known_pieces():
    ids = GPT2.encode("someunknownPlace")
    assert [GPT2.token_text(token_id) for token_id in ids] == ["some", "unknown", "Place"]


def test_vocabulary_size():
    assert len(RANKS) == 50256
    assert sorted(RANKS.values()) == list(range(50256))
    assert GPT2.n_vocab == 50257


# --- the same IDs as tiktoken -------------------------------------------------------------------


@often
@given(anything)
@example("\ud83d")
@example("\ud83d\ude00")
@example("x\udc00\ud800y")
@example("a  \n\n  b \t ")
def test_encode_and_explain_agree_with_tiktoken(text):
    expected = TIKTOKEN.encode_ordinary(text)
    assert GPT2.encode(text) == expected
    assert explained(text) == expected
    assert GPT2.decode(expected) == without_surrogates(text)


def test_three_thousand_random_texts_agree_with_tiktoken():
    rng = random.Random(0)
    for _ in range(3000):
        text = "".join(rng.choices(HARD, k=rng.randrange(60)))
        assert explained(text) == TIKTOKEN.encode_ordinary(text), ascii(text)


def test_characters_from_all_of_unicode_agree_with_tiktoken():
    rng = random.Random(1)
    chars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for _ in range(400):
        text = "".join(rng.choice(["", " ", "a", "1", "!"]) + rng.choice(chars) for _ in range(100))
        assert explained(text) == TIKTOKEN.encode_ordinary(text), ascii(text)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "한", "!", "1", "ab ", "\n "])
@pytest.mark.parametrize("count", [10_000, 200_000])
def test_long_repetitions_agree_with_tiktoken(unit, count):
    text = (unit * count)[:count] + "x"
    expected = TIKTOKEN.encode_ordinary(text)
    assert GPT2.encode(text) == expected
    assert explained(text) == expected


def test_a_million_spaces_do_not_abort():
    """tiktoken itself panics from 999,999 on. GPT-2 has no token of several plain spaces."""
    assert GPT2.encode(" " * 1_000_000 + "a") == [220] * 999_999 + [257]


def test_ten_thousand_equal_letters_are_explained_at_once():
    start = perf_counter()
    merged = GPT2.explain_piece(b"a" * 10_000)
    assert perf_counter() - start < 1
    assert len(merged.merges) == 10_000 - len(merged.parts)


def test_end_of_text_typed_by_a_person_is_ordinary_text():
    assert GPT2.encode("<|endoftext|>") == [27, 91, 437, 1659, 5239, 91, 29]
    assert GPT2.end_of_text_id == 50256
    assert GPT2.token_text(50256) == GPT2.decode([50256]) == "<|endoftext|>"


def test_empty_text():
    assert GPT2.encode("") == GPT2.explain("") == GPT2.pieces([]) == GPT2.characters([]) == []
    assert GPT2.decode([]) == ""


# --- the way there: pieces and merges -----------------------------------------------------------


def test_pre_split_pieces_and_where_they_begin():
    pieces = GPT2.explain("한 don't  stop\n42!")
    assert [(p.text, p.char_start, p.byte_start) for p in pieces] == [
        ("한", 0, 0),
        (" don", 1, 3),
        ("'t", 5, 7),
        (" ", 7, 9),
        (" stop", 8, 10),
        ("\n", 13, 15),
        ("42", 14, 16),
        ("!", 16, 18),
    ]


@often
@given(anything)
def test_pre_split_pieces_cover_the_text(text):
    clean = without_surrogates(text)
    for piece in GPT2.explain(text):
        assert clean[piece.char_start :].startswith(piece.text)
        assert clean.encode()[piece.byte_start :].startswith(piece.data)
        assert piece.data == piece.text.encode()
    assert "".join(piece.text for piece in GPT2.explain(text)) == clean


def test_merges_of_lower():
    """l ow er: 'er' (263) comes before 'ow' (322), then 'ower' (789), then 'lower' (21037)."""
    steps = list(GPT2.explain_piece(b"lower").steps())
    assert [(s.parts, s.index, s.rank, s.result) for s in steps] == [
        ((b"l", b"o", b"w", b"e", b"r"), 3, 263, b"er"),
        ((b"l", b"o", b"w", b"er"), 1, 322, b"ow"),
        ((b"l", b"ow", b"er"), 1, 789, b"ower"),
        ((b"l", b"ower"), 0, 21037, b"lower"),
    ]
    assert GPT2.explain_piece(b"lower").ids == (21037,)


@often
@given(st.binary(max_size=40) | st.text("abei tn", max_size=40).map(str.encode))
@example(b"aaaaaaa")
@example(b"")
def test_merges_follow_the_rule(data):
    steps, parts = naive_steps(data)
    merged = GPT2.explain_piece(data)
    assert [(s.parts, s.index, s.rank, s.result) for s in merged.steps()] == steps
    assert [(m.left + m.right, m.rank) for m in merged.merges] == [(s[3], s[2]) for s in steps]
    assert list(merged.parts) == parts
    assert list(merged.ids) == [RANKS[part] for part in parts]


def test_every_token_of_the_table_is_reached_by_merging():
    """tiktoken looks a whole piece up first; that is no other rule only if this holds."""
    for token, rank in RANKS.items():
        assert GPT2.explain_piece(token).ids == (rank,)


# --- tokens and characters ----------------------------------------------------------------------


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


# --- showing a token ----------------------------------------------------------------------------


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


# --- the vocabulary file ------------------------------------------------------------------------


def test_a_changed_table_is_refused(tmp_path):
    changed = tmp_path / "gpt2.tiktoken"
    changed.write_bytes(GPT2_FILE.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(VocabularyError, match=r"damaged or was changed.*306cd27f.*git checkout"):
        load_ranks(changed)


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(VocabularyError, match=r"is missing.*git checkout"):
        load_ranks(tmp_path / "gpt2.tiktoken")


# --- the word vocabulary of the worked example --------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("나는 밥을 먹었다", [0, 1, 2]),
        ("나는 밥을 먹었다.", [0, 1, 2, 5]),
        ("  나는\n물을\t마셨다 . ", [0, 3, 4, 5]),
        (unicodedata.normalize("NFD", "나는 밥을 먹었다."), [0, 1, 2, 5]),
        (".", [5]),
        ("", []),
        (" \n", []),
    ],
)
def test_words_are_encoded(text, ids):
    assert WORDS.encode(text) == ids


def test_words_are_decoded():
    assert WORDS.n_vocab == 6
    assert WORDS.decode([0, 1, 2, 5, 0, 3, 4, 5]) == "나는 밥을 먹었다. 나는 물을 마셨다."
    assert WORDS.decode([5, 0]) == ". 나는"
    assert WORDS.token_text(2) == "먹었다"
    assert WORDS.token_bytes(2) == "먹었다".encode()
    assert WORDS.end_of_text_id is None


@given(st.lists(st.integers(0, 5)))
@settings(derandomize=True, database=None)
def test_words_survive_a_round_trip(ids):
    without_leading_dots = [i for n, i in enumerate(ids) if i != 5 or (n and ids[n - 1] != 5)]
    assert WORDS.encode(WORDS.decode(without_leading_dots)) == without_leading_dots


def test_an_unknown_word_is_named_with_its_place():
    message = "'빵을': it is word 2 .*character 4.*나는 밥을"
    with pytest.raises(UnknownWord, match=message) as caught:
        WORDS.encode("나는 빵을. 먹었다")
    error = caught.value
    assert (error.word, error.position, error.char_start) == ("빵을", 1, 3)
    assert error.known == ("나는", "밥을", "먹었다", "물을", "마셨다", ".")


def test_an_unknown_word_with_a_lone_surrogate_can_be_printed():
    with pytest.raises(UnknownWord) as caught:
        WORDS.encode("나는 \ud83d")
    assert "�".encode() in str(caught.value).encode()


def test_words_have_pieces_and_characters():
    first, dot, second = WORDS.pieces([2, 5, 0])
    assert first == Piece(2, "먹었다".encode(), "먹었다", 0, range(3), False, False, range(1))
    assert (dot.chars, second.chars, second.byte_start) == (range(3, 4), range(5, 7), 11)
    tokens = [span.tokens for span in WORDS.characters([2, 5, 0])]
    assert [list(positions) for positions in tokens] == [[0], [0], [0], [1], [], [2], [2]]


def test_a_word_id_out_of_range_is_refused():
    with pytest.raises(UnknownId, match=r"6 is out of range.* 0 to 5"):
        WORDS.decode([0, 6])


@pytest.mark.parametrize("words", [["a", "a"], ["a b"], [""]])
def test_a_bad_word_list_is_refused(words):
    with pytest.raises(ValueError, match="Not a list of different words"):
        WordTokenizer(words)
