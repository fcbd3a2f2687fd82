"""Every weight can be changed in a grid on the page where it is used."""

import pytest

from tests.support.app import boards, open_page, rerun

BLOCK = {"model": "worked-example", "preset": "block"}


def editable(at):
    """The weights and steps that can be typed on, by name, with the part that is shown."""
    found = [panel for board in boards(at) for panel in board["panels"]]
    return {(panel["name"], *filter(None, panel["index"])) for panel in found if panel["editable"]}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("embedding", ["embed.W_E"]),
        ("position", ["embed.W_P"]),
        ("heads", ["blocks.0.attn.W_O"]),
        ("norm", ["blocks.0.ln_2.gamma", "blocks.0.ln_2.beta"]),
        ("mlp", [f"blocks.0.mlp.{name}" for name in ("W_1", "b_1", "W_2", "b_2")]),
        ("logits", ["unembed.W_U"]),
    ],
)
def test_weights_of_the_worked_example(page, names):
    assert {(name,) for name in names} <= editable(open_page(page, **BLOCK))


@pytest.mark.parametrize("head", [0, 1])
def test_projections_of_each_head(head):
    found = editable(open_page("qkv", head=head, **BLOCK))
    part = (head,) if head else ()
    assert {(f"blocks.0.attn.W_{letter}", *part) for letter in "QKV"} <= found


@pytest.mark.parametrize("norm", ["ln_1", "ln_2", "ln_f"])
def test_every_norm_has_its_own(norm):
    place = norm if norm == "ln_f" else f"blocks.0.{norm}"
    found = editable(open_page("norm", norm=norm, **BLOCK))
    assert {(f"{place}.gamma",), (f"{place}.beta",)} <= found


def test_wide_model_shows_them_in_windows():
    at = open_page("mlp", model="bundled")
    at.session_state["mlp.unfolded"] = True
    found = editable(rerun(at))
    assert {(f"blocks.0.mlp.{name}",) for name in ("W_1", "b_1", "W_2", "b_2")} <= found
    assert ("blocks.0.ln_2.gamma",) in editable(open_page("norm", model="bundled"))


@pytest.mark.parametrize("side", ["before", "difference"])
def test_other_sides_say_where_numbers_are_changed(side):
    at = open_page("qkv", edits="v1~~blocks.0.attn.W_Q~0-0-0~0.5", side=side, **BLOCK)
    board = boards(at)[0]
    assert not editable(at)
    assert all("Choose “After”" in panel["readonly"] for panel in board["panels"])
    assert "beneath" not in str(board["legends"])


def test_axes_of_a_projection_have_names_of_their_own():
    at = open_page("qkv", **BLOCK)
    weights = boards(at)[0]["panels"][1]
    assert weights["words"] == {"row": "number", "column": "head’s number"}
    assert weights["columns"][1]["spoken"] == "head’s number 1"
