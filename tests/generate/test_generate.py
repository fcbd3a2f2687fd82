"""Prefill and decode with the KV cache against full passes without it."""

import math

import pytest
import torch

import core
from core.generate.cache import KVCache
from core.generate.generate import pick
from tests.support.close import assert_close, same_bits
from tests.support.random_models import CONFIGS, build

SHAPES = {
    "multi-head, learned": {},
    "grouped-query, learned": {"n_kv_heads": 2},
    "multi-query, learned": {"n_kv_heads": 1},
    "multi-head, rotary": CONFIGS["llama"] | {"n_kv_heads": 4},
    "grouped-query, rotary": CONFIGS["llama"],
    "multi-query, rotary": CONFIGS["llama"] | {"n_kv_heads": 1, "rotary_layout": "interleaved"},
}
TEXT = torch.randint(29, (72,), generator=torch.Generator().manual_seed(0)).tolist()


def long_model(name):
    return build(n_ctx=80, **SHAPES[name])


def prefilled(model, ids):
    cache = KVCache(model)
    cache.append(model.trace(ids))
    return cache


@pytest.mark.parametrize("name", SHAPES)
def test_64_decode_steps_equal_the_full_pass(name):
    model = long_model(name)
    full = model.trace(TEXT).capture()
    cache = prefilled(model, TEXT[:8])
    for pos in range(8, 72):
        step = model.decode([TEXT[pos]], cache)
        assert_close(step["logits"][0], full["logits"][pos], 1e-5)
        cache.append(step)
    assert len(cache) == 72


@pytest.mark.parametrize("name", SHAPES)
def test_every_value_of_a_decode_step_is_the_last_row_of_the_full_pass(name):
    model = long_model(name)
    full, step = model.trace(TEXT[:9]), model.decode(TEXT[8:9], prefilled(model, TEXT[:8]))
    for part in full.steps:
        axes = full.step(part).axes
        axis = next(i for i, word in enumerate(axes) if word in ("pos", "query"))
        # Relative to the whole tensor: the mean of a single row can be next to nothing.
        gap = (step[part].double() - full[part].narrow(axis, 8, 1).double()).nan_to_num().abs()
        assert gap.max() <= 1e-5 * full[part].double().nan_to_num(neginf=0).abs().max(), part


@pytest.mark.parametrize("name", SHAPES)
def test_greedy_tokens_are_the_same_without_a_cache(name):
    model, ids = long_model(name), TEXT[:5]
    cached = [step.id for step in model.generate(ids, 40, temperature=0)]
    uncached = list(ids)
    for _ in range(40):
        uncached.append(int(model.trace(uncached)["logits"][-1].argmax()))
    assert cached == uncached[5:]


def test_several_tokens_can_be_decoded_at_once():
    model = long_model("grouped-query, rotary")
    step = model.decode(TEXT[5:9], prefilled(model, TEXT[:5]))
    assert step.shape("blocks.0.attn.scores") == (4, 4, 9)
    assert_close(step["logits"], model.trace(TEXT[:9])["logits"][5:], 1e-5)


def test_part_5_decodes_the_row_of_the_full_pass():
    model = core.load("worked-example", preset="part-5", device="cpu")
    step = model.decode([2], prefilled(model, [0, 1]))
    assert step["blocks.0.attn.scores"].tolist() == [[[0.61, pytest.approx(0.94), 1.33]]]
    z3 = step["blocks.0.attn.heads"][0, 0].tolist()
    assert z3 == pytest.approx([0.5900586922686155, 0.4636281917527223, 0.522865030062497])


def test_an_opened_score_points_into_the_cache():
    model = core.load("worked-example", preset="part-5", device="cpu")
    step = model.decode([2], prefilled(model, [0, 1]))
    old = step.explain("blocks.0.attn.scores", (0, 0, 1))
    new = step.explain("blocks.0.attn.scores", (0, 0, 2))
    assert {term.refs[1].name for term in old.terms} == {"blocks.0.cache.k"}
    assert {term.refs[1].name for term in new.terms} == {"blocks.0.attn.k"}
    assert old.terms[0].refs[1].index == (0, 1, 0) and new.terms[0].refs[1].index == (0, 0, 0)


def test_decoding_costs_one_row():
    model = long_model("multi-head, learned")
    step, full = model.decode([1], prefilled(model, TEXT[:9])), model.trace(TEXT[:10])
    scores, hidden = "blocks.0.attn.scores", "blocks.0.mlp.hidden"
    assert step.cost(scores).multiply_adds * 10 == full.cost(scores).multiply_adds
    assert step.cost(hidden).multiply_adds * 10 == full.cost(hidden).multiply_adds


@pytest.mark.parametrize(
    ("n_kv_heads", "size"), [(4, 2 * 2 * 4 * 4 * 6 * 4), (1, 2 * 2 * 4 * 6 * 4)]
)
def test_bytes_held(n_kv_heads, size):
    """2 of K and V, 2 blocks, heads, 4 wide, 6 tokens, 4 bytes."""
    model = build(n_kv_heads=n_kv_heads)
    assert prefilled(model, TEXT[:6]).nbytes == size


def test_a_trace_keeps_its_values_when_the_cache_grows():
    model = long_model("multi-head, learned")
    cache = prefilled(model, TEXT[:4])
    step = model.decode([7], cache)
    before = step["blocks.1.cache.k"].clone()
    cache.append(step)
    cache.append(model.decode([8], cache))
    assert same_bits(step["blocks.1.cache.k"], before)


def test_a_copy_goes_its_own_way():
    model = long_model("multi-head, learned")
    cache = prefilled(model, TEXT[:6])
    branch = cache.copy(4)
    branch.append(model.decode([20], branch))
    assert (len(cache), len(branch)) == (6, 5)
    held = cache.values()["blocks.0.cache.v"]
    assert same_bits(held, prefilled(model, TEXT[:6]).values()["blocks.0.cache.v"])


def test_room_is_made_for_the_text_and_not_for_the_whole_context(monkeypatch):
    """On a graphics card room is memory, written to or not."""
    made = []
    init = KVCache.__init__

    def spy(cache, model, capacity=None):
        init(cache, model, capacity)
        made.append(cache.capacity)

    monkeypatch.setattr(KVCache, "__init__", spy)
    model = build(**CONFIGS["llama"] | {"n_ctx": 100_000})
    steps = list(model.generate([1, 2, 3], 4, temperature=0))
    assert len(steps) == 4
    assert made == [7]


def test_generation_stops_where_the_context_is_full():
    model = build(n_ctx=6)
    steps = list(model.generate(TEXT[:4], 50))
    assert [step.n_past for step in steps] == [0, 4, 5]


def test_a_full_cache_takes_no_more():
    model = build(n_ctx=6)
    cache = prefilled(model, TEXT[:6])
    with pytest.raises(core.ContextTooLong, match="7 tokens, and this model has 6 positions"):
        model.decode([1], cache)


def test_a_model_that_sees_the_future_cannot_use_a_cache():
    model = build(causal=False)
    with pytest.raises(ValueError, match="causal"):
        model.decode([1], prefilled(model, TEXT[:3]))


def test_the_same_seed_gives_the_same_tokens():
    model = long_model("multi-head, learned")
    runs = [[s.id for s in model.generate(TEXT[:3], 20, seed=seed)] for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_drawn_tokens_follow_the_distribution():
    chosen = core.distribution(torch.tensor([0.0, math.log(2), -math.inf, math.log(5)]))
    counts = torch.bincount(
        torch.tensor([pick(chosen, (i + 0.5) / 800) for i in range(800)]), minlength=4
    )
    assert counts.tolist() == [100, 200, 0, 500]


@pytest.mark.parametrize(("draw", "token"), [(0.0, 1), (0.4999, 1), (0.5, 3), (1 - 2**-53, 3)])
def test_a_draw_at_an_edge(draw, token):
    chosen = core.distribution(torch.tensor([-math.inf, 0.0, -math.inf, 0.0, -math.inf]))
    assert pick(chosen, draw) == token


def test_a_repetition_penalty_counts_the_prompt_and_what_was_generated():
    model = core.load("bundled")
    steps = list(model.generate("It is a truth", 6, temperature=0, repetition_penalty=1.5))
    seen = model.tokenizer.encode("It is a truth")
    for step in steps:
        logits = step.trace["logits"][-1]
        divided = torch.where(logits > 0, logits / 1.5, logits * 1.5)
        penalized = torch.where(
            torch.isin(torch.arange(len(logits)), torch.tensor(seen)), divided, logits
        )
        assert step.id == penalized.argmax()
        seen.append(step.id)
