"""Pages of a model from a GGUF file: its own vocabulary, its own special tokens."""

import pytest

from core.view import host
from tests.support import gguf_files as files
from tests.support.app import open_page, said


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small Llama whose vocabulary lacks the letter q and a control character."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    return str(files.write(path, files.network("llama"), without=b"q\x04"))


@pytest.fixture(autouse=True)
def at_home(monkeypatch):
    monkeypatch.setattr(host, "may_add_models", lambda: True)


def test_tokens_page_shows_the_merges_of_the_file(model):
    text = said(open_page("tokens", model=model, prompt=" father"))
    assert "7 characters · 7 bytes · 1 token" in text
    assert "·f and ather join to ·father" in text


def test_a_special_token_of_the_file_typed_by_a_person(model):
    assert "which is the single token 1" in said(
        open_page("tokens", model=model, prompt="<|start|>")
    )


@pytest.mark.parametrize("prompt", ["a", "q", "sq\x04uare"])
def test_the_page_says_that_bytes_are_lacking(model, prompt):
    at = open_page("tokens", model=model, prompt=prompt)
    assert "Here all but 2 of the 256 bytes are tokens" in said(at)
    assert "every byte is itself a token" not in said(at)
    assert "every byte is itself a token" in said(open_page("tokens", prompt=prompt))


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("smollm2", "every digit is a piece of its own"),
        ("llama3", "a piece has at most 3 digits"),
        ("gpt2", None),
    ],
)
def test_the_page_says_how_the_tokenizer_cuts_digits(tmp_path, kind, says):
    path = files.write(tmp_path / "model.gguf", files.network("llama"), tokenizer=kind)
    text = said(open_page("tokens", model=str(path), prompt="In 2024"))
    assert says in text if says else "In this model" not in text
