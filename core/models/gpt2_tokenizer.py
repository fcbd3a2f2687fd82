"""GPT-2's tokenizer: its published table, and tiktoken, which encodes with it.

tiktoken shows only the result; `explain` shows the way there, and the tests hold the two to the
same IDs.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import regex
import tiktoken

from core.models.assets import ASSETS
from core.models.bpe import END_OF_TEXT, BytePairTokenizer, PieceMerges, merge_piece
from core.models.tokenizer import clean_text

# GPT-2's pattern as tiktoken writes it (tiktoken_ext.openai_public.r50k_pat_str): contractions,
# then letters, digits, or other characters with at most one space before them, then whitespace.
GPT2_PATTERN = (
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
)
GPT2_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
GPT2_FILE = ASSETS / "vocabulary" / "gpt2.tiktoken"

# One character of each class that a pattern can ask for, and one that belongs to none of them.
_STAND_INS = {r"\p{L}": "é", r"\p{N}": "²", r"\s": "\u2003"}
_OTHER = "€"
# tiktoken aborts (with an exception that `except Exception` does not catch) on a run of a million
# whitespace characters: its regex engine's backtracking stack is full. Ours takes over well before.
LONGEST_WHITESPACE = 100_000


class VocabularyError(RuntimeError):
    """A vocabulary file is missing or is not the published one."""


def load_ranks(path: Path = GPT2_FILE, sha256: str = GPT2_SHA256) -> dict[bytes, int]:
    """Read a tiktoken table: token bytes -> rank (lower merges first; the rank is also the ID).

    Raises VocabularyError if the file is missing or its SHA-256 is not `sha256`.
    """
    restore = f"Restore the original, for example with: git checkout -- {path}"
    if not path.is_file():
        raise VocabularyError(f"The vocabulary file {path} is missing. {restore}")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise VocabularyError(
            f"The vocabulary file {path} is damaged or was changed (rewritten line endings are "
            f"enough): its SHA-256 is {found}, expected {sha256}. {restore}"
        )
    lines = (line.split() for line in content.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in lines}


class TiktokenTokenizer(BytePairTokenizer):
    """BPE from a table of merged tokens, whose rank is also their ID; tiktoken does the encoding.

    ranks: token bytes -> rank, see `load_ranks`. pattern: what it cuts a text by.
    """

    def __init__(
        self,
        ranks: Mapping[bytes, int],
        pattern: str = GPT2_PATTERN,
        special_tokens: Mapping[str, int] | None = None,
    ):
        super().__init__(dict(ranks), special_tokens or {})
        self._pattern = pattern
        self._encoding = tiktoken.Encoding(
            "byte-pair",
            pat_str=pattern,
            mergeable_ranks=self._ids,
            special_tokens=self.special_tokens,
        )

    def encode(self, text: str) -> list[int]:
        """Token IDs of `text`, the same as tiktoken's `encode_ordinary`."""
        text = clean_text(text)
        runs = re.findall(r"\s+", text) if len(text) > LONGEST_WHITESPACE else []
        if any(len(run) > LONGEST_WHITESPACE for run in runs):
            return super().encode(text)
        return self._encoding.encode_ordinary(text)

    def explain_piece(self, data: bytes) -> PieceMerges:
        ranks = self._ids
        return merge_piece(data, lambda left, right: ranks.get(left + right), ranks)

    def _cut(self, text: str) -> Iterator[str]:
        """Exactly where tiktoken cuts."""
        for match in regex.finditer(self._pattern, text.translate(_unicode_differences(text))):
            yield text[match.start() : match.end()]


def _unicode_differences(text: str) -> dict[int, str]:
    """Stand-ins for the characters whose class `regex` and tiktoken see differently.

    Unicode grows, and the two packages carry tables of different years: a letter added lately is
    a letter for one and unassigned for the other, which would cut the text elsewhere.
    """
    rare = "".join(char for char in set(text) if not char.isascii())
    differences: dict[int, str] = {}
    for char_class, stand_in in _STAND_INS.items():
        ours = set(regex.findall(char_class, rare))
        theirs = set(bytes(_finder(char_class).encode_ordinary(rare)).decode("utf-8"))
        differences |= dict.fromkeys(map(ord, theirs - ours), stand_in)
        differences = dict.fromkeys(map(ord, ours - theirs), _OTHER) | differences
    return differences


@cache
def _finder(char_class: str) -> tiktoken.Encoding:
    """tiktoken as a plain search: it drops what the pattern misses and gives the rest as bytes."""
    single_bytes = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding(
        char_class, pat_str=char_class, mergeable_ranks=single_bytes, special_tokens={}
    )


@cache
def gpt2_tokenizer() -> TiktokenTokenizer:
    """GPT-2's tokenizer, 50,257 IDs, from the table in assets/; one shared, unchanging object.

    Raises VocabularyError if the table is missing or damaged.
    """
    return TiktokenTokenizer(load_ranks(), special_tokens={END_OF_TEXT: 50256})
