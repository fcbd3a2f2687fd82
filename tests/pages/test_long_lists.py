"""Lists of a long text leave tokens out, and each says so with a link that opens them in place."""

import html
import re

import pytest

from tests.support.app import click, drawn, open_page, rows

WORDS = "and the king said unto them in the house of the lord "
LISTS = {  # by page and list: what it is in, and how each of its tokens begins
    ("logits", "every"): (r'<table class="plain every">.*?</table>', '<th scope="row">'),
    ("position", "moved"): (r'class="plain stacked facts-table">.*?</table>', '<th scope="row">'),
    ("position", "orders"): (r'<table class="orders">.*?</tr>.*?</tr>', 'class="tok"'),
    ("embedding", "onehot"): (".*", 'class="line"'),
    ("mlp", "other"): (r"Blank the row of.*?</div>", 'class="tok'),
    ("mlp", "fired"): (r'<div class="whens">.*?</div>', "<small>"),
    ("norm", "along"): (r'<table class="followed along">.*?class="not-done"', 'class="wide"'),
}


def gaps(at, key):
    """What the links of a list say, with the row that each opens it from."""
    found = re.findall(rf'data-set="{key}_from=(\d+)"[^>]*>([^<]*)</a>', drawn(at))
    return list(dict.fromkeys((int(start), html.unescape(says)) for start, says in found))


def n_listed(at, page, key):
    within, each = LISTS[page, key]
    return re.search(within, drawn(at), re.S).group().count(each)


@pytest.mark.parametrize(("page", "key"), LISTS)
def test_every_list_opens_in_place_and_closes(page, key):
    at = open_page(page, model="bundled", prompt=(WORDS * 3)[: len(WORDS) * 3 - 1])
    ((start, says),) = gaps(at, key)
    closed, left = n_listed(at, page, key), int(re.fullmatch(r"Show (\d+) more", says).group(1))
    click(at, **{f"{key}_from": start})
    assert gaps(at, key) == [(0, "Show fewer")]
    assert n_listed(at, page, key) == closed + left
    assert at.query_params[f"{key}_from"] == str(start)


def test_of_a_very_long_text_a_page_opens_at_a_time_and_stays_open():
    at = open_page("mlp", model="bundled", prompt=WORDS * 7, other_from=3)
    assert [start for start, _ in gaps(at, "other")] == [0, 35]
    assert n_listed(at, "mlp", "other") == 3 + 32 + 4 - 1  # without the token where we look
    click(at, other_from=35)
    assert gaps(at, "other")[:2] == [(3, "Show 32 more"), (0, "Show fewer")]
    click(at, layer=1)
    assert (0, "Show fewer") in gaps(at, "other")


def test_the_lens_opens_what_it_leaves_out():
    at = open_page("logits", model="bundled", prompt=WORDS * 4)
    (start, says), closed = gaps(at, "lens")[0], len(rows(at, "lens"))
    click(at, lens_from=start)
    assert says == "Show 32 of 42 more" and len(rows(at, "lens")) == closed + 1 + 32


@pytest.mark.parametrize("start", ["-1", "x", "999"])
def test_a_place_that_is_not_there_is_said_and_nothing_opens(start):
    at = open_page("logits", model="bundled", prompt=WORDS * 2, every_from=start)
    assert (0, "Show fewer") not in gaps(at, "every") and "every_from" in drawn(at)
