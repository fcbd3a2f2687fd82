"""Choosing a model: those that are here, what a link may ask for, and what cannot be had."""

from threading import Event
from unittest.mock import patch

import pytest
import streamlit
import torch

from core.models import catalogue
from core.models.checkpoint import CheckpointError
from core.models.checkpoint.download import Downloads
from core.view import engine, host, model_more, precision, saved
from tests.support.app import call, click, components, open_page, rerun, said
from tests.support.saved_models import gpt2

REPO = "openai-community/gpt2"
PATIENCE = 10  # seconds


@pytest.fixture
def folder(tmp_path):
    gpt2().save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def at_home(monkeypatch):
    """The visitor sits at the computer that Ripple runs on."""
    monkeypatch.setattr(host, "may_add_models", lambda: True)


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    """Nothing of the hub is here, whatever this computer has."""
    monkeypatch.setattr(catalogue, "_cached", lambda *repos: None)


def chosen(at):
    return at.session_state["model"]


def unfolded(**query):
    """The overview with what can be added to the models."""
    at = open_page("overview", **query)
    at.session_state[model_more.UNFOLDED] = True
    return rerun(at)


def button(at, label):
    return next(found for found in at.button if found.label == label)


def test_a_link_to_ones_own_files(folder, at_home):
    at = open_page("overview", model=folder, prompt="7 1 49")
    assert chosen(at) == str(folder)
    assert "token IDs from 0 to 49" in said(at)
    assert at.selectbox(key="model").options[-1] == folder.name


def test_from_elsewhere_a_path_is_nothing_at_all(folder):
    """Whether it is there or not: the answer is the same."""
    answers = set()
    for path in (folder, folder / "nowhere"):
        at = open_page("overview", model=path)
        assert chosen(at) == "bundled"
        assert not at.text_input
        text = said(at)
        assert "which does not exist here" in text
        answers.add(text.count("exist"))
    assert len(answers) == 1


def test_what_cannot_be_opened_leaves_the_model_there_was(folder, at_home):
    at = unfolded(model="worked-example", preset="part-2")
    (folder / "model.safetensors").write_bytes(b"cut")
    at.text_input(key=model_more.TYPED).set_value(str(folder))
    rerun(at)
    assert (chosen(at), at.session_state["preset"]) == ("worked-example", "part-2")
    assert "“model.safetensors” is cut off or damaged" in said(at)
    assert folder.name not in at.selectbox(key="model").options


def test_a_path_that_is_typed_is_opened(folder, at_home):
    at = unfolded()
    at.text_input(key=model_more.TYPED).set_value(f' "{folder}" ')
    rerun(at)
    assert chosen(at) == str(folder)


def test_the_field_of_a_page_that_is_left_may_call_without_a_text():
    with patch.object(streamlit, "session_state", {}) as session:
        model_more._open()
        assert session == {}


def test_typing_it_again_reads_it_anew(folder, at_home):
    at = unfolded(model=folder)
    before = engine.load(str(folder), "")
    gpt2(tie_word_embeddings=False).save_pretrained(folder)
    at.text_input(key=model_more.TYPED).set_value(str(folder))
    rerun(at)
    assert before.config.tied
    assert not engine.load(str(folder), "").config.tied


@pytest.mark.parametrize(("at_home_too", "words"), [(True, "fetch it"), (False, "can add it")])
def test_a_link_to_a_model_that_is_not_here(monkeypatch, at_home_too, words):
    monkeypatch.setattr(host, "may_add_models", lambda: at_home_too)
    at = open_page("overview", model=REPO)
    assert chosen(at) == "bundled"
    assert "GPT-2 small" in said(at)
    assert words in said(at)


def test_what_is_folded_away_is_not_drawn(at_home):
    at = open_page("overview")
    assert not at.text_input and "548 MB" not in said(at)


def test_what_there_is_to_know_before_fetching(at_home):
    at = unfolded()
    text = said(at)
    known = "124,439,808", "548 MB", "498 MB", "MIT", "huggingface.co/openai-community/gpt2"
    assert all(words in text for words in known)
    assert "not enough for it" not in text


def test_a_model_too_large_for_the_memory_is_said_before_fetching(at_home, monkeypatch):
    monkeypatch.setattr(model_more, "free_memory", lambda device: 497_000_000)
    assert "has 497 MB of memory free, which is not enough for it" in said(unfolded())


def test_a_model_of_the_hub_that_is_here_can_be_chosen(folder, monkeypatch):
    found = {REPO: folder}
    monkeypatch.setattr(catalogue, "_cached", lambda repo, *older: found.get(repo))
    at = open_page("overview", model=REPO)
    assert chosen(at) == REPO
    assert "GPT-2 small" in at.selectbox(key="model").options
    assert "Licence: MIT" in said(at)


def test_a_view_of_ones_own_model_is_saved_and_opened_again(folder, at_home):
    made = open_page("overview", model=folder, prompt="7 1 49", edits="v1~~embed.W_E~7-0~0.5")
    file = components(made, "file")[0]
    assert file["name"] == f"ripple-{folder.name}.json"
    at = open_page("overview", model="worked-example")
    call(at, saved.open_file, file["text"], "overview")
    kept = [at.session_state[key] for key in ("model", "prompt", "edits")]
    assert kept == [str(folder), "7 1 49", "v1~~embed.W_E~7-0~0.5"]


def test_going_back_to_ones_own_model(folder, at_home):
    """Opening a file is one step, from a model whose name has slashes too."""
    other = components(open_page("overview", model="worked-example"), "file")[0]["text"]
    at = open_page("overview", model=folder, prompt="7 1 49")
    call(at, saved.open_file, other, "overview")
    assert chosen(at) == "worked-example"
    click(at, do="undo")
    assert (chosen(at), at.session_state["prompt"]) == (str(folder), "7 1 49")


def test_from_elsewhere_a_file_opens_no_path(folder, monkeypatch):
    monkeypatch.setattr(host, "may_add_models", lambda: True)
    file = components(open_page("overview", model=folder), "file")[0]["text"]
    monkeypatch.setattr(host, "may_add_models", lambda: False)
    at = open_page("overview", model="worked-example")
    call(at, saved.open_file, file, "overview")
    assert chosen(at) == "worked-example"


def test_words_where_ids_are_wanted(folder, at_home):
    at = open_page("overview", model=folder, prompt="7 cat 50 49")
    assert "no token IDs of the model: cat, 50" in said(at)
    assert "Words it knows" not in said(at)


def test_a_download_shows_how_far_it_is_and_says_when_it_is_done(folder, at_home, monkeypatch):
    begun, go_on, here = Event(), Event(), {}

    def fetch(repo, progress):
        progress(137_000_000, 548_000_000)
        begun.set()
        assert go_on.wait(PATIENCE)
        here[repo] = folder

    downloads = Downloads(fetch)
    monkeypatch.setattr(model_more, "downloads", lambda: downloads)
    monkeypatch.setattr(catalogue, "_cached", lambda repo, *older: here.get(repo))
    at = unfolded()
    button(at, "Fetch it").click()
    rerun(at)
    assert begun.wait(PATIENCE)
    rerun(at)
    bar = at.get("progress")[0].proto
    assert (bar.value, bar.text) == (25, "137 MB of 548 MB")
    assert "not on this computer yet" in said(open_page("overview", model=REPO))
    go_on.set()
    downloads.of(REPO).wait(PATIENCE)
    rerun(at)
    assert "“GPT-2 small” is here" in said(at)
    assert "GPT-2 small" in at.selectbox(key="model").options
    assert chosen(at) == "bundled"


def test_a_download_can_be_stopped_by_a_button(at_home, monkeypatch):
    begun = Event()

    def fetch(repo, progress):
        begun.set()
        while True:
            progress(1, 2)

    downloads = Downloads(fetch)
    monkeypatch.setattr(model_more, "downloads", lambda: downloads)
    at = unfolded()
    button(at, "Fetch it").click()
    rerun(at)
    assert begun.wait(PATIENCE)
    rerun(at)
    button(at, "Stop").click()
    rerun(at)
    downloads.of(REPO).wait(PATIENCE)
    assert not downloads.of(REPO).running
    rerun(at)
    assert button(at, "Fetch it")


def test_why_a_download_failed_is_said(at_home, monkeypatch):
    def fetch(repo, progress):
        raise CheckpointError("hub_unreachable", repo=repo)

    downloads = Downloads(fetch)
    downloads.start(REPO).wait(PATIENCE)
    monkeypatch.setattr(model_more, "downloads", lambda: downloads)
    assert "the Hugging Face hub cannot be reached" in said(unfolded())


def numbers(at):
    """The choice of bfloat16 or float32, where there is one."""
    return next((box for box in at.selectbox if box.key == "precision"), None)


def computed_in(at):
    return engine.load(chosen(at), "bfloat16" if at.session_state["precision"] != "float32" else "")


def test_shorter_numbers_are_a_choice_where_a_graphics_card_gains_by_them(monkeypatch):
    at = open_page("norm", model="bundled")
    assert numbers(at) is None
    monkeypatch.setattr(precision, "pick_device", lambda: torch.device("cuda"))
    rerun(at)
    assert numbers(at).value == "float32"
    numbers(at).set_value("bfloat16")
    rerun(at)
    assert "off by up to about 6 %" in said(at)
    assert computed_in(at).dtype == torch.bfloat16
    assert at.query_params["precision"] == "bfloat16"


def test_a_link_to_shorter_numbers_can_be_left_on_a_processor():
    at = open_page("norm", model="bundled", precision="bfloat16")
    numbers(at).set_value("float32")
    rerun(at)
    assert numbers(at) is None
    assert computed_in(at).dtype == torch.float32


def test_changes_are_the_same_in_shorter_numbers():
    edits = "v1~~blocks.0.attn.W_Q~0-0-0~0.5"
    at = open_page("overview", model="bundled", edits=edits)
    kept = at.session_state["edits"]
    assert kept
    at.session_state["precision"] = "bfloat16"
    rerun(at)
    assert at.session_state["edits"] == kept


def test_each_model_has_its_own_numbers_in_both_precisions():
    one, other = engine.load("bundled", ""), engine.load("bundled", "bfloat16")
    assert one is engine.load("bundled", "")
    assert other is engine.load("bundled", "bfloat16")
    assert (one.variant, other.variant) == ("", "bfloat16")


@pytest.mark.parametrize(
    ("lang", "words"),
    [("en", "Computed on: CPU, 1 thread"), ("ko", "계산 장치: CPU, 스레드 1개")],
)
def test_where_it_is_computed_is_said_in_ones_own_language(lang, words):
    """A small model is computed by one thread."""
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("a graphics card has one name in every language")
    assert words in said(open_page("tokens", lang=lang, model="bundled"))
