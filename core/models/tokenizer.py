"""Tokenizers: text -> token IDs and back, and which characters each token stands for.

A token is a run of bytes, not of characters: "한" is three bytes, which GPT-2 holds in two tokens.
So besides IDs a tokenizer gives a `Piece` per token, which says where its bytes lie in the decoded
text, and a `CharacterSpan` per character, which says which tokens hold it. A character here is one
Unicode code point. Byte pair encoding is in `core.models.bpe`.
"""

import operator
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

import regex

# Characters that draw nothing: control, format, unassigned and private ones, separators, and the
# few "letters" and "marks" that Unicode lists as ignorable, such as the Hangul fillers.
_INVISIBLE = r"\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800"
# A combining mark with no visible character before it would land on whatever is drawn beside it.
# The space inside the hex that `readable` writes is no part of the text and stays.
_HIDDEN = regex.compile(
    r"⟨[0-9A-F]{2}(?: [0-9A-F]{2})*⟩(*SKIP)(*FAIL)"
    rf"|(?P<invisible>[{_INVISIBLE}])|(?<![^{_INVISIBLE}])\p{{M}}"
)
_SYMBOLS = {" ": "·", "\n": "↵", "\t": "⇥", "\x7f": "␡"}


class UnknownId(ValueError):
    """A token ID that the vocabulary does not have."""


class UnknownWord(ValueError):
    """A word that a word vocabulary does not have.

    word: the word. position: its index among the words of the text, from 0.
    char_start: where it begins in the text, in characters. known: the words there are.
    """

    def __init__(self, word: str, position: int, char_start: int, known: Sequence[str]):
        self.word, self.position, self.char_start = word, position, char_start
        self.known = tuple(known)
        super().__init__(
            f"Unknown word {word!r}: it is word {position + 1} of the text (at character "
            f"{char_start + 1}). The words known are: {' '.join(self.known)}"
        )


@dataclass(frozen=True)
class Piece:
    """One token in its text.

    id, data: the token and its bytes.
    text: readable text of the token alone; its bytes in hex where it holds part of a character.
    byte_start: where its bytes begin in the UTF-8 of the decoded text.
    chars: the characters of the decoded text that hold at least one of its bytes.
    starts_inside, ends_inside: whether it begins, or ends, in the middle of a character.
    group: the positions of the tokens that must be read together, from one character boundary to
        the next. Length 1 unless a character is split over tokens.
    """

    id: int
    data: bytes
    text: str
    byte_start: int
    chars: range
    starts_inside: bool
    ends_inside: bool
    group: range


@dataclass(frozen=True)
class CharacterSpan:
    """One character of the decoded text and the tokens that hold its bytes.

    text: the character; U+FFFD for bytes that form none.
    byte_start: where its bytes begin in the UTF-8 of the decoded text.
    tokens: positions of the tokens; empty for the space between two words of a WordTokenizer.
    """

    index: int
    text: str
    byte_start: int
    tokens: range


class Tokenizer(ABC):
    """What every tokenizer offers. A new kind supplies the abstract parts only.

    end_of_text_id: the token between texts. stop_ids: the tokens with which a text ends.
    begin_id: the token that the model expects before every text. special_tokens: text -> ID of
    the tokens that `encode` never gives. Not every vocabulary has them. unknown: the bytes that no
    token stands for, and that therefore leave no trace in the IDs.
    Every method that takes IDs raises UnknownId for one outside 0 … n_vocab - 1.
    """

    end_of_text_id: int | None = None
    stop_ids: frozenset[int] = frozenset()
    begin_id: int | None = None
    special_tokens: Mapping[str, int] = MappingProxyType({})
    unknown: bytes = b""

    @property
    @abstractmethod
    def n_vocab(self) -> int:
        """Number of token IDs."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Token IDs of `text`; [] for the empty text."""

    def prompt_ids(self, text: str) -> list[int]:
        """Token IDs of a whole text, as the model expects it: `begin_id` first, if there is one."""
        ids = self.encode(text)
        return ids if self.begin_id is None or not ids else [self.begin_id, *ids]

    @abstractmethod
    def token_bytes(self, token_id: int) -> bytes:
        """The UTF-8 bytes that one token adds to the text; possibly only part of a character."""

    def place(self, ids: Iterable[int]) -> tuple[bytes, list[int]]:
        """The bytes of the decoded text, and where in them each token's own bytes begin."""
        text, starts = bytearray(), []
        for token_id in ids:
            starts.append(len(text))
            text += self.token_bytes(token_id)
        return bytes(text), starts

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`. Bytes that form no character come out as U+FFFD."""
        return self.place(ids)[0].decode("utf-8", errors="replace")

    def token_text(self, token_id: int) -> str:
        """Readable text of one token by itself: ' sat' (its space is a real space), or '⟨ED 95⟩'
        for bytes that are only part of a character. Show it through `visible`.
        """
        return readable(self.token_bytes(token_id))

    def pieces(self, ids: Iterable[int]) -> list[Piece]:
        """One Piece per token, in order."""
        ids = [operator.index(token_id) for token_id in ids]
        text, starts = self.place(ids)
        bounds = character_bounds(text)
        edges = set(bounds)
        char_of = [char for char, (a, b) in enumerate(pairwise(bounds)) for _ in range(a, b)]
        groups = _groups([start not in edges for start in starts])
        pieces = []
        for token_id, start, group in zip(ids, starts, groups, strict=True):
            data = self.token_bytes(token_id)
            stop = start + len(data)
            chars = range(char_of[start], char_of[stop - 1] + 1)
            inside = start not in edges, stop not in edges
            pieces.append(Piece(token_id, data, readable(data), start, chars, *inside, group))
        return pieces

    def characters(self, ids: Iterable[int]) -> list[CharacterSpan]:
        """One CharacterSpan per character of the decoded text, in order."""
        ids = list(ids)
        text, _ = self.place(ids)
        holders: dict[int, list[int]] = {}
        for position, piece in enumerate(self.pieces(ids)):
            for char in piece.chars:
                holders.setdefault(char, [position, position])[1] = position
        spans = []
        for char, (start, stop) in enumerate(pairwise(character_bounds(text))):
            first, last = holders.get(char, (0, -1))
            character = text[start:stop].decode("utf-8", errors="replace")
            spans.append(CharacterSpan(char, character, start, range(first, last + 1)))
        return spans

    def _checked(self, token_id: int) -> int:
        token_id = operator.index(token_id)
        if not 0 <= token_id < self.n_vocab:
            raise UnknownId(
                f"Token ID {token_id} is out of range: this vocabulary has the IDs "
                f"0 to {self.n_vocab - 1}"
            )
        return token_id


class WordTokenizer(Tokenizer):
    """One ID per word of a short list, for the worked example.

    Words are separated by whitespace, and a final "." is a word of its own. Hangul typed as
    separate jamo (as macOS may send it) is composed first. Raises ValueError for a list with
    repeated words, or words that are empty or contain whitespace.
    """

    def __init__(self, words: Iterable[str]):
        self.words = tuple(unicodedata.normalize("NFC", word) for word in words)
        self._ids = {word: token_id for token_id, word in enumerate(self.words)}
        if len(self._ids) != len(self.words) or any(word.split() != [word] for word in self.words):
            raise ValueError(f"Not a list of different words without spaces: {self.words}")

    @property
    def n_vocab(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """IDs of the words of `text`. Raises UnknownWord for the first one not in the list."""
        ids = []
        for word, char_start in self._split(clean_text(text)):
            if word not in self._ids:
                raise UnknownWord(word, len(ids), char_start, self.words)
            ids.append(self._ids[word])
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        return self.words[self._checked(token_id)].encode("utf-8")

    def place(self, ids: Iterable[int]) -> tuple[bytes, list[int]]:
        """Words joined by single spaces, none before a "."; the spaces belong to no token."""
        text, starts = bytearray(), []
        for word in map(self.token_bytes, ids):
            if text and word != b".":
                text += b" "
            starts.append(len(text))
            text += word
        return bytes(text), starts

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        for match in re.finditer(r"\S+", text):
            word = unicodedata.normalize("NFC", match.group())
            if word in self._ids or word == "." or not word.endswith("."):
                yield word, match.start()
            else:
                yield word[:-1], match.start()
                yield ".", match.end() - 1


def clean_text(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, exactly as tiktoken does.

    Such code units are not characters and have no UTF-8 bytes; browsers can send them. Every
    position that a tokenizer reports counts in this cleaned text.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def character_bounds(data: bytes) -> list[int]:
    """Where each character of `data` begins, and len(data) at the end.

    Cuts exactly as `data.decode("utf-8", errors="replace")` does: bytes that form no character
    count as one wherever that puts one U+FFFD.
    """
    bounds = [0]
    while (start := bounds[-1]) < len(data):
        lead = data[start]
        width = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        chunk = data[start : start + width]
        try:
            chunk.decode("utf-8")
            bounds.append(start + len(chunk))
        except UnicodeDecodeError as error:
            bounds.append(start + error.end)
    return bounds


def _groups(continues: Sequence[bool]) -> list[range]:
    """The group of each token, given whether it continues a character of the token before it."""
    firsts = [i for i, inside in enumerate(continues) if not inside]
    bounds = pairwise([*firsts, len(continues)])
    return [range(first, stop) for first, stop in bounds for _ in range(first, stop)]


def readable(data: bytes) -> str:
    """`data` as text, with bytes that are only part of a character in hex: b"a\\xed\\x95" ->
    "a⟨ED 95⟩". Spaces and control characters stay as they are.
    """
    text = data.decode("utf-8", errors="surrogateescape")  # a byte 0xNN that fits nowhere: U+DCNN
    return re.sub(
        "[\udc80-\udcff]+",
        lambda match: f"⟨{' '.join(f'{ord(char) - 0xDC00:02X}' for char in match.group())}⟩",
        text,
    )


@lru_cache(maxsize=4096)
def visible(text: str) -> str:
    """`text` with nothing left that cannot be seen, for drawing a token.

    Space "·", newline "↵", tab "⇥"; other ASCII control characters as Unicode's control pictures
    ("␀"); what else draws nothing, such as a zero-width joiner, as "⟨U+200D⟩"; a combining mark
    that follows no visible character on a dotted circle, "◌́". For the eye only: a "·" that was
    typed looks the same as a space.
    """
    return _HIDDEN.sub(_shown, text)


def _shown(match: regex.Match) -> str:
    char = match.group()
    if not match["invisible"]:
        return "\u25cc" + char
    if char < " " and char not in _SYMBOLS:
        return chr(0x2400 + ord(char))
    return _SYMBOLS.get(char, f"⟨U+{ord(char):04X}⟩")
