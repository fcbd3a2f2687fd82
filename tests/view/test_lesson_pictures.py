"""What the Scores, Heads and Norm pages draw, apart from the pages themselves."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import core
from core.view import (
    heads_pictures,
    norm_pictures,
    norm_placement,
    norm_residual,
    scores_masks,
    scores_pictures,
)
from core.view.look import Look
from core.view.texts import speaker
from tests.support.still import Still

LIKE_LLAMA = {"norm": "rms", "n_kv_heads": 1, "position": "rotary", "gated": False}


def look_at(preset="block", token=2, head=0, language="en", prompt="", **settings):
    model = core.load("worked-example", preset=preset, **settings)
    trace = model.trace(prompt or model.default_prompt)
    return Look(speaker(language), trace, Still(), 0, head, token)


def test_four_matrices_have_the_same_rows_and_columns():
    cuts = list(scores_pictures.four(look_at()).values())
    assert [cut.name.rpartition(".")[2] for cut in cuts] == list(scores_pictures.STEPS)
    assert {cut.values.shape for cut in cuts} == {(3, 3)}
    assert cuts[1].note == "S / √2 = S / 1.41"


def test_four_matrices_say_what_a_variant_leaves_out():
    notes = [cut.note for cut in scores_pictures.four(look_at("part-2", scaled=False)).values()]
    assert notes[1:3] == ["S, not divided in this variant", "no mask in this variant"]


def test_lines_show_every_token_of_a_short_text_once():
    look = look_at(token=1)
    shares, masked = np.array([0.4, 0.6, 0]), np.array([1.0, 2, -np.inf])
    assert [at for at, _ in scores_pictures.lines(look, shares, masked)] == [[0], [1], [2]]


def test_lines_put_what_is_small_and_what_is_later_together():
    look = look_at()
    masked = np.r_[np.zeros(12), [-np.inf] * 2]
    shares = np.r_[np.arange(12) / 66, 0, 0]
    long = replace(look, trace=SimpleNamespace(tokens=["나는"] * 14))
    found = [at for at, _ in scores_pictures.lines(long, shares, masked)]
    assert found == [[5], [6], [7], [8], [9], [10], [11], [0, 1, 2, 3, 4], [12, 13]]


def test_gradients_are_written_as_they_are():
    found = norm_residual.depth()
    assert (found["fraction"], found["fraction_with"]) == (25, 6)
    assert found["product"] == "0.00001" and found["product_with"] == "1.61"


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    "settings", [{}, LIKE_LLAMA, {"norm_placement": "post"}, {"scaled": False}]
)
def test_every_kind_of_model_can_be_drawn(settings, language):
    look = look_at(language=language, head=1, **settings)
    for draw in (scores_pictures.followed, scores_pictures.this_row):
        assert "<table" in draw(look)
    for way, cut in scores_masks.masked(look).items():
        assert cut.values.shape == (3, 3) and 'class="entry"' in scores_masks.mask_sum(look, way)
    for draw in (heads_pictures.weighted_sum, heads_pictures.side_by_side, heads_pictures.mixed):
        assert "stack-row total" in draw(look)
    assert heads_pictures.product(look) and heads_pictures.mixing(look)
    assert "<table" in heads_pictures.one_projection(look) + heads_pictures.shapes(look)
    for part in norm_residual.additions(look):
        assert norm_residual.sums(look, part) and norm_residual.added(look, part)
    for place in norm_pictures.norms(look):
        assert "stack-row total" in norm_pictures.step_by_step(look, place)
        assert norm_pictures.boards(look, place) and norm_pictures.directions(look, place)
        assert len(norm_pictures.steps(look, place)) >= 3
        assert norm_pictures.facts(look, place)["n"] == 3
    assert norm_placement.has_both(look)


def test_rms_norm_takes_no_mean_off():
    drawn = norm_pictures.step_by_step(look_at(norm="rms"), "blocks.0.ln_2")
    assert "x²" in drawn and "μ" not in drawn


def test_block_code_is_the_models_own():
    assert norm_placement.block_code().startswith("def block(")
    assert "stream" in norm_placement.block_code()


def test_text_of_a_person_is_escaped():
    model = core.load("worked-example", preset="block")
    trace = model.trace(model.default_prompt)
    trace.tokens = ["<b>", "&", "<script>"]
    look = Look(speaker("en"), trace, Still(), 0, 0, 2)
    drawn = "".join(
        draw(look)
        for draw in (
            scores_pictures.followed,
            lambda look: scores_masks.mask_sum(look, "after"),
            heads_pictures.weighted_sum,
            heads_pictures.side_by_side,
        )
    ) + norm_pictures.directions(look, "blocks.0.ln_2")
    assert not re.search(r"<b>&|<script>|<span><b></span>", drawn)
    assert "&lt;script&gt;" in drawn


def test_rows_that_are_not_in_columns_say_what_they_are():
    """On a phone value and part of it stand under each other, each with its name; not the sum."""
    drawn = heads_pictures.weighted_sum(look_at("part-3"))
    for name in ("its value", "what is taken of it"):
        assert drawn.count(f'<small class="only-narrow">{name}</small>') == 3


def test_a_norm_is_one_sum_with_its_legends_beneath():
    drawn = norm_pictures.step_by_step(look_at(), "blocks.0.ln_2")
    assert drawn.count('class="stack noted"') == 1
    assert drawn.rindex('class="stack-row') < drawn.index('class="legends"')


def test_of_a_long_text_each_token_has_its_mean_and_variance():
    look = look_at(prompt="나는 밥을 먹었다 나는 밥을 먹었다 나는 밥을", preset="block")
    assert norm_pictures.each_token(look, "blocks.0.ln_1") == ""
    trace = core.load("bundled").trace("In the beginning God created the heaven and the earth")
    look = Look(speaker("en"), trace, Still(), 0, 0, 1)
    drawn = norm_pictures.each_token(look, "blocks.0.ln_1")
    assert drawn.count('class="fired-at') == 2 * len(trace)
    assert [cut.name for cuts in norm_pictures.boards(look, "blocks.0.ln_1") for cut in cuts] == [
        "blocks.0.ln_1.normed",
        "blocks.0.ln_1.out",
    ]
