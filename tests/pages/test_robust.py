"""Every page under switches, edits, ablations, patches and other texts: it opens, in words."""

import itertools
import random
import re

import pytest
import torch

from core.changes import Changes, Patch, Put, Switch, encode
from core.changes.switches import SWITCHES
from core.graph.ops import Softmax
from core.view import texts
from tests.pages.test_every_page import PAGES
from tests.support.app import components, open_page, rerun, said
from tests.support.subjects import PRESETS

KEYS = {key for key in texts.load("en") if "." in key}
VALUES = [Switch(setting, value) for setting, (values, *_) in SWITCHES.items() for value in values]
PAIRS = [pair for pair in itertools.combinations(VALUES, 2) if pair[0].setting != pair[1].setting]
TEXTS = ["나는 물을 마셨다", "나는", "먹었다 밥을 나는", "나는 나는 나는 나는 나는"]
EDITS = [
    Put("blocks.0.attn.heads", (0, None, None), 0.0),  # a head off
    Put("blocks.0.mlp.out", (None, None), 0.0),  # an MLP off
    Put("blocks.0.attn.scores_masked", (0, 2, 1), 9.0),
    Put("ln_f.var", (1,), -1.0),  # no root: everything after it is not a number
    Put("embed.W_E", (1, 0), 1e300),
    Put("blocks.0.attn.W_Q", (1, 1, 1), 0.8),
    Put("blocks.0.attn.q", (1, 1, 1), 1e6),
    Put("embed.sum", (0, None), 0.0),
    Put("blocks.9.attn.q", (0, 0, 0), 1.0),  # does not fit
    Patch("blocks.0.resid_mid", (1, None), "물을 마셨다 ."),
    Patch("embed.sum", (0, None), "unknown"),
]
BUNDLED = [
    Put("blocks.3.attn.heads", (2, None, None), 0.0),
    Put("blocks.1.mlp.act", (None, 7), 0.0),
    Patch("blocks.4.resid_in", (1, None), "The king said to the"),
    Put("embed.W_E", (464, 3), 5.0),
]
WAYS = list(itertools.product(["after", "before", "difference"], ["", *TEXTS[:2]]))


def cases(count=66):
    """Pages in turn; presets, switches, edits and ways to look at them at random, but seeded."""
    rng = random.Random(4)
    pairs = rng.sample(PAIRS, count)
    for i in range(count):
        side, was = WAYS[i % len(WAYS)]
        changes = [*pairs[i], *rng.sample(EDITS, 2)]
        prompt = {"prompt": rng.choice(TEXTS)} if rng.random() < 0.3 else {}
        query = {"model": "worked-example", "preset": PRESETS[i % len(PRESETS)], "token": i % 3}
        yield PAGES[i % len(PAGES)], query | prompt | {"was": was, "side": side}, changes
    for i, page in enumerate(PAGES):
        query = {"model": "bundled", "layer": 3, "prompt": "The king went to the", "token": 1}
        yield page, query | {"side": WAYS[i % 3 * 3][0]}, [VALUES[2 * i % len(VALUES)], *BUNDLED]


CASES = list(cases())


def test_every_switch_value_occurs_and_every_page_with_both_models():
    used = {change for _, _, changes in CASES for change in changes}
    assert used >= {*VALUES, *EDITS, *BUNDLED}
    assert len({(page, query["model"]) for page, query, _ in CASES}) == 2 * len(PAGES)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_page_survives(case):
    page, query, changes = case
    at = open_page(page, lang="en", edits=encode(Changes().with_change(*changes)), **query)
    words = said(at)
    assert "{" not in words and not KEYS.intersection(re.findall(r"[\w.]+", words))


def test_a_full_graphics_card_is_said_and_the_next_request_works(monkeypatch):
    def full(self, *inputs):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as broken:
        broken.setattr(Softmax, "compute", full)
        at = open_page("scores", model="bundled", prompt="The card is full of words")
        assert "graphics card’s memory is full" in said(at)
    rerun(at)
    assert "graphics card" not in said(at)
    assert components(at, "grid")
