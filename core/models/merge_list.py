"""Byte-level BPE from a list of the pairs that merge, as Hugging Face and GGUF files have it.

Unlike in GPT-2's table a token's ID is not its rank, and bytes merge only as the pairs that are
listed: "ab" + "c" may merge where "a" + "bc" does not. The tests hold the IDs to those of Hugging
Face's `tokenizers`, except for characters that Unicode got lately: what is a letter for `regex` is
nothing yet for a library with older tables.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import regex

from core.models.bpe import BytePairTokenizer, PieceMerges, merge_piece
from core.models.gpt2_tokenizer import GPT2_PATTERN

SINGLE_DIGITS = r"\p{N}"
# Contractions; letters with at most one other character before them; up to three digits; other
# characters with a space before and line ends after them; whitespace.
LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_PATTERN = LLAMA3_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")


@dataclass(frozen=True)
class Rules:
    """How a text becomes the pieces that are merged.

    patterns: each cuts what the one before left whole; what it finds is a piece, and so is what
    stands between. composed: characters are put together first (Unicode's NFC). whole_first: a
    piece that is a token needs no merges, even where they would not lead to it.
    """

    patterns: tuple[str, ...]
    composed: bool = False
    whole_first: bool = False


GPT2 = Rules((GPT2_PATTERN,))
SMOLLM = Rules((SINGLE_DIGITS, GPT2_PATTERN))
LLAMA3 = Rules((LLAMA3_PATTERN,), whole_first=True)
QWEN2 = Rules((QWEN2_PATTERN,), composed=True)


class MergeListTokenizer(BytePairTokenizer):
    """BPE with a rank for each pair of parts.

    ids: token bytes -> ID. ranks: pair -> its place in the list; what it merges into is in `ids`.
    The bytes that `ids` lacks are left out before anything merges, as `tokenizers` does it.
    stop_ids: the tokens with which a text ends. begin_id: the token that the model expects before
    every text.
    """

    def __init__(
        self,
        ids: Mapping[bytes, int],
        ranks: Mapping[tuple[bytes, bytes], int],
        rules: Rules,
        special_tokens: Mapping[str, int],
        stop_ids: frozenset[int] = frozenset(),
        begin_id: int | None = None,
    ) -> None:
        super().__init__(ids, special_tokens)
        self._ranks, self._rules = ranks, rules
        self.stop_ids |= stop_ids
        if self.end_of_text_id is None:
            self.end_of_text_id = min(stop_ids, default=None)
        self.begin_id = begin_id

    def explain_piece(self, data: bytes) -> PieceMerges:
        known = data.translate(None, self.unknown)
        merged = merge_piece(known, lambda left, right: self._ranks.get((left, right)), self._ids)
        if self._rules.whole_first and len(merged.parts) > 1 and known in self._ids:
            return PieceMerges(known, (), (known,), (self._ids[known],))
        return merged

    def _cut(self, text: str) -> Iterator[str]:
        pieces = [unicodedata.normalize("NFC", text) if self._rules.composed else text]
        for pattern in self._rules.patterns:
            pieces = [part for piece in pieces for part in _isolated(piece, pattern)]
        yield from pieces


def _isolated(text: str, pattern: str) -> Iterator[str]:
    """What the pattern finds, and what stands between, in order."""
    end = 0
    for match in regex.finditer(pattern, text):
        yield from filter(None, (text[end : match.start()], match.group()))
        end = match.end()
    if end < len(text):
        yield text[end:]
