"""Token IDs as text, for a model that came without a tokenizer."""

from __future__ import annotations

from core.models.tokenizer import UnknownWord, WordTokenizer


class IdTokenizer(WordTokenizer):
    """The words are the IDs 0 … n_vocab - 1, as "464 3797 3332"; commas may stand between them.

    why: what was wrong with the tokenizer that the model has; None if it has none.
    """

    def __init__(self, n_vocab: int, why: Exception | None = None) -> None:
        super().__init__(map(str, range(n_vocab)))
        self.why = why

    def encode(self, text: str) -> list[int]:
        """The IDs that the text lists. Raises UnknownWord for what is none of them."""
        try:
            return super().encode(text.replace(",", " "))
        except UnknownWord as error:
            few = (self.words[0], "…", self.words[-1])
            raise UnknownWord(error.word, error.position, error.char_start, few) from None
