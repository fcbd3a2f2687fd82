"""The Generation page against `model.generate`, full passes, and part 5 by hand in numpy."""

import re
from urllib.parse import parse_qs

import numpy as np
import pytest

import core
from core.generate.branches import Branches
from core.models.worked_example import load
from tests.support.app import (
    click,
    components,
    drawn,
    open_app,
    open_page,
    panels,
    rerun,
    rows,
    said,
)
from tests.support.close import as_float64

PART_5 = {"model": "worked-example", "preset": "part-5"}
USUAL = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}  # the page's settings


def example(preset="part-5", **query):
    return open_page("generation", model="worked-example", preset=preset, **query)


def tree(at, n_vocab=50257):
    asked = at.query_params.get("branches", "")
    return Branches.decode(asked if isinstance(asked, str) else asked[0], n_vocab)


def tick(at, n=1):
    """What the player sends when its pause is over."""
    for _ in range(n):
        at.session_state["_write_tick"] = True
        rerun(at)
    return at


def table(at, head):
    """The rows of the table whose first column is called so, by their first cell."""
    found = rows(at, "plain facts-table") + rows(at, "plain stacked facts-table")
    start = next(i for i, row in enumerate(found) if row[0] == head)
    body = []
    for row in found[start + 1 :]:
        if len(row) != len(found[start]):
            break
        body.append(row)
    return {row[0]: row[1:] for row in body}


def test_steps_write_what_generate_writes():
    at = open_page("generation", model="bundled", prompt="It is a truth", seed=3)
    model = core.load("bundled")
    expected = [step.id for step in model.generate("It is a truth", 6, seed=3, **USUAL)]
    for _ in expected:
        click(at, write="step")
    assert tree(at).ids() == expected


def test_the_same_link_gives_the_same_next_token():
    query = {"model": "bundled", "prompt": "It is", "seed": 5, "branches": "p_257.2000~@1"}
    first, again = (open_page("generation", **query) for _ in range(2))
    assert tree(click(first, write="step")) == tree(click(again, write="step"))


def test_part_5_comes_out_as_printed():
    """Row 3 alone, with the keys and values of rows 1 and 2 from the cache."""
    at = example(prompt="나는 밥을")
    click(at, write="pick-2")
    assert "The last pass read only 1 token" in said(at)
    h = np.array([[0.2, 1.0, 0.1], [0.9, 0.1, 0.4], [0.6, 0.4, 0.9]])
    model = load("part-5")
    q, k, v = (h @ as_float64(model.weights[f"blocks.0.attn.W_{c}"][0]) for c in "QKV")
    scores = q[2] @ k.T
    weights = np.exp(scores / 3**0.5) / np.exp(scores / 3**0.5).sum()
    found = panels(at)
    assert np.allclose(found["Q: the new query"], [q[2]], atol=1e-12)
    assert np.allclose(found["K: all keys"], k, atol=1e-12)
    assert np.allclose(found["V: all values"], v, atol=1e-12)
    assert np.allclose(found["Scores"], [scores], atol=1e-12)
    assert np.allclose(found["Shares"], [weights], atol=1e-12)
    assert np.allclose(found["Collected: Z"], [weights @ v], atol=1e-12)
    assert [f"{x:.2f}" for x in found["Shares"][0]] == ["0.27", "0.32", "0.41"]
    assert f"{found['Scores'][0][2]:.2f}" == "1.33"
    # The series rounds the shares before it sums with them.
    printed = np.round(found["Shares"][0], 2) @ np.array(found["V: all values"])
    assert [f"{x:.2f}" for x in printed] == ["0.59", "0.47", "0.52"]


def test_cached_and_uncached_logits_are_shown_with_their_difference():
    at = open_page("generation", model="bundled", prompt="In the beginning", branches="p_257~@0")
    model = core.load("bundled")
    full = model.trace([*model.tokenizer.encode("In the beginning"), 257]).top(5)
    found = list(table(at, "Token").values())[:5]
    for candidate, (cached, uncached, _) in zip(full, found, strict=True):
        assert float(uncached.replace("−", "-")) == pytest.approx(candidate.logit, abs=6e-5)
        assert float(cached.replace("−", "-")) == pytest.approx(candidate.logit, abs=2e-4)
    assert re.search(r"largest difference among all 50,257 logits is (0|\d\.\d·10⁻[⁴-⁹])", said(at))


def test_costs_are_those_of_the_steps():
    at = example("block", branches="p_3.4~@1")
    model = load("block")
    passes = [model.trace([0, 1, 2, 3, 4][:n]) for n in (3, 4, 5)]

    def adds(trace, rows):
        wide, row = trace, model.trace([0])
        after = [name for name in row.steps if not name.startswith(("embed.", "blocks."))]
        own = [n for n in wide.steps if n.startswith(("embed.", "blocks.")) and n != "embed.onehot"]
        return sum(wide.cost(n).multiply_adds for n in own) + sum(
            row.cost(n).multiply_adds for n in after if "." not in n or n.startswith("ln_f")
        )

    found = table(at, "Needed for")
    uncached = [adds(trace, len(trace)) for trace in passes]
    assert found["Multiply-adds, this step"][1] == f"{uncached[-1]:,}"
    assert found["Multiply-adds, your text and 2 new tokens"][1] == f"{sum(uncached):,}"
    cached = int(found["Multiply-adds, this step"][0].replace(",", ""))
    assert cached < uncached[-1] / 3


def test_bytes_of_the_cache_grow_with_every_token():
    at = open_page("generation", model="bundled", prompt="In the beginning")
    size = 2 * 6 * 4 * 40 * 4
    assert f"The KV cache: {3 * size:,} bytes" in said(at)
    click(at, write="step")
    assert f"The KV cache: {4 * size:,} bytes" in said(at)
    assert "3 rows were there already and are reused" in said(at)
    assert drawn(at).count('class="new-rows"') == 2 * 6 * 4


def test_going_back_and_choosing_another_makes_a_branch_that_a_link_keeps():
    at = example("block")
    for ask in ("step", "step", "back", "pick-5", "step"):
        click(at, write=ask)
    found = tree(at, 6)
    assert len(found.children(found.path()[0])) == 2
    again = example("block", branches=at.query_params["branches"])
    assert tree(again, 6) == found
    assert drawn(again).count('class="branch') >= 3
    click(again, write="to-0")
    assert tree(again, 6).at == 0 and len(tree(again, 6)) == len(found)
    click(again, write="to-p")
    assert tree(again, 6).ids() == []
    click(again, write="new")
    assert "branches" not in again.query_params


@pytest.mark.parametrize(
    "branches",
    ["<b>", "p_9~@0", "p_1~@7", "5_1~@0", "p_1", "p_1~@", "~" * 3000, "p_1.2.999999999~@0", "@0"],
)
def test_a_damaged_link_is_said_and_left_out(branches):
    at = example("block", branches=branches)
    assert "“branches” was cut off or changed" in said(at)
    assert tree(at, 6) == Branches()


@pytest.mark.parametrize(
    "ask", ["to-99", "to-", "to-x", "pick-99", "pick-²", "nonsense", "-", "to--1"]
)
def test_nonsense_is_not_done(ask):
    at = click(example("block"), write=ask)
    assert tree(at, 6) == Branches()


def test_it_stops_where_the_context_is_full_and_says_so():
    model = load("part-5")
    at = example(temperature=0)
    click(at, write="all")
    tick(at, 12)
    expected = [step.id for step in model.generate([0, 1, 2], 30, temperature=0)]
    assert tree(at, 6).ids() == expected
    assert "this model has 8 positions" in said(at)
    assert 'class="coming"' not in drawn(at)


def test_it_slides_where_that_is_chosen():
    model = load("part-5")
    at = example(temperature=0, limit="slide", branches="p_0.1.2.3.4.5~@5")
    for _ in range(2):
        ids = [0, 1, 2, *tree(at, 6).ids()]
        expected = model.trace(ids[-8:])["logits"][-1].argmax()
        click(at, write="step")
        assert tree(at, 6).ids()[-1] == expected
    assert "3 tokens were left behind" in said(at) and "Prefill · 8 rows" in said(at)


def test_the_end_of_the_text_ends_it():
    at = open_page("generation", model="bundled", branches="p_50256~@0")
    assert "The model says that the text is complete" in said(at)
    assert tree(click(at, write="step")).ids() == [50256]


def test_it_plays_token_by_token_and_pauses():
    at = example("block", new=4)
    click(at, write="play")
    (player,) = components(at, "player")
    assert player["playing"] and player["wait"] > 300
    tick(at, 2)
    assert len(tree(at, 6)) == 2
    assert components(at, "player")[0]["says"] == "2 of 4 tokens"
    at.session_state["_write_pause"] = True
    tick(at)
    assert len(tree(at, 6)) == 2
    assert not components(at, "player")[0]["playing"]


def test_many_are_written_at_once_in_the_order_of_generate():
    at = open_page("generation", model="bundled", prompt="It is a truth", new=20)
    click(at, write="all")
    while "rest of the page follows" in said(at):
        tick(at)
    expected = core.load("bundled").generate("It is a truth", 20, **USUAL)
    assert tree(at).ids() == [step.id for step in expected]


def test_edits_in_force_write_with_the_edited_weights():
    edits = "v1~~blocks.1.attn.W_V~0-3-5~4.0~~blocks.4.attn.heads~1-x-x~0.0~~norm~post"
    at = open_page(
        "generation", model="bundled", prompt="It is a truth", temperature=0, edits=edits
    )
    model = core.load("bundled").switch(norm_placement="post")
    ids = model.tokenizer.encode("It is a truth")
    for _ in range(3):
        edited = model.trace(ids).edit(
            {"blocks.1.attn.W_V": {(0, 3, 5): 4.0}, "blocks.4.attn.heads": {(1, None, None): 0.0}}
        )
        ids.append(int(edited["logits"][-1].argmax()))
        click(at, write="step")
    assert tree(at).ids() == ids[-3:]
    assert re.search("Before your change “.*?” would be drawn|same token is drawn here", said(at))
    click(at, side="before")
    assert tree(at).ids() == ids[-3:]


def test_without_a_mask_it_writes_and_says_that_nothing_can_be_kept():
    at = example("part-2")
    assert "Nothing can be kept" in said(at) and "KV cache:" not in said(at)
    click(at, write="step")
    assert len(tree(at, 6)) == 1
    click(at, do="add.mask~on")
    assert "Nothing can be kept" not in said(at) and "The KV cache:" in said(at)


def test_without_blocks_there_is_nothing_to_keep():
    at = click(example("part-1"), write="step")
    assert "there are no keys and values to keep" in said(at)
    assert len(tree(at, 6)) == 1


def test_words_that_are_typed_go_on_from_here():
    at = example("block")
    at.session_state["_write_typed"] = "물을 마셨다"
    rerun(at)
    assert tree(at, 6).ids() == [3, 4]
    at.session_state["_write_typed"] = "<b>"
    rerun(at)
    assert "does not know the word “<b>”" in said(at) and "<b>”" not in drawn(at)
    bundled = open_page("generation", model="bundled", prompt="It is")
    bundled.session_state["_write_typed"] = "a truth"
    rerun(bundled)
    assert tree(bundled).ids() == core.load("bundled").tokenizer.encode(" a truth")


def test_each_text_has_a_tree_of_its_own():
    at = click(example("block"), write="pick-3")
    click(at, prompt="밥을")
    assert tree(at, 6) == Branches()
    click(at, prompt="나는 밥을 먹었다")
    assert tree(at, 6).ids() == [3]


def test_all_of_it_can_become_the_text():
    at = example("block", branches="p_3.4~@1")
    sets = [
        parse_qs(found, keep_blank_values=True)
        for found in re.findall('data-set="(prompt=.*?)"', drawn(at).replace("&amp;", "&"))
    ]
    (asked,) = [found for found in sets if "branches" in found]
    click(at, prompt=asked["prompt"][0], branches="")
    assert at.session_state["prompt"] == "나는 밥을 먹었다 물을 마셨다"
    assert tree(at, 6) == Branches()


def test_which_heads_share_is_shown_and_can_be_changed():
    at = example(size="n_heads-4.d_head-2")
    assert drawn(at).count('class="kv-group"') == 4 and "multi-head attention, MHA" in said(at)
    per_token = {4: 2 * 4 * 2 * 8, 2: 2 * 2 * 2 * 8, 1: 2 * 2 * 8}
    found = table(at, "Keys and values")
    assert [row[0] for row in found.values()] == [str(n) for n in per_token.values()]
    for value, n in (("groups", 2), ("one", 1)):
        click(at, do=f"add.kv_heads~{value}")
        assert drawn(at).count('class="kv-group"') == n
        assert f"The KV cache: {3 * per_token[n]} bytes" in said(at)
    assert "4 times smaller" in said(at)


def test_the_tree_survives_a_look_at_another_page():
    at = open_app("generation", model="worked-example", preset="block")
    click(at, write="pick-5")
    at.switch_page("pages/tokens.py")
    rerun(at)
    at.switch_page("pages/generation.py")
    assert tree(rerun(at), 6).ids() == [5]


def test_the_decode_step_shows_its_own_shapes_and_numbers():
    """One query against the kept keys: part 5 by hand, the score with the first token."""
    at = example(prompt="나는 밥을")
    assert "Here are its own formulas" not in said(at)  # so far there was only the wide pass
    shown = said(click(at, write="pick-2"))
    shapes = ("attn.scores [1 × 1 × 3]", "attn.q [1 × 1 × 3]", "attn.k [1 × 1 × 3]")
    assert " ".join((*shapes, "cache.k [1 × 2 × 3]")) in shown
    # The rows of part 5: the query 0.6 0.4 0.9 meets the key 0.2 1.0 0.1, kept from the first pass.
    assert "attn.scores[0, 0, 0] = 0.6·0.2 + 0.4·1 + 0.9·0.1 = 0.61" in shown


def test_one_head_shares_nothing_and_leads_to_a_model_with_two():
    at = example("part-5")
    assert "only one head" in said(at)
    assert "Show a model with two" in said(at)
    assert "only one head" not in said(example("block"))
