"""The Embedding page: numbers that the source prints, both models, both languages, bad links."""

import pytest

from tests.support.app import boards, components, drawn, open_page, panels, rows, said


def example(preset="part-1", **query):
    return open_page("embedding", model="worked-example", preset=preset, **query)


def test_size_of_the_bundled_table():
    text = said(open_page("embedding", model="bundled", layer=3, token=1))
    assert "50,257 × 160 = 8,041,120" in text


def test_printed_numbers_of_the_source():
    text = said(example())
    assert "cat·sat → cat 9246 ·sat 3332" in text
    assert "someunknownPlace → some 11246 unknown 34680 Place 27271" in text
    assert "= 0.8 |a| = 0.9274, |b| = 0.8775 cos = 0.9831" in text
    assert "= 0.31 |a| = 0.9274, |b| = 0.9899 cos = 0.3377" in text
    assert "The cosine of 나는 and 밥을 is 0.35" in text
    assert "50,257 × 12,288 = 617,558,016" in text
    assert "50,256 of them are 0: 99.998 %" in text
    assert "2,048 × 12,288 = 25,165,824" in text


@pytest.mark.parametrize("model", ["worked-example", "bundled"])
def test_chance_of_the_example_is_told_for_both_models(model):
    assert "0.35" in said(open_page("embedding", model=model, lang="en"))


def test_both_ways_give_the_same_row():
    way = rows(example(), "plain stacked facts-table")
    product, lookup = way[1], way[2]
    assert product[1] == lookup[1] == "0.40 0.30 0.90".replace(" ", "  ")
    assert product[2:] == ["18", "15"] and lookup[2:] == ["0", "0"]
    assert "over all 3 numbers of the row: 0 " in said(example())


def test_matrices_of_the_sentence():
    shown = panels(example())
    assert shown["O"] == [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    assert shown["= X"] == [[0.2, 0.9, 0.1], [0.8, 0.1, 0.3], [0.4, 0.3, 0.9]]
    assert shown["x, the token’s row"] == [[0.4, 0.3, 0.9]]


def test_token_in_the_link_is_the_one_looked_up():
    at = example(token=1)
    assert "밥을 has the ID 1." in said(at)
    assert "0·0.2 + 1·0.8 + 0·0.4 + 0·0.5 + 0·0.1 + 0·0.9 = 0.8" in said(at)
    labels = [row["text"] for row in boards(at)[0]["panels"][0]["rows"]]
    assert [label for label in labels if label.startswith("▶")] == ["▶ 밥을 1"]


def test_neighbours_of_a_frequent_token_are_alike_beyond_chance():
    at = open_page("embedding", model="bundled", prompt="In the", token=1)
    assert drawn(at).count('<span class="value">') == 8
    assert "by pure chance" in said(at) and "Careful" not in said(at)


def test_rare_token_comes_with_a_warning():
    at = open_page("embedding", model="bundled", prompt="한")
    assert "Careful:" in said(at) and "never occurred" in said(at)


@pytest.mark.parametrize("at", ["8_6_-6_8", "-10_0_10_0"])
def test_vectors_of_the_link_are_drawn(at):
    (plane,) = components(example(vectors=at), "vectors")
    assert plane["at"] == at


@pytest.mark.parametrize("bad", ["", "0_0_1_1", "11_0_0_1", "1_2_3", "<b>", "1_1_1_1_1", "💥"])
def test_impossible_vectors_of_a_link_are_replaced(bad):
    page = example(vectors=bad)
    (plane,) = components(page, "vectors")
    assert plane["at"] == "9_3_4_8"
    assert "vectors" in said(page)


def test_opened_number_of_a_link_stands_on_the_page():
    at = example(open="embed.token~2-0")
    (opened,) = components(at, "opened")
    assert opened["value"] == "0.4" and opened["terms"]


@pytest.mark.parametrize(
    "text", ["", "x" * 3000, "<img src=x> $x$ {curly}", "👩‍👩‍👧", "<|endoftext|>"]
)
def test_any_text_is_answered(text):
    at = open_page("embedding", model="bundled", prompt=text)
    assert "<img src=x>" not in drawn(at)
