"""Every step on every other device against the processor, in float32."""

import pytest
import torch

import core
from core.models.device import pick_device
from core.models.model import Model
from tests.support.close import assert_close
from tests.support.explained import assert_terms_sum, random_explanations
from tests.support.random_models import CONFIGS, IDS, random_model
from tests.support.subjects import PRESETS

DEVICES = [
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
        ],
    ),
    pytest.param(
        "mps",
        marks=pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no Apple GPU"),
    ),
]
each_device = pytest.mark.parametrize("device", DEVICES)


def assert_steps_agree(trace, expected):
    assert trace.steps == expected.steps
    for name in trace.steps:
        assert trace[name].device.type == trace.model.device.type
        assert_close(trace[name], expected[name], 1e-5, f"{name} of {trace.model.config}")


@each_device
def test_random_models_agree_with_the_processor(device):
    for name in CONFIGS:
        trace = random_model(name, device=device).trace(IDS)
        assert_steps_agree(trace, random_model(name).trace(IDS))


@each_device
def test_worked_example_agrees_with_the_processor(device):
    for preset in PRESETS:
        one, other = (
            core.load("worked-example", preset=preset, device=d, dtype=torch.float32)
            for d in (device, "cpu")
        )
        assert_steps_agree(one.trace([0, 1, 2]), other.trace([0, 1, 2]))


@each_device
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_lazy_full_and_plain_agree_bit_for_bit_there(device, name):
    model = random_model(name, device=device)
    full, lazy = model.trace(IDS).capture(), model.trace(IDS)
    for step in reversed(list(full)):
        assert torch.equal(lazy[step], full[step]), step
    assert torch.equal(model.forward(IDS), full["logits"])


@each_device
def test_elements_are_explained_there(device):
    for name in CONFIGS:
        trace = random_model(name, device=device).trace(IDS)
        for found in random_explanations(trace):
            assert_terms_sum(trace, found)


@each_device
def test_distribution_and_diff_work_there(device):
    trace = random_model("gpt2", device=device).trace(IDS)
    chosen = core.distribution(trace["logits"][-1], 0.8, top_k=20, top_p=0.9)
    expected = core.distribution(trace["logits"][-1].cpu(), 0.8, top_k=20, top_p=0.9)
    assert chosen.probs.device.type == device
    assert_close(chosen.probs, expected.probs, 1e-5)
    other = random_model("gpt2").trace(IDS)
    assert len(core.diff(trace, other)) == len(trace.steps)
    edit = {"blocks.0.attn.q": {(0, 1, 2): 0.5}}
    there, here = (core.diff(one, one.edit(edit)) for one in (trace, other))
    assert [step.positions for step in there] == [step.positions for step in here]


@each_device
def test_tokens_are_drawn_there(device):
    ids = [step.id for step in random_model("gpt2", device=device).generate(IDS, 4, temperature=0)]
    assert ids == [step.id for step in random_model("gpt2").generate(IDS, 4, temperature=0)]


@each_device
def test_a_snapshot_of_another_device_agrees(device, tmp_path):
    core.snapshot.save(random_model("llama").trace(IDS), tmp_path / "x.safetensors")
    trace = random_model("llama", device=device).trace(IDS)
    assert core.snapshot.compare(trace, tmp_path / "x.safetensors", tolerance=1e-5).ok


@each_device
def test_matrix_products_are_full_float32(device):
    """TF32 keeps 10 bits of a factor: 1 + 2^-12 would be rounded to 1."""
    model = random_model("gpt2", device=device)
    x = torch.full((64, 64), 1 + 2**-12, device=device)
    assert (x @ torch.eye(64, device=device))[0, 0].item() == 1 + 2**-12
    assert model.device.type == device


@each_device
def test_the_device_is_described(device):
    assert {"cuda": "CUDA: ", "mps": "Apple GPU"}[device] in core.describe_device(
        torch.device(device)
    )


def test_the_fastest_device_is_picked(monkeypatch):
    def available(cuda: bool, mps: bool):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    available(cuda=True, mps=True)
    assert pick_device() == torch.device("cuda")
    available(cuda=False, mps=True)
    assert pick_device() == torch.device("mps")
    assert pick_device(torch.float64) == torch.device("cpu")
    available(cuda=False, mps=False)
    assert pick_device() == torch.device("cpu")


@each_device
def test_smollm2_agrees_with_the_processor(device):
    """30 blocks of a published Llama: errors of float32 add up on the way, on either device."""
    one, other = (core.load("smollm2", device=d) for d in (device, "cpu"))
    trace, expected = (model.trace("The capital of France is") for model in (one, other))
    for name in trace.steps:
        assert_close(trace[name], expected[name], 1e-4, name)


BFLOAT16 = [pytest.param("cpu"), *DEVICES]


@pytest.mark.parametrize("device", BFLOAT16)
@pytest.mark.parametrize("name", CONFIGS)
def test_bfloat16_is_close_to_float32(device, name):
    """It has 8 bits: 0.4 % an operation, of which some tens follow each other."""
    exact = random_model(name)
    given = {key: weight.clone() for key, weight in exact.weights.items()}
    device = torch.device(device)
    model = Model("rough", exact.config, given, exact.tokenizer, device, torch.bfloat16)
    trace, expected = model.trace(IDS), exact.trace(IDS)
    assert trace["logits"].dtype == torch.bfloat16
    for step in trace.steps:
        assert_close(trace[step].to(expected[step].dtype), expected[step], 0.06, step)


def test_a_published_model_in_bfloat16_expects_the_same_token():
    rough, exact = (
        core.load("bundled", dtype=dtype).trace("The capital of France is")
        for dtype in (torch.bfloat16, torch.float32)
    )
    (likeliest, *_), (expected, *_) = rough.top(), exact.top()
    assert likeliest.id == expected.id
    assert abs(likeliest.prob - expected.prob) < 0.01
