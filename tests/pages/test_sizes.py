"""Every page with the worked example in other sizes, and the controls that change them."""

import itertools
import random
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from core.models.example_size import LIMITS, read, write
from tests.pages.test_every_page import PAGES
from tests.support.app import drawn, open_page, said
from tests.support.subjects import PRESETS


def pairwise_sizes(seed=0):
    """Sizes in which every two of them meet at their ends, and the presets in turn."""
    rng = random.Random(seed)
    open_pairs = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(LIMITS, 2)
        for i in LIMITS[a]
        for j in LIMITS[b]
    }
    found = []
    while open_pairs:
        tries = [{name: rng.choice(LIMITS[name]) for name in LIMITS} for _ in range(30)]
        best = max(tries, key=lambda sizes: len(met(sizes) & open_pairs))
        open_pairs -= met(best)
        found.append(write(best))
    return found


def met(sizes):
    return set(itertools.combinations(sizes.items(), 2))


SIZES = pairwise_sizes()
CASES = [
    (page, PRESETS[(i + j) % len(PRESETS)], size)
    for i, page in enumerate(PAGES)
    for j, size in enumerate(SIZES)
    if (i + j) % 3 == 0
]


@pytest.mark.parametrize(("page", "preset", "size"), CASES, ids=["-".join(c[:2]) for c in CASES])
def test_page_opens_in_this_size(page, preset, size):
    at = open_page(page, lang="en", model="worked-example", preset=preset, size=size)
    assert "{" not in said(at)


def open_example(page="qkv", **query):
    return open_page(page, lang="en", model="worked-example", **query)


def steps(at):
    """The links of the controls by what they say, with the size that each leads to."""
    links = re.findall(r'<a class="step"[^>]*>', drawn(at))
    named = (
        (re.search('aria-label="(.*?)"', a)[1], re.search('href="(.*?)"', a)[1]) for a in links
    )
    return {name: parse_qs(urlsplit(href.replace("&amp;", "&")).query) for name, href in named}


def test_controls_lead_one_step_on_and_stop_at_the_limits():
    found = steps(open_example(size="n_heads-4.d_head-1"))
    assert found["width (d_model): one more"]["size"] == ["n_heads-4.d_model-4.d_head-1"]
    assert found["heads: one less"]["size"] == ["n_heads-3.d_head-1"]
    assert found["width of a head: one more"]["size"] == ["n_heads-4"]  # its own is left out
    assert "heads: one more" not in found and "width of a head: one less" not in found
    assert found["tokens in the text: one more"]["prompt"] == ["나는 밥을 먹었다 물을"]
    assert found["tokens in the text: one less"]["prompt"] == ["나는 밥을"]


def test_a_step_back_to_the_own_size_leaves_nothing_in_the_link():
    assert "size" not in steps(open_example(size="d_model-4"))["width (d_model): one less"]
    at = open_example(size="d_model-3.n_heads-2")
    assert "size" not in at.query_params


def test_the_page_shows_the_other_size_and_the_way_back():
    at = open_example(size="d_model-4.n_heads-1")
    assert "Not in its usual size: heads 1, width (d_model) 4." in said(at)
    assert "turns 4 numbers into 2" in said(at).replace("Each t", "t")
    assert at.query_params["size"] == "n_heads-1.d_model-4"
    assert "usual size" not in said(open_example())


@pytest.mark.parametrize("size", ["d_model-99", "nonsense", "d_model-4.d_model-5", "<b>", "~z.AAA"])
def test_a_size_that_cannot_be_gives_a_notice_and_the_own_size(size):
    at = open_example(size=size)
    assert "size" not in at.query_params
    notice = "asks for a size that the worked example cannot have"
    assert notice in said(at) or "was cut off or changed" in said(at)


def test_sizes_are_kept_for_each_preset_and_a_link_to_a_preset_has_its_own():
    at = open_example(size="d_model-4")
    at.selectbox(key="preset").select("part-3").run()
    assert "size" not in at.query_params
    at.selectbox(key="preset").select("block").run()
    assert at.query_params["size"] == "d_model-4"
    at.session_state["_click"] = "preset=block"
    at.run()
    assert "size" not in at.query_params and not at.exception


def test_changes_belong_to_a_size():
    edit = "v1~~blocks.0.attn.W_Q~0-2-1~0.8"
    at = open_example(edits=edit)
    at.session_state["_click"] = "size=d_model-4"
    at.run()
    assert "edits" not in at.query_params
    at.session_state["_click"] = "size="
    at.run()
    assert at.query_params["edits"] == edit


def test_changes_that_do_not_fit_a_size_are_said():
    at = open_example(size="n_heads-1", edits="v1~~blocks.0.attn.W_Q~1-0-0~0.8")
    assert not at.exception


def test_the_bundled_model_has_no_sizes():
    at = open_page("qkv", lang="en", model="bundled", size="d_model-4")
    assert 'class="step"' not in drawn(at)
    assert read("") == {}
