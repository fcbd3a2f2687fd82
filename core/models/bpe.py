"""Byte pair encoding, step by step: pre-split a text, then merge each piece's bytes.

The scheme is the byte-level BPE of the GPT-2 paper (Radford et al. 2019, section 2.2): the
alphabet is the 256 bytes, so every text can be encoded and there is no "unknown" token.
`BytePairTokenizer` is what its kinds have in common, and shows the whole way from text to IDs:
`gpt2_tokenizer` has GPT-2's table of merged tokens, `merge_list` a list of the pairs that merge.
"""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import heappop, heappush

from core.models.tokenizer import Tokenizer, clean_text

END_OF_TEXT = "<|endoftext|>"
_MERGED = -1
KNOWN = 16384  # pieces of texts whose IDs are remembered


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
    char_start, byte_start: where it begins in the text as the tokenizer cleaned it, in characters
    and in bytes.
    """

    text: str
    data: bytes
    char_start: int
    byte_start: int
    _merge: Callable[[bytes], PieceMerges] = field(repr=False, compare=False)

    @cached_property
    def merged(self) -> PieceMerges:
        """The merges of this piece; computed when first asked for."""
        return self._merge(self.data)

    @property
    def ids(self) -> tuple[int, ...]:
        """Token IDs of this piece."""
        return self.merged.ids


class BytePairTokenizer(Tokenizer):
    """Byte-level BPE whose every step can be looked at.

    ids: token bytes -> ID. special_tokens: text -> ID of the tokens that encoding never produces:
    typed by a person, "<|endoftext|>" is ordinary text.
    A kind of it says how a text is cut into pieces and how a piece is merged.
    """

    def __init__(self, ids: Mapping[bytes, int], special_tokens: Mapping[str, int]) -> None:
        self._ids, self.special_tokens = ids, dict(special_tokens)
        self._bytes = {token_id: data for data, token_id in ids.items()}
        self._bytes |= {token_id: text.encode() for text, token_id in special_tokens.items()}
        self.unknown = bytes(byte for byte in range(256) if bytes([byte]) not in ids)
        self.end_of_text_id = special_tokens.get(END_OF_TEXT)
        self.stop_ids = frozenset({self.end_of_text_id} - {None})
        # The words of a text come again, and with every run of a page all of it.
        self._ids_of = lru_cache(maxsize=KNOWN)(lambda data: self.explain_piece(data).ids)

    @cached_property
    def n_vocab(self) -> int:
        return max(self._bytes) + 1

    def encode(self, text: str) -> list[int]:
        pieces = (piece.encode("utf-8") for piece in self._cut(clean_text(text)))
        return [token_id for piece in pieces for token_id in self._ids_of(piece)]

    def token_bytes(self, token_id: int) -> bytes:
        return self._bytes[self._checked(token_id)]

    def explain(self, text: str) -> list[PreSplit]:
        """The pieces that the text is cut into; each computes its merges when asked."""
        pieces, char_start, byte_start = [], 0, 0
        for piece in self._cut(clean_text(text)):
            data = piece.encode("utf-8")
            pieces.append(PreSplit(piece, data, char_start, byte_start, self.explain_piece))
            char_start, byte_start = char_start + len(piece), byte_start + len(data)
        return pieces

    @abstractmethod
    def explain_piece(self, data: bytes) -> PieceMerges:
        """The merges of one piece, given as bytes."""

    @abstractmethod
    def _cut(self, text: str) -> Iterator[str]:
        """The pieces of a text without surrogates, in order; put together they are the text."""


def merge_piece(
    data: bytes, rank_of: Callable[[bytes, bytes], int | None], ids: Mapping[bytes, int]
) -> PieceMerges:
    """Merge the bytes of one piece: always the adjacent pair of lowest rank, leftmost first.

    rank_of: the rank of a pair of parts, None for a pair that does not merge.
    The candidates wait in a heap, so n bytes take about n·log(n) steps: ten thousand times the
    same letter is one piece. Raises KeyError if `ids` lacks one of the parts.
    """
    stops = list(range(1, len(data) + 1))  # stops[i]: where the part that begins at i ends
    before = list(range(-1, len(data) - 1))  # before[i]: where the part to its left begins
    queue: list[tuple[int, int, int, int]] = []
    merges = []

    def consider(start: int) -> None:
        middle = stops[start]
        if middle < len(data):
            stop = stops[middle]
            if (rank := rank_of(data[start:middle], data[middle:stop])) is not None:
                heappush(queue, (rank, start, middle, stop))

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
    return PieceMerges(data, tuple(merges), parts, tuple(ids[part] for part in parts))


def _parts(data: bytes, stops: list[int]) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        yield data[start : stops[start]]
        start = stops[start]
