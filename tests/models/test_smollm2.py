"""SmolLM2 as `make model` fetches it: its tokenizer, what it says, and where it stops."""

import os
import random

import pytest
import torch
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE

import core
from core.models import smollm2
from core.models.checkpoint.gguf_file import GGUFFile
from tests.support.tokenizers import HARD
from tests.support.trained_tokenizers import PRE_TOKENIZERS, known

pytestmark = pytest.mark.skipif(
    not smollm2.available() and os.environ.get("CI") != "true", reason="make model fetches it"
)


@pytest.fixture(scope="module")
def model():
    return core.load("smollm2", device="cpu")


@pytest.fixture(scope="module")
def theirs():
    """The file's tokens and merges in Hugging Face's `tokenizers`."""
    settings = GGUFFile(smollm2.FILE).settings
    ids = {token: i for i, token in enumerate(settings["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in settings["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(BPE(ids, merges))
    tokenizer.pre_tokenizer = PRE_TOKENIZERS["smollm2"]
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_the_capital_of_france(model):
    """With nothing before the text: the file asks for no token there."""
    trace = model.trace(model.default_prompt)
    assert trace.tokens == ["The", " capital", " of", " France", " is"]
    best, second = trace.top(2)
    assert (best.text, second.text) == (" Paris", " the")
    # Measured once with transformers' own reading of the file, whose logits differ by 7e-5 at most.
    assert best.prob == pytest.approx(0.7725, abs=5e-4)


def test_it_is_what_the_catalogue_says(model):
    (entry,) = [entry for entry in core.models() if entry.key == "smollm2"]
    assert entry.available
    assert entry.parameters == sum(weight.numel() for weight in model.weights.values())
    config = model.config
    assert (config.n_layers, config.n_heads, config.n_kv_heads, config.n_ctx) == (30, 9, 3, 8192)
    assert config.n_vocab == model.tokenizer.n_vocab == 49152


def test_hard_texts_have_the_ids_of_tokenizers(model, theirs):
    rng = random.Random(2)
    for _ in range(1000):
        text = known("".join(rng.choices(HARD, k=rng.randrange(40))))
        expected = theirs.encode(text).ids
        assert model.tokenizer.encode(text) == expected, ascii(text)
        assert model.tokenizer.decode(expected) == theirs.decode(expected), ascii(text)


def test_a_korean_letter_takes_several_tokens(model):
    """The vocabulary was made for English: a syllable is two or three tokens of its bytes."""
    ids = model.tokenizer.encode("밥을")
    spans = model.tokenizer.characters(ids)
    assert [span.text for span in spans] == ["밥", "을"]
    assert [len(span.tokens) for span in spans] == [3, 2]
    assert all("⟨" in model.tokenizer.token_text(i) for i in ids[:3])


def test_one_row_by_hand(model):
    """Q4_1 of ggml: 32 numbers d·q + m in 20 bytes, the low halves of the last 16 first."""
    stored = GGUFFile(smollm2.FILE).tensors["blk.0.ffn_up.weight"]
    n_bytes = 576 // 32 * 20
    with smollm2.FILE.open("rb") as file:
        file.seek(stored.start + 5 * n_bytes)
        row = file.read(n_bytes)
    numbers = []
    for start in range(0, len(row), 20):
        block = torch.frombuffer(bytearray(row[start : start + 4]), dtype=torch.float16).float()
        packed = row[start + 4 : start + 20]
        steps = [byte & 15 for byte in packed] + [byte >> 4 for byte in packed]
        numbers += [block[0] * step + block[1] for step in steps]
    assert torch.equal(model.weights["blocks.0.mlp.W_up"][:, 5], torch.stack(numbers))


def test_it_goes_on_from_its_cache_and_stops_where_the_file_says(model):
    said = list(model.generate(model.default_prompt, 6, temperature=0))
    assert "".join(step.text for step in said[:2]) == " Paris."
    written = model.tokenizer.encode(model.default_prompt) + [step.id for step in said]
    again = model.forward(written[:-1])[4:].argmax(-1)
    assert again.tolist() == [step.id for step in said]
    assert {model.tokenizer.token_text(i) for i in model.tokenizer.stop_ids} == {
        "<|endoftext|>",
        "<|im_end|>",
    }
