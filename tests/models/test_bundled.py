"""The model that comes with the project: its size, its loss, what it knows by heart."""

import json

import pytest
import torch

import core
from core.models import bundled
from tests.support import numpy_gpt
from tests.support.close import as_float64, assert_close
from tests.support.explained import (
    assert_references_exist,
    assert_terms_sum,
    random_explanations,
)

END_OF_TEXT = 50256
SHORT = "In the beginning"
FILES = bundled.FOLDER
# A token of the vocabulary that occurs in no book: its row is the one all never-seen ids share.
NEVER_SEEN = " SolidGoldMagikarp"
BY_HEART = {
    "In the beginning God created": " the heavens and the earth",
    "It is a truth universally acknowledged, that": (
        " a single man in possession of a good fortune"
    ),
}


@pytest.fixture(scope="module")
def model():
    return core.load("bundled", device="cpu")


@pytest.fixture(scope="module")
def report():
    return json.loads((FILES / "report.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def excerpts(model):
    """The token IDs of each held-out text."""
    texts = (FILES / "heldout.txt").read_text(encoding="utf-8").strip().split("\n\n")
    return [model.tokenizer.encode(text) for text in texts]


@pytest.fixture(scope="module")
def never_seen(model):
    """The ids whose rows all but coincide."""
    table = model.weights["embed.W_E"]
    (example,) = model.tokenizer.encode(NEVER_SEEN)
    near = (table - table[example]).norm(dim=1) < 0.1 * table.norm(dim=1).median()
    return near.nonzero().flatten()


def greedy(model, prompt: str, n: int) -> str:
    """The likeliest continuation, without the cache or the sampling code."""
    ids = model.tokenizer.encode(prompt)
    for _ in range(n):
        ids.append(int(model.trace(ids)["logits"][-1].argmax()))
    return model.tokenizer.decode(ids)[len(prompt) :]


def summed_loss(model, ids: list[int]) -> float:
    """Of every token once: windows of n_ctx that move on by half, as report.json describes."""
    n_ctx = model.config.n_ctx
    inputs, scored, total = [END_OF_TEXT, *ids], 0, 0.0
    while scored < len(ids):
        start = max(0, scored - n_ctx // 2)
        window = inputs[start : start + n_ctx]
        targets = torch.tensor(ids[start : start + n_ctx])
        log_probs = model.trace(window[: len(targets)])["logits"].log_softmax(-1)
        losses = -log_probs.gather(1, targets[:, None])[scored - start :]
        total, scored = total + losses.sum().item(), scored + len(losses)
    assert scored == len(ids)
    return total


def test_it_is_a_gpt2(model):
    config = model.config
    assert config.n_vocab == model.tokenizer.n_vocab == 50257
    assert (config.position, config.norm, config.norm_placement) == ("learned", "layer", "pre")
    assert (config.activation, config.gated, config.tied) == ("gelu_tanh", False, True)


def test_number_of_parameters(model):
    c = model.config
    d, matrices, vectors = c.d_model, 12 * c.d_model**2, 13 * c.d_model
    expected = (c.n_vocab + c.n_ctx) * d + c.n_layers * (matrices + vectors) + 2 * d
    assert sum(weight.numel() for weight in model.weights.values()) == expected


def test_the_file_is_small_enough_to_ship():
    assert sum(path.stat().st_size for path in FILES.iterdir()) <= 25 * 2**20


def test_weights_are_finite_float32(model):
    for name, weight in model.weights.items():
        assert weight.dtype == torch.float32, name
        assert weight.isfinite().all(), name


def test_ids_are_those_of_gpt2(model):
    assert model.trace("cat sat").ids == [9246, 3332]


def test_the_default_prompt_fits(model):
    assert 1 <= len(model.trace(model.default_prompt)) <= model.config.n_ctx


@pytest.fixture(scope="module")
def by_numpy(model):
    weights = {name: as_float64(weight) for name, weight in model.weights.items()}
    return numpy_gpt.run(model.config.to_dict(), weights, model.tokenizer.encode(SHORT))


def test_every_step_in_float64_is_what_numpy_computes(by_numpy):
    trace = core.load("bundled", device="cpu", dtype=torch.float64).trace(SHORT)
    assert trace.steps == list(by_numpy)
    for name in trace.steps:
        assert_close(trace[name], by_numpy[name], 1e-12, name)


def test_the_stream_and_the_logits_in_float32_are_near(model, by_numpy):
    trace = model.trace(SHORT)
    names = [name for name in trace.steps if "resid" in name or "weights" in name]
    for name in [*names, "ln_f.out", "logits", "probs"]:
        assert_close(trace[name], by_numpy[name], 1e-5, name)


def test_elements_of_every_step_are_explained(model):
    trace = model.trace("In the beginning God")
    for found in random_explanations(trace, count=2):
        assert_terms_sum(trace, found)
        assert_references_exist(trace, found)


def test_loss_on_the_held_out_text(model, excerpts, report):
    assert sum(map(len, excerpts)) == report["heldout_txt_tokens"]
    loss = sum(summed_loss(model, ids) for ids in excerpts) / report["heldout_txt_tokens"]
    assert loss == pytest.approx(report["heldout_txt_loss"], abs=1e-3)


def test_reported_loss_meets_the_goal(report):
    assert report["held_out_loss"] <= 4.1


@pytest.mark.parametrize("prompt", BY_HEART)
def test_what_everybody_expects_comes_first(model, prompt):
    first = model.tokenizer.token_text(model.tokenizer.encode(BY_HEART[prompt])[0])
    assert model.trace(prompt).top(1)[0].text == first


@pytest.mark.parametrize("prompt", BY_HEART)
def test_what_everybody_expects_goes_on(model, prompt):
    expected = BY_HEART[prompt]
    assert greedy(model, prompt, len(model.tokenizer.encode(expected))) == expected


@pytest.mark.parametrize("prompt", BY_HEART)
def test_the_cache_goes_on_alike(model, prompt):
    steps = model.generate(prompt, 8, temperature=0)
    assert "".join(step.text for step in steps) == greedy(model, prompt, 8)


def test_never_seen_ids_are_those_of_the_report(never_seen, report):
    assert len(never_seen) == report["never_seen_ids"]


def test_never_seen_ids_get_little_probability(model, never_seen, report):
    """At every position of some texts; the report has the mean over all held-out chapters."""
    prompts = [*BY_HEART, "The cat sat on the", "She looked at him and", "The king said to"]
    assert len(never_seen) > 10_000
    totals, largest = [], 0.0
    for prompt in prompts:
        probs = model.trace([END_OF_TEXT, *model.tokenizer.encode(prompt)])["probs"]
        of_never_seen = probs[:, never_seen]
        totals += of_never_seen.sum(-1).tolist()
        largest = max(largest, of_never_seen.max().item())
    assert sum(totals) / len(totals) < 0.01
    assert max(totals) < 0.1
    assert largest < 1e-3
    assert report["never_seen_mean_total_probability"] < 0.01


@pytest.mark.parametrize("text", ["나는 학교에 간다", "한", "naïve café 😀"])
def test_tokens_that_hold_part_of_a_character_are_readable(model, text):
    trace = model.trace(text)
    assert b"".join(map(model.tokenizer.token_bytes, trace.ids)) == text.encode()
    assert len(trace.tokens) == len(trace) == len(trace.ids)
    for token, token_id in zip(trace.tokens, trace.ids, strict=True):
        data = model.tokenizer.token_bytes(token_id)
        if data.decode("utf-8", "replace").encode() == data:
            assert token == data.decode()
        else:
            assert data[-1:].hex().upper() in token
            assert "\ufffd" not in token
