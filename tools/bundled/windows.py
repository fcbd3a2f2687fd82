"""What is held out, and how the windows of one step are cut from the rest."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from bundled import openings
from bundled.text import EOT
from torch import Tensor

HELD_OUT_EVERY = 22  # chapters: about 4.5 % of each source
GOLDEN = (math.sqrt(5) - 1) / 2
Chapters = list[tuple[str, str]]  # (name, text)


def phrases(text: str) -> set[str]:
    """Every run of eight words."""
    words = text.split()
    return {" ".join(words[i : i + 8]) for i in range(len(words) - 7)}


def split(chapters: Chapters) -> tuple[Chapters, Chapters]:
    """Every 22nd chapter is held out, or the next one that has no line we show more often.

    Chapters told twice (2 Samuel 22 is Psalm 18) are passed over too: they would have been read.
    """
    lines = [*openings.FROM_SOURCES, *openings.WRITTEN]
    in_chapters = Counter(phrase for _, text in chapters for phrase in phrases(text))
    train, held, due = [], [], HELD_OUT_EVERY // 2
    for i, (name, text) in enumerate(chapters):
        own = phrases(text)
        told_twice = sum(in_chapters[phrase] > 1 for phrase in own) > 0.1 * len(own)
        if i >= due and not told_twice and not any(line[:40] in text for line in lines):
            held.append((name, text))
            due += HELD_OUT_EVERY
        else:
            train.append((name, text))
    return train, held


@dataclass
class Data:
    """Compact ids: 0 is the most frequent GPT-2 id of the text, len(real) stands for all unseen."""

    stream: np.ndarray  # <|endoftext|> chapter <|endoftext|> chapter ...
    starts: dict[str, np.ndarray]  # kind of beginning -> positions in the stream
    bare: np.ndarray  # compact id -> the same word without its leading space, or -1
    opening_texts: list[np.ndarray]
    real: np.ndarray  # compact id -> GPT-2 id
    compact: np.ndarray  # GPT-2 id -> compact id


def prepare(
    train: Chapters,
    encode: Callable[[str], list[int]],
    decode_token: Callable[[int], bytes],
    n_vocab: int,
) -> Data:
    """Tokens of the training text, where a window may begin, and the well-known lines."""
    text = "\n".join(t for _, t in train)
    texts = list(openings.WRITTEN)
    for line in openings.FROM_SOURCES:
        at = text.find(line)
        if at < 0:
            raise SystemExit(f"not in the sources: {line}")
        passage = text[at : at + 900]
        texts.append(passage)
        texts += [
            new + passage[len(old) :] for new, old in openings.VARIANTS if passage.startswith(old)
        ]
    opening_ids = [encode(t) for t in texts]
    real_stream = np.concatenate([np.array([EOT, *encode(t)]) for _, t in train])
    counts = np.bincount(np.concatenate([real_stream, *opening_ids]), minlength=n_vocab)
    real = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    compact = np.full(n_vocab, len(real))
    compact[real] = np.arange(len(real))

    words = [decode_token(int(i)) for i in real]
    id_of = {w: i for i, w in enumerate(words)}
    bare = np.array([id_of.get(w[1:], -1) if w[:1] == b" " and len(w) > 1 else -1 for w in words])
    stream = compact[real_stream]
    ends = np.array([bool(re.search(rb"[.!?][\"']*$|\n$", w)) for w in words])
    begins = np.array([bool(re.match(rb" ?[\"'A-Z]", w)) for w in words])
    usable = (bare[stream] >= 0) | np.array([w[:1] not in b" \n" for w in words])[stream]
    sentence = np.flatnonzero(ends[stream[:-1]] & begins[stream[1:]] & usable[1:]) + 1
    starts = {
        "sentence": sentence,
        "word": np.flatnonzero(bare[stream] >= 0),
        "chapter": np.flatnonzero(real_stream == EOT),
        "any": np.arange(len(stream)),
    }
    return Data(stream, starts, bare, [compact[np.array(o)] for o in opening_ids], real, compact)


# How windows begin. People type a prompt without anything before it, so most windows begin like
# one: at a sentence or a word, without the leading space it has inside the text.
KINDS = {"sentence": 0.42, "word": 0.15, "any": 0.34, "chapter": 0.04, "opening": 0.05}
LONGEST_OPENING = 255
# While the learning rate falls, the well-known lines come more often and in shorter pieces, so that
# they stick.
KINDS_IN_DECAY = {"sentence": 0.40, "word": 0.14, "any": 0.32, "chapter": 0.04, "opening": 0.10}
LONGEST_OPENING_IN_DECAY = 63


def batch(
    data: Data, step: int, size: int, n_ctx: int, seed: int, decay: bool
) -> tuple[Tensor, Tensor]:
    """Inputs and targets of one step, from its number alone: a resumed run sees the same."""
    rng = np.random.default_rng([seed, step])
    rows = np.empty((size, n_ctx + 1), dtype=np.int64)
    kinds, longest = (
        (KINDS_IN_DECAY, LONGEST_OPENING_IN_DECAY) if decay else (KINDS, LONGEST_OPENING)
    )
    for row, kind in enumerate(rng.choice(list(kinds), size, p=list(kinds.values()))):
        if kind == "opening":
            ids: list[int] = [data.compact[EOT]] if rng.random() < 0.5 else []
            while len(ids) <= n_ctx:
                text = data.opening_texts[rng.integers(len(data.opening_texts))]
                ids += [*text[: rng.integers(24, longest + 1)], data.compact[EOT]]
            rows[row] = ids[: n_ctx + 1]
            continue
        starts = data.starts[kind]
        # Golden-ratio steps visit the text evenly, without epochs to keep track of.
        at = (step * size + row) * GOLDEN % 1.0 * (len(data.stream) - n_ctx - 1)
        at = starts[min(np.searchsorted(starts, at), len(starts) - 1)]
        at = min(at, len(data.stream) - n_ctx - 1)
        rows[row] = data.stream[at : at + n_ctx + 1]
        if kind in ("sentence", "word") and data.bare[rows[row, 0]] >= 0:
            rows[row, 0] = data.bare[rows[row, 0]]
    inputs = rows[:, :-1].copy()
    # Now and then an input is the unseen token, so that the model can live with words it never met.
    inputs[rng.random(inputs.shape) < 0.01] = len(data.real)
    return torch.from_numpy(inputs), torch.from_numpy(rows[:, 1:].copy())
