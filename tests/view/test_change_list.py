"""The list of changes: each in plain words with its links, and what these do."""

import html
import re

import pytest

from core.changes import Changes, Entry, Patch, Put, Switch, decode, encode
from tests.support.app import call, click, components, drawn, go, open_app, open_page, said

W_Q = "blocks.0.attn.W_Q"


def link(*changes, off=()):
    return encode(Changes(tuple(Entry(c) for c in changes) + tuple(Entry(c, False) for c in off)))


def visit(*changes, off=(), page="tokens", **query):
    query = {"model": "worked-example", "preset": "block"} | query
    return open_page(page, edits=link(*changes, off=off), **query)


def section(at):
    return re.search(r'<section class="changes">.*?</section>', drawn(at), re.S)[0]


def lines(at):
    """Each line as it is read."""
    items = re.findall(r"<li.*?</li>", section(at), re.S)
    return [re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", i))).strip() for i in items]


def edits(at):
    return decode(at.session_state["edits"]).entries


def test_nothing_changed_is_one_friendly_line():
    at = open_page("tokens", model="worked-example")
    assert "Double-click any number" in section(at)
    assert "<a " not in section(at)
    assert "두 번 클릭" in section(open_page("tokens", model="worked-example", lang="ko"))


@pytest.mark.parametrize(
    ("change", "english", "korean"),
    [
        (
            Put(W_Q, (1, 0, 1), 0.8),
            "W_Q, from number 0 to number 1 of the query (block 0, head 1) 0 → 0.8",
            "0 → 0.8",
        ),
        (Put("embed.W_P", (1, 0), -0.25), "W_P, position 1, number 0 0.1 → −0.25", "→ −0.25"),
        (
            Put("blocks.0.attn.heads", (1, None, None), 0.0),
            "Head 1 of block 0 switched off",
            "블록 0의 헤드 1 꺼짐",
        ),
        (
            Put("blocks.0.attn.out", (None, None), 0.0),
            "Attention of block 0 switched off",
            "블록 0의 어텐션 꺼짐",
        ),
        (
            Put("blocks.0.mlp.out", (None, None), 0.0),
            "MLP of block 0 switched off",
            "블록 0의 MLP 꺼짐",
        ),
        (
            Put("blocks.0.mlp.act", (None, 4), 0.0),
            "Neuron 4 of block 0 switched off",
            "블록 0의 뉴런 4 꺼짐",
        ),
        (
            Put("blocks.0.attn.q", (1, 2, None), 0.0),
            "query (block 0, head 1, 먹었다 (2)) all → 0",
            "모두 → 0",
        ),
        (
            Patch("blocks.0.attn.out", (1, None), "나는 물을 마셨다"),
            "row of attention out (block 0, 밥을 (1)): taken from “나는 물을 마셨다”",
            "“나는 물을 마셨다”에서 가져옴",
        ),
        (Switch("scaled", "off"), "Scale by √d_k on → off", "켬 → 끔"),
        (Switch("activation", "relu"), "Curve GELU (tanh) → ReLU", "근사) → ReLU"),
    ],
)
def test_a_change_is_said_in_plain_words(change, english, korean):
    (line,) = lines(visit(change))
    assert line == f"{english} Pause Remove"
    assert korean in lines(visit(change, lang="ko"))[0]


def test_each_link_says_to_a_screen_reader_which_change_it_is_for():
    found = section(visit(Switch("scaled", "off"), Switch("mask", "off")))
    names = re.findall(r'<a aria-label="([^"]*)"', found)
    assert "Remove: Scale by √d_k" in names
    assert "Pause: Mask of later tokens" in names
    assert len(names) == len(set(names))


def test_a_paused_change_is_greyed_and_can_be_resumed():
    at = visit(off=[Switch("scaled", "off")])
    assert '<li class="idle">' in section(at)
    assert lines(at) == ["Scale by √d_k on → off Paused: not in force. Resume Remove"]
    click(at, do="flip.0")
    assert edits(at)[0].on
    assert '<li class="idle">' not in section(at)


def test_links_remove_pause_reset_undo_and_redo():
    one, two = Switch("scaled", "off"), Put("logits", (0, 1), 2.5)
    at = visit(one, two)
    click(at, do="drop.0")
    assert [e.change for e in edits(at)] == [two]
    click(at, do="flip.0")
    assert edits(at) == (Entry(two, False),)
    click(at, do="reset")
    assert edits(at) == ()
    assert "Nothing yet" in section(at)
    for wanted in ((Entry(two, False),), (Entry(two),), (Entry(one), Entry(two))):
        click(at, do="undo")
        assert edits(at) == wanted
    assert 'aria-disabled="true">Undo' in section(at)
    click(at, do="undo")
    assert len(edits(at)) == 2
    for _ in range(3):
        click(at, do="redo")
    assert edits(at) == ()


@pytest.mark.parametrize(
    "do",
    ["drop.9", "drop.-1", "drop.1-0", "drop.x", "flip.", "drop.0-99999", "drop.0.7", "bogus.0"],
)
def test_a_link_to_nothing_does_nothing(do):
    at = visit(Switch("scaled", "off"), Switch("mask", "off"))
    before = at.session_state["edits"]
    click(at, do=do)
    assert at.session_state["edits"] == before


def test_many_cells_of_one_matrix_are_one_line_that_unfolds():
    cells = [Put(W_Q, (0, row, column), 9.5) for row in range(3) for column in range(2)]
    at = visit(Switch("mask", "off"), *cells, Put(W_Q, (1, 0, 0), 1.0))
    assert "6 cells of W_Q (block 0, head 0)" in section(at)
    assert section(at).count("<details") == 1
    assert "<details open" not in section(at)
    click(at, do="flip.1-6")
    assert [entry.on for entry in edits(at)] == [True, *[False] * 6, True]
    click(at, do="flip.3")
    assert "<details open" in section(at)
    click(at, do="flip.1-6")
    assert sum(entry.on for entry in edits(at)) == 2
    click(at, do="drop.1-6")
    assert len(edits(at)) == 2
    assert "<details" not in section(at)


def test_a_very_long_list_is_folded_and_says_how_many_are_not_drawn():
    cells = [Put("embed.W_E", (i // 160, i % 160), 1.0) for i in range(300)]
    found = section(visit(*cells, model="bundled", preset=""))
    assert "300 cells of W_E" in found
    assert "… and 240 more" in found
    assert len(found) < 150_000


def test_what_does_not_fit_is_greyed_and_says_why():
    at = visit(
        Put("logits", (7, 0), 1.0),
        Put("blocks.3.attn.out", (0, 0), 1.0),
        Put("blocks.0.attn.W_Q", (0, 0, 9), 1.0),
        Patch("blocks.0.attn.out", (2, None), "나는 물을"),
        Patch("blocks.0.attn.out", (1, None), "나는 nonsense"),
        Switch("mask", "off"),
    )
    found = lines(at)
    assert (
        "Logit of “나는” (ID 0) after token 7" in found[0]
        and "the text has 3 tokens only" in found[0]
    )
    assert "has no such step" in found[1]
    assert "has no such place" in found[2]
    assert "the other text has 2 tokens, this one 3" in found[3]
    assert "a word that this model does not know: nonsense" in found[4]
    assert section(at).count('class="idle"') == 5
    click(at, do="drop.0-4")
    assert lines(at) == ["Mask of later tokens on → off Pause Remove"]


@pytest.mark.parametrize("page", ["tokens", "qkv", "experiments", "overview"])
@pytest.mark.parametrize(
    "change",
    [
        Put(W_Q, (1, 0), 4.0),
        Put(W_Q, (0, 1, 0, 2), 4.0),
        Put("blocks.0.attn.heads", (0,), 4.0),
        Put("blocks.0.attn.heads", (None,), 0.0),
        Put("blocks.0.mlp.act", (None,), 0.0),
        Patch("blocks.0.resid_out", (0, None, None), "물을"),
    ],
)
def test_too_few_or_too_many_places_in_a_link_are_a_change_that_does_not_fit(change, page):
    at = visit(change, page=page)
    assert not at.exception
    assert "no such place" in section(at)


def test_what_a_later_change_covers_is_greyed_and_says_so():
    row = Patch("blocks.0.attn.scores", (0, 2, None), "나는 물을 마셨다")
    cell = Put("blocks.0.attn.scores", (0, 2, 0), 7.0)
    first, second = lines(visit(cell, row))
    assert "Covered by a later change" in first and "Covered" not in second
    assert section(visit(cell, row)).count('class="idle"') == 1
    assert not any("Covered" in line for line in lines(visit(row, cell)))
    assert not any("Covered" in line for line in lines(visit(cell, off=[row])))


def test_a_norm_is_named_and_numbers_are_written_as_in_a_matrix():
    (line,) = lines(visit(Put("blocks.0.ln_1.gamma", (0,), 1e9)))
    assert line.startswith("γ of the norm before attention, number 0 (block 0) 1 → 1·10⁹ ")
    (line,) = lines(visit(Put("blocks.0.attn.scores_masked", (0, 0, 2), 1.0)))
    assert "−∞ → 1" in line


@pytest.mark.parametrize(
    ("query", "said"),
    [({"preset": "part-4"}, "in the variant “The whole block”"), ({}, "in the usual size")],
)
def test_changes_that_wait_elsewhere_are_said_with_a_link(query, said):
    at = visit(Put(W_Q, (1, 0, 1), 0.8))
    mine = at.session_state["edits"]
    click(at, **(query or {"size": "d_model-4"}))
    assert at.session_state["edits"] == ""
    assert f"1 change waits {said}" in section(at)
    assert 'data-set="preset=block&amp;size="' in section(at)
    click(at, preset="block", size="")
    assert at.session_state["edits"] == mine and "waits" not in section(at)


def test_an_edit_of_a_tied_matrix_says_that_it_is_the_output_matrix_too():
    change = Put("embed.W_E", (262, 3), 1.0)
    assert "W_E is the output matrix too" in said(visit(change, model="bundled", preset=""))
    assert "W_E is the output matrix too" not in said(visit(Put("embed.W_E", (1, 1), 1.0)))


def test_a_text_that_was_typed_over_is_listed_and_can_be_put_back():
    at = visit(prompt="나는 물을 먹었다", was="나는 밥을 먹었다")
    assert lines(at) == [
        "Text “나는 밥을 먹었다” → “나는 물을 먹었다” Back to the old text Stop comparing"
    ]
    click(at, do="old_text")
    assert at.session_state["prompt"] == "나는 밥을 먹었다"
    assert "Nothing yet" in section(at)


def test_text_that_people_type_is_never_markup():
    hostile = "<img src=x onerror=alert(1)> & </section>"
    at = visit(
        Patch("blocks.0.attn.out", (0, None), hostile), model="bundled", preset="", prompt=hostile
    )
    assert "<img src=x" not in drawn(at)
    assert "&lt;img src=x" in section(at)


def test_no_change_is_lost_by_page_language_or_model():
    changes = link(Put(W_Q, (1, 0, 1), 0.8), Switch("mask", "off"))
    at = open_app("scores", model="worked-example", preset="block", edits=changes)
    mine = at.session_state["edits"]
    for page in ("heads", "tokens", "mlp", "scores"):
        go(at, page)
        assert at.session_state["edits"] == mine
    at.session_state["lang"] = "ko"
    at.run()
    click(at, model="bundled")
    assert at.session_state["edits"] == ""
    click(at, do="add.blocks.2.attn.heads~1-x-x~0.0")
    theirs = at.session_state["edits"]
    click(at, model="worked-example", preset="block")
    assert at.session_state["edits"] == mine
    click(at, model="bundled")
    assert at.session_state["edits"] == theirs
    click(at, do="undo")
    assert at.session_state["edits"] == ""


def test_more_changes_than_a_link_holds_are_refused_and_nothing_is_lost():
    from core.graph import Ref
    from core.view import changes, engine

    at = visit(Switch("mask", "off"), model="bundled", preset="")
    trace = engine.load("bundled", "").trace([1, 2, 3])
    cells = [(Ref("embed.W_E", (i // 160, i % 160)), 1.0) for i in range(2_000)]
    call(at, changes.edit_cells, trace, cells)
    assert [e.change for e in edits(at)] == [Switch("mask", "off")]
    assert "More than 2,000 numbers" in said(at)


def test_the_file_holds_what_the_list_shows():
    at = visit(Put(W_Q, (1, 0, 1), 0.8))
    (file,) = components(at, "file")
    assert '{"set": "blocks.0.attn.W_Q", "at": [1, 0, 1], "to": 0.8}' in file["text"]
    assert file["name"] == "ripple-worked-example.json"
