"""Switches, and what can be switched off, beside what they change: on every page that has them."""

import re

import pytest

from core.changes import decode
from tests.support.app import click, drawn, open_page, said

HERE = {"model": "worked-example", "preset": "block"}
WHERE = {
    "scores": ("scaled", "mask"),
    "heads": ("heads",),
    "norm": ("residual", "norm"),
    "mlp": ("activation",),
    "position": ("position",),
    "generation": ("kv_heads",),
}


def rows(at):
    """Of each row its name, what can be chosen, and what is."""
    found = {}
    for row in re.findall(r'<div class="picks" role="group".*?</div>', drawn(at), re.S):
        name = re.search(r'aria-label="([^"]*)"', row)[1]
        links = re.findall(r'<a class="(pick[^"]*)"[^>]*>([^<]*)</a>', row)
        found[name] = [text for _, text in links], [text for c, text in links if "here" in c]
    return found


def offers(at):
    """The links that switch parts off or on, and what they do."""
    links = re.findall(r'<a class="off-link[^"]*"[^>]*data-set="do=([^"]*)">([^<]*)</a>', drawn(at))
    return {text: do for do, text in links}


def changes(at):
    return [(entry.change, entry.on) for entry in decode(at.session_state["edits"]).entries]


@pytest.mark.parametrize("page", WHERE)
@pytest.mark.parametrize("model", [HERE, {"model": "bundled"}], ids=["example", "bundled"])
def test_each_switch_stands_on_its_page_and_can_be_set_and_put_back(page, model):
    at = open_page(page, **model)
    found = rows(at)
    assert len(found) == len(WHERE[page])
    for setting, (name, (values, here)) in zip(WHERE[page], found.items(), strict=True):
        assert len(values) >= 2
        assert len(here) == 1
        links = re.findall(rf'data-set="do=add\.{setting}(?:~|%7E)(\w+)">', drawn(at))
        own = links[values.index(here[0])]
        other = next(value for value in links if value != own)
        click(at, do=f"add.{setting}~{other}")
        assert rows(at)[name][1] == [values[links.index(other)]]
        assert "the model’s own is “" in said(at)
        click(at, do=f"add.{setting}~{own}")
        assert changes(at) == []


def test_only_what_is_possible_is_offered():
    assert "Scale by √d_k" not in rows(open_page("scores", model="worked-example", preset="part-1"))
    at = open_page("heads", model="worked-example", preset="part-2")  # one head, so nothing to join
    assert "Heads" not in rows(at)


def test_rows_are_translated():
    at = open_page("scores", **HERE, lang="ko", edits="v1~~scaled~off")
    assert rows(at)["√d_k로 나누기"] == (["켬", "끔"], ["끔"])
    assert "이 모델의 원래 설정은 “켬”예요" in said(at)


def test_heads_offers_the_head_where_we_look_and_takes_it_back():
    at = open_page("heads", model="bundled", layer=2, head=3)
    found = offers(at)
    assert list(found) == ["Switch head 3 off", "Switch the attention of block 2 off"]
    click(at, do=found["Switch head 3 off"].replace("%7E", "~"))
    assert "Head 3 of block 2" in said(at)
    back = offers(at)["Switch head 3 on again"]
    click(at, do=back)
    assert changes(at) == []


def test_mlp_offers_each_neuron_that_is_shown_and_the_whole():
    at = open_page("mlp", model="bundled", layer=1)
    found = offers(at)
    assert "Switch the MLP of block 1 off" in found
    neuron = next(text for text in found if "neuron" in text)
    click(at, do=found[neuron].replace("%7E", "~"))
    assert neuron.replace("off", "on again") in offers(at)
    assert neuron not in offers(at)


def test_stream_offers_both_parts_of_a_block_and_all_of_it():
    at = open_page("stream", model="bundled", layer=4)
    found = offers(at)
    assert list(found) == [
        "Switch the attention of block 4 off",
        "Switch the MLP of block 4 off",
        "Switch all of block 4 off",
    ]
    click(at, do=found["Switch all of block 4 off"].replace("%7E", "~"))
    assert [change.name for change, _ in changes(at)] == ["blocks.4.attn.out", "blocks.4.mlp.out"]
    assert "Switch the MLP of block 4 on again" in offers(at)
    click(at, do=offers(at)["Switch all of block 4 on again"])
    assert changes(at) == []
