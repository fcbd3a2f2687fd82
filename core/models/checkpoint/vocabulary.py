"""The tokenizer that belongs to a folder with a model."""

from __future__ import annotations

import json
from pathlib import Path

from core.models.bpe import END_OF_TEXT
from core.models.checkpoint import merges
from core.models.checkpoint.error import CheckpointError
from core.models.checkpoint.settings import Settings
from core.models.checkpoint.tokenizer_json import from_tokenizer_json
from core.models.config import Config
from core.models.gpt2_tokenizer import TiktokenTokenizer, gpt2_tokenizer, load_ranks
from core.models.id_tokenizer import IdTokenizer
from core.models.merge_list import GPT2
from core.models.tokenizer import Tokenizer

TOKENIZER, VOCABULARY, MERGES = "tokenizer.json", "vocab.json", "merges.txt"
TOKENIZER_FILES = (TOKENIZER, VOCABULARY, MERGES)
PROMPT = "The Eiffel Tower is in the city of"
FIRST_IDS = 5
# Sizes of an embedding for GPT-2's 50,257 tokens: as published, and rounded up by nanoGPT for
# speed to a multiple of 64.
GPT2_SIZES = (50257, 50304)


def tokenizer_of(folder: Path, config: Config, settings: Settings) -> Tokenizer:
    """The tokenizer of the folder's model; where none can be had, one of token IDs."""
    try:
        found = _in_files(folder, config.n_vocab, settings)
    except CheckpointError as error:
        return IdTokenizer(config.n_vocab, why=error)
    is_gpt2 = config.position == "learned" and config.n_vocab in GPT2_SIZES
    if is_gpt2 and (found is None or _is_gpt2(found)):
        return _gpt2(config.n_vocab)
    return found or IdTokenizer(config.n_vocab)


def default_prompt(tokenizer: Tokenizer) -> str:
    """A text to begin with."""
    if isinstance(tokenizer, IdTokenizer):
        return tokenizer.decode(range(min(FIRST_IDS, tokenizer.n_vocab)))
    return PROMPT


def _in_files(folder: Path, n_vocab: int, settings: Settings) -> Tokenizer | None:
    """The tokenizer that the folder's files describe, if any. Raises CheckpointError."""
    if (folder / TOKENIZER).is_file():
        ends = settings.values.get("eos_token_id")
        stop_ids = [i for i in (ends if isinstance(ends, list) else [ends]) if isinstance(i, int)]
        return from_tokenizer_json(folder / TOKENIZER, n_vocab, stop_ids)
    if (folder / VOCABULARY).is_file() and (folder / MERGES).is_file():
        return _in_two_files(folder, n_vocab)
    return None


def _in_two_files(folder: Path, n_vocab: int) -> Tokenizer:
    """The older form: GPT-2's tokens with their IDs, and the merges, one a line."""
    try:
        tokens = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
        lines = (folder / MERGES).read_text(encoding="utf-8").splitlines()
        pairs = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#ver")]
        special = {token: i for token, i in tokens.items() if _is_special(token)}
        return merges.tokenizer(tokens, pairs, GPT2, special, n_vocab)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError("no_json", file=VOCABULARY, reason=repr(error)) from error


def _is_special(token: str) -> bool:
    """Whether a token stands for something else than its bytes."""
    return token == END_OF_TEXT or not merges.BYTES.keys() >= set(token)


def _is_gpt2(found: Tokenizer) -> bool:
    """Whether the tokens are GPT-2's, whose tokenizer we have, faster."""
    usual = gpt2_tokenizer()
    return all(found.token_bytes(i) == usual.token_bytes(i) for i in range(usual.n_vocab))


def _gpt2(n_vocab: int) -> Tokenizer:
    usual = gpt2_tokenizer()
    if n_vocab == usual.n_vocab:
        return usual
    unused = {f"<unused {i}>": i for i in range(usual.n_vocab, n_vocab)}
    special = {END_OF_TEXT: usual.end_of_text_id} | unused
    return TiktokenTokenizer(load_ranks(), special_tokens=special)
