"""The IDs of GPT-2's tokenizer, against tiktoken; the file of its vocabulary."""

import random
from time import perf_counter

import pytest
from hypothesis import example, given

from core.models.gpt2_tokenizer import GPT2_FILE, VocabularyError, load_ranks
from tests.support.tokenizers import (
    GPT2,
    HARD,
    RANKS,
    TIKTOKEN,
    anything,
    explained,
    often,
    without_surrogates,
)


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


def test_a_changed_table_is_refused(tmp_path):
    changed = tmp_path / "gpt2.tiktoken"
    changed.write_bytes(GPT2_FILE.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(VocabularyError, match=r"damaged or was changed.*306cd27f.*git checkout"):
        load_ranks(changed)


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(VocabularyError, match=r"is missing.*git checkout"):
        load_ranks(tmp_path / "gpt2.tiktoken")
