"""What the catalogue says of its models, and what a name can mean."""

import pytest
import torch

import core
from core.models import catalogue
from core.models.checkpoint import hub
from core.sizes import CARDS, parameters, total
from tests.support.close import assert_close
from tests.support.saved_models import IDS, gpt2, logits

ENTRIES = {entry.key: entry for entry in core.models()}
CARD_OF = {
    "openai-community/gpt2": "GPT-2 small",
    "openai-community/gpt2-medium": "GPT-2 medium",
    "openai-community/gpt2-large": "GPT-2 large",
    "openai-community/gpt2-xl": "GPT-2 XL",
    "HuggingFaceTB/SmolLM2-135M": "SmolLM2 135M",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "SmolLM2 135M",
}


@pytest.fixture
def saved(tmp_path):
    network = gpt2()
    network.save_pretrained(tmp_path)
    return tmp_path, network


@pytest.mark.parametrize(("key", "card"), CARD_OF.items())
def test_sizes_follow_from_the_models_card(key, card):
    entry = ENTRIES[key]
    assert entry.parameters == total(parameters(CARDS[card]))
    assert entry.memory == 4 * entry.parameters


def test_the_distilled_gpt2_has_half_of_the_blocks():
    """Sanh et al. 2019: six blocks instead of twelve, everything else alike."""
    small = CARDS["GPT-2 small"]
    half = catalogue.HUB_MODELS[4]
    assert half.repo == "distilbert/distilgpt2"
    per_block = (total(parameters(small)) - half.parameters) / 6
    assert per_block == 12 * 768**2 + 13 * 768


def test_the_bundled_models_size_is_its_own():
    weights = core.load("bundled", device="cpu").weights
    assert ENTRIES["bundled"].parameters == sum(weight.numel() for weight in weights.values())


def test_downloads_hold_the_parameters_and_little_else():
    """float32, and for GPT-2 the mask tables; bfloat16 for SmolLM2."""
    for entry in filter(lambda entry: entry.download, ENTRIES.values()):
        n_bytes = 2 if "SmolLM2" in entry.key else 4
        assert 0.99 < entry.download / (n_bytes * entry.parameters) < 1.12, entry.key


@pytest.mark.parametrize("as_what", [str, lambda path: str(path / "model.safetensors")])
def test_a_path_is_a_model(saved, as_what):
    path, network = saved
    model = core.load(as_what(path), device="cpu", dtype=torch.float64)
    assert (model.key, model.dtype) == (as_what(path), torch.float64)
    assert_close(model.forward(IDS), logits(network.double()), 1e-12)


@pytest.mark.parametrize(
    ("name", "repo"),
    [
        ("openai-community/gpt2", "openai-community/gpt2"),
        ("gpt2", "openai-community/gpt2"),
        ("distilgpt2", "distilbert/distilgpt2"),
        ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B"),
    ],
)
def test_a_model_of_the_hub_is_fetched_if_it_is_not_here(saved, monkeypatch, name, repo):
    fetched = []
    monkeypatch.setattr(hub, "cached", lambda *repos: None)
    monkeypatch.setattr(hub, "fetch", lambda repo: fetched.append(repo) or saved[0])
    assert core.load(name, device="cpu").key == repo
    assert fetched == [repo]


def test_what_older_programs_fetched_is_used(saved, monkeypatch):
    monkeypatch.setattr(hub, "cached", lambda *repos: saved[0] if "gpt2" in repos else None)
    assert core.load("openai-community/gpt2", device="cpu").key == "openai-community/gpt2"


@pytest.mark.parametrize("name", ["no such model", "gpt5", "a/b/c", ""])
def test_a_name_that_means_nothing(name):
    with pytest.raises(core.UnknownModel, match="worked-example"):
        core.load(name)


@pytest.mark.parametrize(
    "name",
    ["/nowhere/model", "./model", "../x", "model.safetensors", "x.gguf", "~nobody-here/x", "/\0"],
)
def test_a_path_that_leads_nowhere(name):
    with pytest.raises(core.CheckpointError) as caught:
        core.load(name)
    assert caught.value.kind == "nothing_there"


@pytest.mark.parametrize("suffix", ["", ".safetensors", ".gguf"])
def test_a_path_that_the_system_refuses(suffix):
    with pytest.raises(core.CheckpointError) as caught:
        core.load("/" + 5000 * "a" + suffix)
    assert caught.value.kind == "no_access"


def test_models_from_files_have_no_settings(saved):
    with pytest.raises(ValueError, match="has no settings; preset was given"):
        core.load(str(saved[0]), preset="part-1")


MASK = 1024 * 1024 * 4  # bytes of `attn.bias` in each block of GPT-2's published files
BLOCKS = {"gpt2": 12, "gpt2-medium": 24, "gpt2-large": 36, "gpt2-xl": 48, "distilgpt2": 6}


@pytest.mark.parametrize("model", catalogue.HUB_MODELS, ids=lambda model: model.repo)
def test_what_a_download_takes_follows_from_what_is_in_the_file(model):
    name = model.repo.split("/")[1]
    itemsize = 4 if name in BLOCKS else 2
    size = model.parameters * itemsize + BLOCKS.get(name, 0) * MASK
    assert model.download == pytest.approx(size, rel=0.002)
