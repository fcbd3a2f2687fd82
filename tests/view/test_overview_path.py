"""The whole path shows every step exactly once, in order, at the stop where it belongs."""

import re

import numpy as np
import pytest

from core.models.catalogue import load
from core.view import tokens_pictures
from core.view.look import Look, shortened
from core.view.overview_belt import LINE, belt, tiles
from core.view.overview_path import group_of, path, stop_of
from core.view.step_words import step_key
from core.view.strip import STOPS
from core.view.texts import LANGUAGES, speaker, text
from tests.support.still import Still
from tests.support.subjects import PRESETS


def look_at(model, prompt=None, layer=0, head=0, token=0, language="en"):
    trace = model.trace(prompt or model.default_prompt)
    return Look(speaker(language), trace, Still(), layer, head, token)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_step_has_a_card_with_its_shape(preset, language):
    model = load("worked-example", preset=preset)
    look = look_at(model, language=language)
    made = path(look)
    cards = re.findall(r'title="([\w.]+) \[', made)
    sums = [n for n in look.trace.steps if f" {n} " in made or len(look.trace.step(n).inputs) == 2]
    assert set(look.trace.steps) - set(cards) <= set(sums)
    assert [name for name in look.trace.steps if name in cards and name != "tokens.positions"] == [
        name for name in cards if name != "tokens.positions"
    ]


def test_a_variant_is_not_said_to_do_what_it_does_not():
    made = path(look_at(load("worked-example", preset="part-2")))
    assert "No token may look at a later one" not in made
    assert "added back" not in made
    assert "This variant has no mask" in made and "This variant has no shortcut" in made
    full = path(look_at(load("worked-example", preset="block")))
    assert "This variant" not in full and "No token may look at a later one" in full


def test_worked_example_writes_its_numbers():
    made = path(look_at(load("worked-example", preset="part-2")))
    for number in ("1.05", "0.32", "0.61", "0.41", "0.52"):
        assert f">{number}<" in made


@pytest.mark.parametrize("language", LANGUAGES)
def test_bundled_model_draws_every_block_with_the_real_shape(language):
    model = load("bundled")
    for layer in (0, model.config.n_layers - 1):
        look = look_at(model, "In the beginning", layer=layer, head=1, token=2, language=language)
        made = path(look)
        assert look.shape_words(f"blocks.{layer}.mlp.act") in made
        assert text(language, "axes.vocab", n=50257) in made
        assert made.count("data:image/png") > 20


def test_belt_has_a_cell_for_each_token_and_block():
    model = load("bundled")
    look = look_at(model, "In the beginning God created the", token=5)
    made = belt(look)
    assert made.count('class="cell') == 6 * (model.config.n_layers + 1)
    assert len(re.findall(r"--picture:url", made)) == model.config.n_layers + 1


def test_a_column_keeps_every_value_of_a_row_in_reading_order():
    values = np.arange(100, dtype=float).reshape(2, 50)
    lines = tiles(values, [0, 1])
    assert lines.shape == (4, LINE)
    assert list(lines[:2].ravel()[:50]) == list(range(50))
    assert list(lines[2:].ravel()[:50]) == list(range(50, 100))


def test_rows_drawn_together_have_the_room_of_one_and_show_what_is_furthest_from_0():
    values = np.zeros((40, 64))
    values[3, 0], values[4, 1], values[30, 63], values[39, 5] = 1.0, -2.0, 3.0, 9.0
    lines = tiles(values, [0, range(1, 39), range(39, 39), 39])
    assert lines.shape == (8, LINE)
    assert lines[2:4].tolist() == [[-2.0, *[0.0] * 31], [*[0.0] * 31, 3.0]]
    assert not lines[4:6].any() and lines[6:].sum() == 9.0


@pytest.mark.parametrize("here", [0, 7, 128, 255])
def test_long_prompts_are_shortened_without_losing_a_row(here):
    rows = shortened(256, here)
    flat = [i for row in rows for i in (row if isinstance(row, range) else [row])]
    assert flat == list(range(256))
    assert here in rows and 0 in rows and 255 in rows
    assert len(rows) <= 15
    assert shortened(12, here % 12) == list(range(12))


def test_opened_rows_stand_in_their_place_behind_an_empty_range():
    rows = shortened(60, 59, range(10, 42))
    assert rows == [
        0,
        1,
        2,
        range(3, 10),
        range(10, 10),
        *range(10, 42),
        range(42, 56),
        *range(56, 60),
    ]
    assert shortened(30, 29, range(3, 30))[:4] == [0, 1, 2, range(3, 3)]


@pytest.mark.parametrize(
    "settings",
    [
        {"position": "rotary", "norm": "rms", "gated": True, "activation": "silu"},
        {"norm_placement": "post", "activation": "relu"},
        {"position": "sinusoidal", "residual": ()},
        {"position": "none", "norm": "none"},
        {"causal": False, "scaled": False, "d_mlp": 0},
    ],
)
def test_every_step_of_every_kind_of_model_has_texts(settings):
    from core.graph import Graph, Scope
    from core.models.config import Config
    from core.models.gpt import gpt

    graph = Graph()
    config = Config(1, 2, 8, 6, 8, **settings)
    gpt(Scope(graph), config)
    for step in graph.steps.values():
        for language in LANGUAGES:
            assert text(language, f"{step_key(config, step.role)}.title")
            assert text(language, f"{step_key(config, step.role)}.says")
        assert stop_of(step.role) in STOPS
        assert group_of(step.role) in ("embedding", "attention", "mlp", "output")


def test_merges_are_shown_one_by_one():
    tokenizer = load("bundled").tokenizer
    [piece] = tokenizer.explain("created")
    merged, part = tokens_pictures.first_merges(tokenizer, piece)
    assert part == len("created")
    rows = [
        tokens_pictures.merge_rows(speaker("en"), merged, n) for n in range(len(merged.merges) + 1)
    ]
    assert rows[0].count("<li") == 1 and "7 parts so far" in rows[0]
    assert rows[-1].count("<li") == len(merged.merges) + 1
    assert "No pair is left to join" in rows[-1]


def test_endless_pieces_are_followed_at_their_beginning_only():
    tokenizer = load("bundled").tokenizer
    [piece] = tokenizer.explain("ㅋ" * 10_000)
    merged, part = tokens_pictures.first_merges(tokenizer, piece)
    assert part == tokens_pictures.MOST_CHARACTERS_MERGED
    assert len(merged.data) == 3 * part


def test_characters_split_over_tokens_are_named():
    tokenizer = load("bundled").tokenizer
    made = tokens_pictures.split_characters(speaker("en"), tokenizer, tokenizer.encode("a한b"))
    assert ">한<" in made and "ED 95 9C" in made and "one character" in made
    none = tokens_pictures.split_characters(speaker("en"), tokenizer, tokenizer.encode("abc"))
    assert "within a single token" in none


def test_tokens_of_the_belt_say_their_place_and_only_the_first_part_is_open():
    look = look_at(load("bundled"), "In the beginning")
    assert re.findall(r"<small>(\d+)</small></a>", belt(look)) == ["0", "1", "2"]
    folds = re.findall(r'<details( open="open")? data-fold="(\w+)">', path(look))
    assert [name for _, name in folds] == ["embedding", "attention", "mlp", "output"]
    assert [name for is_open, name in folds if is_open] == ["embedding"]
