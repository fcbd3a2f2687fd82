"""From text to token IDs, one small step after the other: characters, bytes, pieces, merges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from core.models.bpe import BytePairTokenizer, PieceMerges, PreSplit
from core.models.tokenizer import Tokenizer, readable, visible
from core.view.html import chip, div, esc, para, shown, tag
from core.view.state import State
from core.view.texts import Text, gloss

MOST_CHARACTERS, MOST_PIECES, MOST_TOKENS, MOST_ROWS, MOST_PARTS = 600, 60, 120, 14, 40
MOST_SPLIT = 8
MOST_CHARACTERS_MERGED = 60


def seen_text(t: Text, text: str, n_tokens: int) -> str:
    """The text with its spaces and line ends visible, and how long it is in each unit."""
    counts = t(
        "tokens.text.counts",
        characters=t("tokens.characters", n=len(text)),
        bytes=t("tokens.bytes", n=len(text.encode("utf-8"))),
        tokens=t("axes.pos", n=n_tokens),
    )
    drawn = esc(visible(text[:MOST_CHARACTERS])).replace("·", "<wbr>·")  # a line breaks at a space
    rest = len(text) - MOST_CHARACTERS
    more = tag("span", esc(t("tokens.more", n=rest)), cls="more") if rest > 0 else ""
    body = div("seen", drawn, more) if text else div("seen", esc(t("tokens.text.empty")))
    return body + tag("p", esc(counts), cls="count")


def pieces(t: Text, state: State, split: Sequence[PreSplit], here: int) -> str:
    """The pieces, each a link that opens it below."""
    first = max(0, min(here - MOST_PIECES // 2, len(split) - MOST_PIECES))
    shown_range = range(first, min(first + MOST_PIECES, len(split)))
    parts = []
    if first:
        parts.append(tag("span", esc(t("tokens.more", n=first)), cls="more"))
    for i in shown_range:
        says = t("tokens.pieces.open", piece=shown(split[i].text))
        parts.append(
            tag(
                "a",
                esc(shown(split[i].text)),
                cls="piece here" if i == here else "piece",
                aria_label=says,
                aria_current="true" if i == here else None,
                **state.link(piece=i),
            )
        )
    if rest := len(split) - shown_range.stop:
        parts.append(tag("span", esc(t("tokens.more", n=rest)), cls="more"))
    return div("chips", *parts)


def byte_row(t: Text, piece: PreSplit) -> str:
    """Each character of a piece over the bytes that write it."""
    characters = []
    for character in piece.text[:MOST_PARTS]:
        data = character.encode("utf-8")
        cells = (tag("code", f"{byte:02X}", title=str(byte)) for byte in data)
        says = t("tokens.bytes_of", character=visible(character), n=len(data))
        characters.append(
            tag(
                "span",
                tag("b", esc(visible(character))),
                tag("span", *cells),
                cls="character",
                title=says,
            )
        )
    rest = len(piece.text) - MOST_PARTS
    more = tag("span", esc(t("tokens.more", n=rest)), cls="more") if rest > 0 else ""
    return div("characters", *characters, more)


def first_merges(tokenizer: BytePairTokenizer, piece: PreSplit) -> tuple[PieceMerges, int]:
    """The merges of a piece, or of its first characters if it is endless, and how many those are.

    Ten thousand times the same letter is one piece; nobody follows twenty thousand merges.
    """
    if len(piece.text) <= MOST_CHARACTERS_MERGED:
        return piece.merged, len(piece.text)
    beginning = piece.text[:MOST_CHARACTERS_MERGED].encode("utf-8")
    return tokenizer.explain_piece(beginning), MOST_CHARACTERS_MERGED


def merge_rows(t: Text, merged: PieceMerges, done: int) -> str:
    """The parts after each merge up to number `done`; the last one is marked."""
    rows, first = [], max(0, done - MOST_ROWS)
    if first:
        rows.append(tag("li", esc(t("tokens.merges.earlier", n=first)), cls="more"))
    steps = list(islice(merged.steps(), first, done + 1))
    for number, step in enumerate(steps[: done - first], first):
        says = t(
            "tokens.merges.row",
            left=part_text(step.parts[step.index]),
            right=part_text(step.parts[step.index + 1]),
            result=part_text(step.result),
            rank=step.rank,
        )
        rows.append(_row(t, number, says, step.parts, {step.index, step.index + 1}))
    last = steps[done - first].parts if done < len(merged.merges) else merged.parts
    finished = done == len(merged.merges)
    key = "tokens.merges.done" if finished else "tokens.merges.now"
    rows.append(_row(t, done, t(key, n=len(last)), last, set(), "result" if finished else ""))
    return tag("ol", *rows, cls="merges")


def _row(
    t: Text, number: int, says: str, parts: Sequence[bytes], joining: set[int], cls: str = ""
) -> str:
    low = max(0, min(min(joining, default=0) - MOST_PARTS // 2, len(parts) - MOST_PARTS))
    cells = [
        tag("span", esc(part_text(part)), cls="part joining" if low + i in joining else "part")
        for i, part in enumerate(parts[low : low + MOST_PARTS])
    ]
    hidden = len(parts) - len(cells)
    if hidden:
        cells.append(tag("span", esc(t("tokens.more", n=hidden)), cls="more"))
    return tag("li", div("parts", *cells), tag("span", esc(says), cls="why"), cls=cls or None)


def part_text(data: bytes) -> str:
    """Bytes as text for the eye, in hex where they are part of a character."""
    return shown(readable(data))


def token_list(t: Text, tokenizer: Tokenizer, ids: Sequence[int], cut: int) -> str:
    """Every token with its ID and its bytes; those that the model does not read are pale."""
    rows = []
    for position, token_id in enumerate(ids[:MOST_TOKENS]):
        data = tokenizer.token_bytes(token_id)
        size = tag("span", esc(t("tokens.bytes", n=len(data))), cls="n-bytes")
        cell = chip(readable(data), max(0, position - cut), token_id)
        if meaning := gloss(t, tokenizer.token_text(token_id)):
            size += tag("span", esc(meaning), cls="gloss")
        rows.append(tag("li", cell, size, cls="left-out" if position < cut else None))
    rest = len(ids) - MOST_TOKENS
    if rest > 0:
        rows.append(tag("li", esc(t("tokens.more", n=rest)), cls="more"))
    return tag("ol", *rows, cls="tokenlist")


def split_characters(t: Text, tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The characters that lie in several tokens, with their bytes."""
    spans = [span for span in tokenizer.characters(ids) if len(span.tokens) > 1]
    if not spans:
        return para(t("tokens.split.none"))
    rows = []
    for span in {span.text: span for span in spans}.values():
        parts = [part_text(tokenizer.token_bytes(ids[i])) for i in span.tokens]
        data = " ".join(f"{byte:02X}" for byte in span.text.encode("utf-8"))
        says = t(
            "tokens.split.row",
            character=visible(span.text),
            bytes=data,
            n=len(parts),
            parts=" + ".join(parts),
        )
        rows.append(tag("li", tag("b", esc(visible(span.text)), cls="big"), tag("span", esc(says))))
    rest = len(rows) - MOST_SPLIT
    more = [tag("li", esc(t("tokens.more", n=rest)), cls="more")] if rest > 0 else []
    return para(t("tokens.split.says", n=len(spans))) + tag(
        "ul", *rows[:MOST_SPLIT], *more, cls="split"
    )


def word_list(t: Text, tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The whole of a small vocabulary, with the words that the text uses marked."""
    used = set(ids)
    words = [tokenizer.token_text(token_id) for token_id in range(tokenizer.n_vocab)]
    meanings = [gloss(t, word) for word in words]
    rows = []
    for token_id, (word, meaning) in enumerate(zip(words, meanings, strict=True)):
        mark = t("tokens.words.used") if token_id in used else t("tokens.words.unused")
        rows.append(
            tag(
                "tr",
                tag("th", esc(shown(word)), scope="row"),
                tag("td", esc(meaning)) if any(meanings) else "",
                tag("td", str(token_id)),
                tag("td", esc(mark)),
                cls="here" if token_id in used else None,
            )
        )
    names = ("word", *(("means",) if any(meanings) else ()), "id", "in_text")
    head = tag("tr", *(tag("th", esc(t(f"tokens.words.{name}")), scope="col") for name in names))
    return div("scroll", tag("table", head, *rows, cls="plain"))


def is_byte_pair(tokenizer: Tokenizer) -> bool:
    return isinstance(tokenizer, BytePairTokenizer)


def interesting(split: Sequence[PreSplit]) -> int:
    """The piece to open first: of the first few, the one that is cut into most tokens, then the
    one with most bytes."""
    few = [piece for piece in split[:12] if len(piece.data) <= MOST_PARTS]
    if not few:
        return 0
    return split.index(max(few, key=lambda piece: (len(piece.ids), len(piece.data))))
