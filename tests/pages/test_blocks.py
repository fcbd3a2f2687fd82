"""The block where we look is chosen in the pictures themselves, where they show one of several."""

import re

import pytest

from tests.support.app import drawn, open_page

PAGES = ("qkv", "scores", "heads", "norm", "mlp")


def links(at, pattern):
    """The blocks that links of a kind lead to, and those marked as the one where we look."""
    found = re.findall(pattern, drawn(at), re.S)
    layers = [int(re.search(r'data-set="[^"]*layer=(\d+)', link).group(1)) for link in found]
    here = [i for i, link in zip(layers, found, strict=True) if 'aria-current="true"' in link]
    return layers, here


def blocks(node):
    """Every container of a page, from the outside in."""
    inner = getattr(node, "children", {}).values()
    found = [node] if getattr(node, "proto", None) and hasattr(node.proto, "id") else []
    return found + [block for child in inner for block in blocks(child)]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_stand_along_the_frame_of_the_first_picture(page):
    at = open_page(page, model="bundled", layer=2)
    row = r'<a class="pick[^>]*data-set="layer=\d"[^>]*aria-label="Block \d"[^>]*>'
    assert links(at, row) == (list(range(6)), [2])
    (frame,) = [block for block in blocks(at.main) if "of_block" in block.proto.id]
    tabs, *picture = frame.children.values()
    assert 'class="block-tabs"' in tabs.proto.body and picture


@pytest.mark.parametrize("page", [*PAGES, "stream", "logits"])
def test_a_model_with_one_block_offers_no_choice(page):
    html = drawn(open_page(page, model="worked-example", preset="block"))
    assert (
        "block-tabs" not in html
        and 'aria-label="Block 0"' not in html
        and '<a class="block-name"' not in html
    )


def test_rows_of_the_stream_are_links_to_their_blocks():
    at = open_page("stream", model="bundled", layer=3)
    layers, here = links(at, r'<a class="block-name"[^>]*>')
    two_each = [i for i in range(6) for _ in range(2)]
    assert layers == two_each * 3  # the belt, the lengths, who pushed
    assert here == [3] * 6


def test_columns_of_the_lens_look_at_their_blocks():
    at = open_page("logits", model="bundled", layer=4, prompt="In the")
    heads = re.findall(r'<th scope="col"[^>]*title="Block (\d) [^>]*>(<a [^>]*>)', drawn(at))
    assert [block for block, _ in heads] == [str(i) for i in range(6) for _ in range(2)]
    assert all(f"layer={block}" in link for block, link in heads)
    current = [block for block, link in heads if "aria-current" in link]
    assert current == ["4", "4"]
    assert 'data-set="token=0&amp;layer=2&amp;lens=5"' in drawn(at)  # a cell: both at once


def test_rows_of_the_overview_are_links_to_their_blocks():
    at = open_page("overview", model="bundled", layer=1)
    heads = re.findall(r'<a class="head[^>]*>', drawn(at))
    assert [f"layer={i}" in link for i, link in enumerate(heads)] == [True] * 6
