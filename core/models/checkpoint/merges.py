"""From the tokens and merges that a file lists to a tokenizer, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.models.checkpoint.error import CheckpointError
from core.models.merge_list import MergeListTokenizer, Rules
from core.models.tokenizer import readable

PRINTED = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
HIDDEN = (byte for byte in range(256) if byte not in PRINTED)
# Files write a token's bytes as printable characters, each byte as one: those that print as
# themselves, the others as the characters from U+0100 on (openai/gpt-2, encoder.py).
BYTES = {chr(byte): byte for byte in PRINTED} | {chr(0x100 + i): b for i, b in enumerate(HIDDEN)}


def tokenizer(
    tokens: Mapping[str, int],
    merges: Iterable[tuple[str, str]],
    rules: Rules,
    special_tokens: Mapping[str, int],
    n_vocab: int | None = None,
    stop_ids: Iterable[int] = (),
    begin_id: int | None = None,
) -> MergeListTokenizer:
    """The tokenizer of a file's vocabulary.

    tokens, merges: as the file writes them. special_tokens: by their text, as it is.
    n_vocab: how many IDs the model has; those without a token get a name. Raises CheckpointError.
    """
    tokens = {token: i for token, i in tokens.items() if i not in special_tokens.values()}
    ids = {_bytes(token): token_id for token, token_id in tokens.items()}
    pairs = [(_bytes(left), _bytes(right)) for left, right in merges]
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    unknown = next((pair for pair in ranks if not {*pair, b"".join(pair)} <= ids.keys()), None)
    if unknown:
        raise CheckpointError("merge_unknown", merge=" + ".join(map(readable, unknown)))
    used = {*ids.values(), *special_tokens.values()}
    n_known = max(used, default=-1) + 1
    n_vocab = n_known if n_vocab is None else n_vocab
    if not ids or min(used) < 0 or n_known > n_vocab:
        raise CheckpointError("vocabulary_size", found=n_known, wanted=n_vocab)
    names = {f"<unused {i}>": i for i in range(n_vocab) if i not in used}
    stops = frozenset(stop_ids) & set(range(n_vocab))
    return MergeListTokenizer(ids, ranks, rules, {**special_tokens, **names}, stops, begin_id)


def _bytes(token: str) -> bytes:
    try:
        return bytes(BYTES[char] for char in token)
    except KeyError as error:
        raise CheckpointError("tokenizer_kind", found=f"the token {token!r}") from error
