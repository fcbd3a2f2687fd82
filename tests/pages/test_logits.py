"""The Logits page: dot products, probabilities, every row's guess, and the lens."""

import re

import pytest

from tests.support.app import boards, drawn, open_page, pictures, rows, said


def example(preset="part-6", **query):
    return open_page("logits", model="worked-example", preset=preset, **query)


def test_bundled_model_ranks_its_whole_vocabulary():
    at = open_page("logits", model="bundled", token=1, lens=4, rank=2)
    assert "50,257" in said(at) and 'class="lens"' in drawn(at)


def test_row_before_and_after_the_final_norm():
    text = said(example())
    assert "After the last block 0.59 0.46 0.52" in text
    assert "After the final norm 1.25 −1.20 −0.05" in text


def test_terms_add_up_to_the_logit():
    text = said(example())
    # [1.25, -1.20, -0.05] · [1.1, 0.3, 0.9]
    assert re.search(r"number by number.*? 1\.37 −0\.36 −0\.05 .*? are the logit .*? 0\.97", text)


def test_another_candidate_is_chosen_in_the_link():
    assert "are the logit of “물을”" in said(example(rank=1))


def test_probabilities_of_all_words_are_a_hundred_per_cent():
    text = said(example("block"))
    shares = [float(x) for x in re.findall(r"([\d.]+) %", text.split("Probability")[1])[:6]]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert "All 6 tokens together have 100 %" in text


def test_shown_share_and_rest_are_said():
    text = said(open_page("logits", model="bundled"))
    shown, rest = re.search(r"These 10 have ([\d.]+) %.*? share ([\d.]+) %", text).groups()
    assert float(shown) + float(rest) == pytest.approx(100, abs=0.11)
    assert "The other 50,247 tokens" in text


def test_word_that_was_typed_is_ranked():
    assert "“물을” has rank 2 of 6" in said(example(word="물을"))
    text = said(open_page("logits", model="bundled", word="earth"))
    assert "“earth” has rank" in text and "“·earth” has rank" in text


def test_word_of_several_tokens_says_so():
    assert "is made of" in said(open_page("logits", model="bundled", word="someunknownPlace"))


def test_word_that_is_unknown_is_said():
    assert "does not know “cat”" in said(example(word="cat"))


def test_every_row_beside_what_came():
    table = rows(example("block"), "plain every")
    assert [row[0] for row in table[1:]] == ["나는", "밥을", "먹었다"]
    assert table[1][2].startswith("밥을") and table[2][2].startswith("먹었다")
    assert table[3][2] == "This row chooses the next word"
    assert re.search("first choice was right for 0 of the 2 tokens", said(example("block")))


def test_single_token_has_no_hits():
    assert "first choice" not in said(example(prompt="나는"))


def test_lens_ends_with_the_models_own_guess():
    at = example("block")
    blocks, *grid = rows(at, "lens")
    assert [len(row) for row in grid] == [4, 4, 4, 4]
    assert blocks == ["", "", "Block 0"]  # before the block, and over its two parts
    best = re.search(r"largest logit is that of “(.*?)”", said(at)).group(1)
    assert grid[3][3].startswith(best)
    assert "largest difference is" in said(at)


def test_cell_of_the_lens_is_chosen_in_the_link():
    at = example("block", lens=0, token=1)
    assert "at “밥을”, read at this place: start" in said(at)
    assert 'data-set="token=1&amp;lens=0"' in drawn(at)


def test_tied_and_untied_models_say_so():
    assert "Where do the directions come from?" in said(open_page("logits", model="bundled"))
    assert "Are these the same vectors as at the beginning?" in said(example())
    assert "617,558,016 numbers" in said(example())


@pytest.mark.parametrize("query", [{"lens": 77}, {"rank": "x"}, {"word": "\x00 \n"}, {"open": "~"}])
def test_nonsense_in_the_link_does_no_harm(query):
    assert "One dot product" in said(example(**query))


def test_hostile_words_stay_text():
    at = open_page("logits", model="bundled", word="<script>", prompt="<u>a</u> {x}")
    assert "<script>" not in drawn(at) and "<u>a" not in drawn(at)


def test_long_text_shows_rows_around_the_token():
    at = open_page("logits", model="bundled", prompt="and the king said unto them " * 9, token=20)
    assert re.search(r"Show \d+ more", said(at)) and 'class="skipped"' in drawn(at)


@pytest.mark.parametrize("tokens", [41, 100, 256])
def test_long_text_is_a_picture_whose_window_shows_the_token(tokens):
    words = " and the king said" * 64
    prompt = words[: len(" and the king said") * (tokens // 4)] + " and" * (tokens % 4)
    at = open_page("logits", model="bundled", prompt=prompt, token=tokens - 1)
    (picture, *_) = [one for one in pictures(at) if one["title"] == "Logits"]
    rows = min(tokens, 128)  # those that are computed together
    assert picture["size"] == [rows, 12] and picture["seen"] == [rows - 1, None]
    assert picture["first"] == [tokens - rows, 0]
    assert ("tokens 128 to 255" in said(at)) == (tokens == 256)
    panels = [panel for board in boards(at) for panel in board["panels"]]
    (window, *_) = [one for one in panels if one["name"].endswith("logits")]
    assert [row["at"] for row in window["rows"]] == list(range(tokens - 10, tokens))
    assert window["follow"] == 9
    assert all(len(one["rows"]) <= 20 for one in panels)
