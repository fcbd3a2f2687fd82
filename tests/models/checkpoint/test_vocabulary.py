"""Which tokenizer a folder's model gets: the one in its files, GPT-2's, or token IDs."""

import json

import pytest
import torch
from transformers.convert_slow_tokenizer import bytes_to_unicode

from core.models.checkpoint import folder
from core.models.id_tokenizer import IdTokenizer
from tests.support.saved_models import SIZES, gpt2, save, state
from tests.support.tokenizers import GPT2
from tests.support.trained_tokenizers import save as save_tokenizer
from tests.support.trained_tokenizers import train

TEXT = "The king said to me, 밥을 먹었다 12345."
N = 1250  # IDs: more than any of the trained tokenizers has


@pytest.fixture(scope="module")
def trained():
    return train("gpt2")


@pytest.fixture
def path(tmp_path):
    network = gpt2(n_layer=1, n_embd=6, vocab_size=N, bos_token_id=0, eos_token_id=0)
    settings = SIZES | {"model_type": "gpt2", "n_positions": 16}
    settings |= {"n_layer": 1, "n_embd": 6, "vocab_size": N, "eos_token_id": 0}
    return save(tmp_path, state(network), settings)


def loaded(path):
    return folder.load(path, device=torch.device("cpu"))


def check(model, trained):
    """The IDs of the `tokenizers` library, and a name for those without a token."""
    assert model.tokenizer.encode(TEXT) == trained.encode(TEXT).ids
    assert model.tokenizer.n_vocab == N
    assert model.trace([N - 1]).tokens == [f"<unused {N - 1}>"]


def test_the_tokenizer_in_the_folder(path, trained):
    save_tokenizer(trained, path / "tokenizer.json")
    check(loaded(path), trained)


def test_the_older_form_with_two_files(path, trained):
    trained.model.save(str(path))
    check(loaded(path), trained)


def test_the_tokens_that_end_a_text_are_in_the_settings(path, trained):
    save_tokenizer(trained, path / "tokenizer.json")
    assert 0 in loaded(path).tokenizer.stop_ids


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", '{"model": {"type": "Unigram"}, "added_tokens": []}'),
        ("tokenizer.json", "{"),
        ("vocab.json", "[]"),
        ("vocab.json", "{"),
        ("vocab.json", '{"a": 0, "b": 9999}'),
    ],
)
def test_a_tokenizer_that_cannot_be_read_leaves_the_ids_and_a_reason(path, name, content):
    (path / "merges.txt").write_text("", encoding="utf-8")
    (path / name).write_text(content, encoding="utf-8")
    tokenizer = loaded(path).tokenizer
    assert isinstance(tokenizer, IdTokenizer)
    assert tokenizer.why.kind in ("tokenizer_kind", "no_json", "vocabulary_size")


def test_no_tokenizer_at_all_is_no_fault(path):
    assert loaded(path).tokenizer.why is None


@pytest.mark.parametrize("swapped", [False, True])
def test_gpt2s_own_vocabulary_is_recognised_by_its_tokens(tmp_path, swapped):
    """It is shipped, and faster; one that has two tokens in each other's place is another."""
    gpt2(n_layer=1, n_embd=6, vocab_size=50257).save_pretrained(tmp_path)
    letters = bytes_to_unicode()
    tokens = ["".join(letters[byte] for byte in GPT2.token_bytes(i)) for i in range(50257)]
    if swapped:
        tokens[1000], tokens[1001] = tokens[1001], tokens[1000]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\nt h\n", encoding="utf-8")
    found = loaded(tmp_path).tokenizer
    assert (found is GPT2) != swapped
    assert found.token_bytes(1000) == GPT2.token_bytes(1001 if swapped else 1000)
