"""The public names, used as the documentation shows them."""

import importlib

import pytest
import torch

import core
from core.models import device

PROMPT = "나는 밥을 먹었다"


@pytest.fixture
def trace():
    return core.load("worked-example", preset="block", device="cpu").trace(PROMPT)


@pytest.mark.parametrize("name", core.__all__)
def test_public_names_exist(name):
    assert hasattr(core, name)


@pytest.mark.parametrize(
    "name", ["models", "load", "diff", "distribution", "snapshot", "describe_device"]
)
def test_names_that_other_code_relies_on(name):
    assert name in core.__all__


def test_the_catalogue_is_a_call_and_a_package():
    keys = [entry.key for entry in core.models()]
    assert keys[:3] == ["bundled", "worked-example", "smollm2"]
    gpt = importlib.import_module("core.models.gpt")
    assert core.models.gpt is gpt
    assert callable(gpt.gpt)


def test_entries_of_the_catalogue():
    entries = {entry.key: entry for entry in core.models()}
    assert entries["worked-example"].available
    assert entries["worked-example"].presets[0] == "part-1"
    assert entries["bundled"].presets == ()
    assert all(entry.title and entry.licence for entry in entries.values())


def test_a_model_says_what_it_is(trace):
    model = trace.model
    assert (model.key, model.preset) == ("worked-example", "block")
    assert model.config.n_heads == 2
    assert model.weights["blocks.0.attn.W_Q"].shape == (2, 3, 2)
    assert (model.device, model.dtype) == (torch.device("cpu"), torch.float64)
    assert model.default_prompt == PROMPT


def test_a_trace_knows_its_text(trace):
    assert trace.ids == [0, 1, 2]
    assert trace.tokens == ["나는", "밥을", "먹었다"]
    assert len(trace) == 3
    assert trace.steps[0] == "tokens.ids"
    assert trace.steps[-1] == "probs"


def test_text_and_ids_give_the_same_trace(trace):
    assert torch.equal(trace.model.trace([0, 1, 2])["logits"], trace["logits"])


def test_a_step_says_what_it_is(trace):
    step = trace.step("blocks.0.attn.weights")
    assert step.name == "blocks.0.attn.weights"
    assert (step.role, step.block) == ("attn.weights", 0)
    assert step.axes == ("head", "query", "key")
    assert step.inputs == ("blocks.0.attn.scores_masked",)
    assert step.formula == "A = softmax(S)"
    assert trace[step.name].shape == trace.shape(step.name) == (2, 3, 3)


def test_batch_size_one_has_no_axis(trace):
    assert trace["logits"].shape == (3, 6)


def test_explanations_have_value_terms_and_text(trace):
    found = trace.explain("blocks.0.attn.scores", (0, 2, 1))
    assert (found.name, found.index) == ("blocks.0.attn.scores", (0, 2, 1))
    assert type(found.value) is float
    assert len(found.terms) == 2
    assert found.text.startswith("blocks.0.attn.scores[0, 2, 1] = ")
    factor = found.terms[0].factors[0]
    assert factor.value == trace.value(factor.refs[0].name, factor.refs[0].index)


def test_the_next_token(trace):
    probs = trace.next_probs
    assert probs.shape == (6,)
    assert torch.equal(probs, trace["probs"][-1])
    best = trace.top(3)
    assert [candidate.id for candidate in best] == probs.topk(3).indices.tolist()
    assert [candidate.prob for candidate in best] == probs.topk(3).values.tolist()
    assert best[0].text == trace.model.tokenizer.token_text(best[0].id)
    assert best[0].logit == trace.value("logits", (2, best[0].id))
    assert all(type(candidate.prob) is type(candidate.logit) is float for candidate in best)


def test_candidates_after_an_earlier_token(trace):
    earlier = trace.top(6, pos=0)
    assert sum(candidate.prob for candidate in earlier) == pytest.approx(1, abs=1e-15)
    assert earlier[0].id == trace["logits"][0].argmax()


def test_no_more_candidates_than_words(trace):
    assert len(trace.top(100)) == 6


def test_edit_switch_and_diff(trace):
    edited = trace.edit({"blocks.0.attn.W_Q": {(0, 1, 2 - 1): 0.8}})
    assert edited.weights["blocks.0.attn.W_Q"][0, 1, 1] == 0.8
    assert trace.weights["blocks.0.attn.W_Q"][0, 1, 1] == 1.0
    changed = [step.name for step in core.diff(trace, edited) if step.changed]
    assert changed[0] == "blocks.0.attn.q"
    unscaled = trace.switch(scaled=False)
    assert torch.equal(unscaled["blocks.0.attn.scores_scaled"], trace["blocks.0.attn.scores"])


def test_distribution_of_a_trace(trace):
    chosen = core.distribution(trace["logits"][-1], temperature=0.8, top_k=3, top_p=0.9)
    assert chosen.probs.sum().item() == pytest.approx(1, abs=1e-15)
    assert chosen.probs.shape == (6,)


def test_generate_yields_tokens(trace):
    steps = list(trace.model.generate("나는 밥을", max_new_tokens=3, seed=0))
    assert len(steps) == 3
    assert all(step.text == trace.model.tokenizer.token_text(step.id) for step in steps)


@pytest.mark.parametrize("name", ["cpu", torch.device("cpu")])
def test_the_device_can_be_chosen(name):
    assert core.load("worked-example", device=name).device == torch.device("cpu")


@pytest.mark.parametrize(("threads", "words"), [(1, "CPU, 1 thread"), (8, "CPU, 8 threads")])
def test_the_processor_is_described_with_its_threads(monkeypatch, threads, words):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert core.describe_device(torch.device("cpu")) == words


def test_a_small_model_leaves_the_other_cores_to_others(monkeypatch):
    threads = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    device._threads.cache_clear()
    try:
        for weight_bytes in (10 * 2**20, 500 * 2**20, 10 * 2**20):
            device.use_threads(weight_bytes)
    finally:
        device._threads.cache_clear()
    assert threads == [4, 1, 4, 1]


def test_one_users_edit_never_reaches_another():
    """Two people open the same model; each edits, and neither sees the other's numbers."""
    one, other = (core.load("worked-example", device="cpu").trace(PROMPT) for _ in range(2))
    before = other["logits"].clone()
    one.edit({"embed.W_E": {(0, 0): 9.0}})["logits"]
    assert torch.equal(other["logits"], before)
    assert torch.equal(core.load("worked-example", device="cpu").trace(PROMPT)["logits"], before)


def test_settings_of_a_model_without_any_are_refused():
    with pytest.raises(ValueError, match="'bundled' has no settings; preset was given"):
        core.load("bundled", preset="part-1")
