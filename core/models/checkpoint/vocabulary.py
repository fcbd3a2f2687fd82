"""The tokenizer that belongs to a folder with a model."""

from __future__ import annotations

from pathlib import Path

from core.models.bpe import END_OF_TEXT
from core.models.config import Config
from core.models.gpt2_tokenizer import TiktokenTokenizer, gpt2_tokenizer, load_ranks
from core.models.id_tokenizer import IdTokenizer
from core.models.tokenizer import Tokenizer

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt")
PROMPT = "The Eiffel Tower is in the city of"
FIRST_IDS = 5
# Sizes of an embedding for GPT-2's 50,257 tokens: as published, and rounded up by nanoGPT for
# speed to a multiple of 64.
GPT2_SIZES = (50257, 50304)


def tokenizer_of(folder: Path, config: Config) -> Tokenizer:
    """The tokenizer of the folder's model; where none can be had, one of token IDs."""
    if config.position == "learned" and config.n_vocab in GPT2_SIZES:
        return _gpt2(config.n_vocab)
    return IdTokenizer(config.n_vocab)


def default_prompt(tokenizer: Tokenizer) -> str:
    """A text to begin with."""
    if isinstance(tokenizer, IdTokenizer):
        return tokenizer.decode(range(min(FIRST_IDS, tokenizer.n_vocab)))
    return PROMPT


def _gpt2(n_vocab: int) -> Tokenizer:
    usual = gpt2_tokenizer()
    if n_vocab == usual.n_vocab:
        return usual
    return TiktokenTokenizer(
        load_ranks(), special_tokens={END_OF_TEXT: usual.end_of_text_id} | unused(usual, n_vocab)
    )


def unused(tokenizer: Tokenizer, n_vocab: int) -> dict[str, int]:
    """Names for the IDs of an embedding that is larger than the vocabulary."""
    return {f"<unused {i}>": i for i in range(tokenizer.n_vocab, n_vocab)}
