"""The word vocabulary of the worked example, by hand."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.tokenizer import Piece, UnknownId, UnknownWord, WordTokenizer

WORDS = WordTokenizer(["나는", "밥을", "먹었다", "물을", "마셨다", "."])


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
