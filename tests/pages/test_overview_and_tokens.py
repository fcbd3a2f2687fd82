"""The first two pages in both languages, with good and bad input, driven by AppTest."""

import gc
import re

import pytest

from tests.support.app import drawn, open_page, said

PAGES = ("overview", "tokens")
MODELS = ("bundled", "worked-example")
HOSTILE = [
    "",
    "   \n ",
    "x" * 10_000,
    "word " * 400,
    "나는 밥을 먹었다",
    "👩‍👩‍👧 🙂",
    "a\x00b",
    "<script>alert(1)</script> **b** $x$ ![i](http://example.com/i.png)",
    "<|endoftext|>",
    "{curly} %s \\n",
]
NONSENSE = dict.fromkeys(("model", "preset", "layer", "head", "token", "piece", "merge"), "💥-1e9")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prompt", HOSTILE)
def test_any_text_is_answered_and_kept(name, model, prompt):
    at = open_page(name, model=model)
    at.text_area(key="prompt").set_value(prompt).run()
    assert not at.exception
    assert at.text_area(key="prompt").value == prompt
    assert "<script" not in drawn(at)
    assert "<img src=x" not in drawn(at)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_nonsense_in_a_link_is_named_and_replaced(name, language):
    at = open_page(name, lang=language, **NONSENSE)
    assert "notice" in drawn(at)
    for key in ("model" if language == "en" else "모델", "layer", "head", "token"):
        assert f"{key} = “💥-1e9”" in said(at)
    assert at.selectbox(key="model").value == "bundled"


def test_an_unknown_language_falls_back():
    at = open_page("overview", lang="xx")
    assert "lang = “xx”" in said(at)


def test_overview_shows_probabilities_of_the_whole_vocabulary():
    at = open_page("overview", prompt="In the beginning God created the")
    shares = [float(share) for share in re.findall(r'class="value">([\d.]+) %', drawn(at))]
    assert len(shares) == 8
    assert shares == sorted(shares, reverse=True)
    total = re.search(r"make up ([\d.]+) %. The other 50,249 tokens share ([\d.]+) %", said(at))
    assert sum(map(float, total.groups())) == pytest.approx(100, abs=0.11)


def test_overview_follows_where_we_look():
    at = open_page("overview", layer="2", token="1", prompt="In the beginning")
    assert "Block 2: attention" in said(at)
    at.slider(key="layer").set_value(4).run()
    assert "Block 4: attention" in said(at)
    assert at.query_params["layer"] == "4"


def test_whoever_looks_at_the_last_token_goes_on_looking_at_the_last():
    at = open_page("overview", prompt="In the")
    at.text_area(key="prompt").set_value("In the beginning God").run()
    assert at.slider(key="token").value == 3
    at.slider(key="token").set_value(1).run()
    at.text_area(key="prompt").set_value("In the beginning").run()
    assert at.slider(key="token").value == 1


def test_a_link_can_add_a_token():
    at = open_page("overview", prompt="In the", add="3726")
    assert at.text_area(key="prompt").value == "In the beginning"
    at = open_page("overview", model="worked-example", prompt="나는", add="1")
    assert at.text_area(key="prompt").value == "나는 밥을"


def test_an_untouched_prompt_follows_the_model_and_a_typed_one_stays():
    at = open_page("overview")
    at.selectbox(key="model").set_value("worked-example").run()
    assert at.text_area(key="prompt").value == "나는 밥을 먹었다"
    at.text_area(key="prompt").set_value("typed").run()
    at.selectbox(key="model").set_value("bundled").run()
    assert at.text_area(key="prompt").value == "typed"


@pytest.mark.parametrize("name", PAGES)
def test_too_long_a_text_says_how_much_was_cut(name):
    at = open_page(name, prompt="word " * 300)
    n = re.search(r"We left out (\d+) tokens at the beginning and kept the last 256", said(at))
    assert int(n.group(1)) == 300 + 1 - 256


def test_empty_text_says_what_is_shown_instead():
    assert "starts from <|endoftext|>" in said_unescaped(open_page("overview", prompt=""))
    at = open_page("overview", prompt="", model="worked-example")
    assert "so we show 나는 밥을 먹었다" in said(at)


def said_unescaped(at):
    return said(at).replace("&lt;", "<").replace("&gt;", ">")


def test_unknown_words_are_named_and_the_known_ones_offered():
    at = open_page("overview", model="worked-example", prompt="나는 피자를 먹었다")
    assert "not this one: 피자를" in said(at)
    assert all(word in said(at) for word in ("물을", "마셨다"))
    at = open_page("tokens", model="worked-example", prompt="pizza")
    assert "None of your words is left" in said(at)


def test_tokens_page_shows_bytes_merges_and_ids():
    at = open_page("tokens", prompt="cat sat")
    assert "7 characters · 7 bytes · 2 tokens" in said(at)
    assert re.search(r"cat.*9246.*·sat.*3332", said(at))
    steps = at.slider(key="merge")
    assert steps.max == steps.value
    steps.set_value(0).run()
    assert "parts so far" in said(at)


def test_an_experiment_of_another_model_names_it():
    row = 'class="pill"[^>]*>Another word in the middle(.*?)</a>'
    named = [re.search(row, drawn(open_page("overview", model=model))).group(1) for model in MODELS]
    assert named[0] == "" and "Bundled GPT" in named[1]


def test_tokens_page_explains_a_split_character_and_a_typed_mark():
    assert "한 is one character, ED 95 9C" in said(open_page("tokens", prompt="한")).replace(
        "  ", " "
    )
    at = open_page("tokens", prompt="<|endoftext|>")
    assert "becomes 7 tokens" in said(at)


def test_opening_another_piece_shows_all_its_merges():
    at = open_page("tokens", prompt="created beginning", piece="0")
    at.slider(key="merge").set_value(1).run()
    at.session_state["_click"] = "piece=1"
    at.run()
    assert at.slider(key="merge").value == at.slider(key="merge").max


def test_nothing_of_one_session_reaches_another():
    one = open_page("overview", prompt="In the")
    other = open_page("overview")
    assert other.text_area(key="prompt").value != one.text_area(key="prompt").value


def test_what_stays_is_out_of_the_garbage_collection():
    """Streamlit collects after every run, which took 150 ms of each before."""
    open_page("overview")
    assert gc.get_freeze_count() > 100_000
