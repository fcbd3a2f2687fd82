"""Byte pair encoding, step by step: pre-split a text, then merge each piece's bytes.

The scheme is the byte-level BPE of the GPT-2 paper (Radford et al. 2019, section 2.2): the
alphabet is the 256 bytes, so every text can be encoded and there is no "unknown" token.
tiktoken does the same thing faster but shows only the result; this module shows the way there,
and the tests hold the two to the same IDs.
"""

import base64
import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heappop, heappush
from pathlib import Path

import regex
import tiktoken

from core.models.tokenizer import Tokenizer, clean_text

# GPT-2's pattern as tiktoken writes it (tiktoken_ext.openai_public.r50k_pat_str): contractions,
# then letters, digits, or other characters with at most one space before them, then whitespace.
GPT2_PATTERN = (
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
)
GPT2_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
GPT2_FILE = Path(__file__).resolve().parents[2] / "assets" / "vocabulary" / "gpt2.tiktoken"

# One character of each class that a pattern can ask for, and one that belongs to none of them.
_STAND_INS = {r"\p{L}": "é", r"\p{N}": "²", r"\s": "\u2003"}
_OTHER = "€"
# tiktoken aborts (with an exception that `except Exception` does not catch) on a run of a million
# whitespace characters: its regex engine's backtracking stack is full. Ours takes over well before.
LONGEST_WHITESPACE = 100_000
END_OF_TEXT = "<|endoftext|>"
_MERGED = -1


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


@dataclass(frozen=True)
class Merge:
    """One merge: the parts `left` and `right` become one, `start` bytes into the piece."""

    start: int
    left: bytes
    right: bytes
    rank: int


@dataclass(frozen=True)
class MergeStep:
    """One merge as a reader sees it: `parts` before it; parts[index] and parts[index + 1] join."""

    parts: tuple[bytes, ...]
    index: int
    rank: int
    result: bytes


@dataclass(frozen=True)
class PieceMerges:
    """How one piece was merged: its bytes, the merges in order, and the parts (IDs) left over."""

    data: bytes
    merges: tuple[Merge, ...]
    parts: tuple[bytes, ...]
    ids: tuple[int, ...]

    def steps(self) -> Iterator[MergeStep]:
        """Replay the merges one by one.

        Made on demand: every step lists all parts, so all steps of a piece of n bytes together
        are n²/2 parts. Take as many as you show (`itertools.islice`).
        """
        parts = [bytes([byte]) for byte in self.data]
        starts = list(range(len(self.data)))
        for merge in self.merges:
            index = bisect_left(starts, merge.start)
            result = merge.left + merge.right
            yield MergeStep(tuple(parts), index, merge.rank, result)
            parts[index : index + 2] = [result]
            del starts[index + 1]


@dataclass(frozen=True)
class PreSplit:
    """One piece of the pre-split. No merge ever crosses from one piece into the next.

    text, data: the piece and its UTF-8 bytes.
    char_start, byte_start: where it begins in the (cleaned) text, in characters and in bytes.
    """

    text: str
    data: bytes
    char_start: int
    byte_start: int
    _ranks: Mapping[bytes, int] = field(repr=False, compare=False)

    @cached_property
    def merged(self) -> PieceMerges:
        """The merges of this piece; computed when first asked for."""
        return merge_piece(self.data, self._ranks)

    @property
    def ids(self) -> tuple[int, ...]:
        """Token IDs of this piece."""
        return self.merged.ids


def pre_split(text: str, pattern: str, ranks: Mapping[bytes, int]) -> list[PreSplit]:
    """Cut `text` into the pieces that `pattern` finds, exactly where tiktoken cuts it."""
    text = clean_text(text)
    pieces, byte_start = [], 0
    for match in regex.finditer(pattern, text.translate(_unicode_differences(text))):
        piece = text[match.start() : match.end()]
        data = piece.encode("utf-8")
        pieces.append(PreSplit(piece, data, match.start(), byte_start, ranks))
        byte_start += len(data)
    return pieces


def merge_piece(data: bytes, ranks: Mapping[bytes, int]) -> PieceMerges:
    """Merge the bytes of one piece: always the adjacent pair of lowest rank, leftmost first.

    The candidates wait in a heap, so n bytes take about n·log(n) steps: ten thousand times the
    same letter is one piece. Raises KeyError if `ranks` lacks one of the single bytes.
    """
    stops = list(range(1, len(data) + 1))  # stops[i]: where the part that begins at i ends
    before = list(range(-1, len(data) - 1))  # before[i]: where the part to its left begins
    queue: list[tuple[int, int, int, int]] = []
    merges = []

    def consider(start: int) -> None:
        middle = stops[start]
        if middle < len(data) and (rank := ranks.get(data[start : stops[middle]])) is not None:
            heappush(queue, (rank, start, middle, stops[middle]))

    for start in range(len(data)):
        consider(start)
    while queue:
        rank, start, middle, stop = heappop(queue)
        if stops[start] != middle or stops[middle] != stop:
            continue  # one of the two parts has been merged since this pair was queued
        merges.append(Merge(start, data[start:middle], data[middle:stop], rank))
        stops[start], stops[middle] = stop, _MERGED
        if stop < len(data):
            before[stop] = start
        consider(start)
        if start > 0:
            consider(before[start])
    parts = tuple(_parts(data, stops))
    return PieceMerges(data, tuple(merges), parts, tuple(ranks[part] for part in parts))


def _parts(data: bytes, stops: list[int]) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        yield data[start : stops[start]]
        start = stops[start]


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


class BytePairTokenizer(Tokenizer):
    """GPT-2's byte-level BPE; tiktoken does the encoding.

    ranks: token bytes -> rank, see `load_ranks`. special_tokens: text -> ID of the tokens that
    encoding never produces: typed by a person, "<|endoftext|>" is ordinary text (seven IDs).
    """

    def __init__(
        self,
        ranks: Mapping[bytes, int],
        pattern: str = GPT2_PATTERN,
        special_tokens: Mapping[str, int] | None = None,
    ):
        special = dict(special_tokens or {})
        self._ranks, self._pattern = dict(ranks), pattern
        self._encoding = tiktoken.Encoding(
            "byte-pair", pat_str=pattern, mergeable_ranks=self._ranks, special_tokens=special
        )
        self._bytes = {token_id: data for data, token_id in self._ranks.items()}
        self._bytes |= {token_id: text.encode("utf-8") for text, token_id in special.items()}
        self.end_of_text_id = special.get(END_OF_TEXT)

    @property
    def n_vocab(self) -> int:
        return self._encoding.n_vocab

    def encode(self, text: str) -> list[int]:
        """Token IDs of `text`, the same as tiktoken's `encode_ordinary`."""
        text = clean_text(text)
        runs = re.findall(r"\s+", text) if len(text) > LONGEST_WHITESPACE else []
        if any(len(run) > LONGEST_WHITESPACE for run in runs):
            return [token_id for piece in self.explain(text) for token_id in piece.ids]
        return self._encoding.encode_ordinary(text)

    def token_bytes(self, token_id: int) -> bytes:
        return self._bytes[self._checked(token_id)]

    def explain(self, text: str) -> list[PreSplit]:
        """The pieces that the pattern cuts `text` into; each computes its merges when asked."""
        return pre_split(text, self._pattern, self._ranks)

    def explain_piece(self, data: bytes) -> PieceMerges:
        """The merges of one piece, given as bytes."""
        return merge_piece(data, self._ranks)


@cache
def gpt2_tokenizer() -> BytePairTokenizer:
    """GPT-2's tokenizer, 50,257 IDs, from the table in assets/; one shared, unchanging object.

    Raises VocabularyError if the table is missing or damaged.
    """
    return BytePairTokenizer(load_ranks(), special_tokens={END_OF_TEXT: 50256})
