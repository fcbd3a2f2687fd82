"""What is measured. A new row is one more `yield` in `rows`."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import torch

import core
from core.generate.cache import KVCache
from tools.bench import decoding as decode
from tools.bench import peers
from tools.bench.timing import Work

TOKENS = (16, 64, 256)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    what, size: what our engine does, and with how much. at_most: the highest ratio of our time to
    the peer's that we are content with. A row without a peer only shows our time.
    """

    what: str
    ours: Work
    size: str = ""
    peer: str = ""
    theirs: Work | None = None
    at_most: float | None = None


def rows() -> Iterator[Row]:
    """In the order of the table; a row's models are built when it is reached."""
    yield from prompts()
    yield from decoding()
    yield from edits()
    yield from starts()


def prompts() -> Iterator[Row]:
    """A prompt through GPT-2 small."""
    gpt2 = peers.our_gpt2()
    reference = torch.inference_mode()(peers.transformers_gpt2())
    lens = torch.inference_mode()(peers.transformer_lens_gpt2().run_with_cache)
    generator = torch.Generator().manual_seed(0)
    for n in TOKENS:
        ids = torch.randint(gpt2.config.n_vocab, (n,), generator=generator)
        batch, prompt, size = ids.unsqueeze(0), ids.tolist(), f"{n} tokens"
        yield Row(
            what="lazy trace: the next token",
            ours=lambda prompt=prompt: gpt2.trace(prompt).next_probs,
            size=size,
            peer="transformers, plain forward",
            theirs=lambda batch=batch: reference(batch, use_cache=False),
            at_most=1.1,
        )
        captures = (
            ("TransformerLens, run_with_cache", lambda batch=batch: lens(batch), 1.0),
            (
                "transformers, plain forward",
                lambda batch=batch: reference(batch, use_cache=False),
                0.5,
            ),
            (
                "ONNX Runtime, every step an output",
                lambda prompt=prompt: peers.onnx_gpt2(len(prompt))(prompt),
                1.25 if n == 16 else 1.1,
            ),
        )
        for peer, theirs, at_most in captures:
            yield Row(
                what="full capture: every step",
                ours=lambda prompt=prompt: gpt2.trace(prompt).capture(),
                size=size,
                peer=peer,
                theirs=theirs,
                at_most=at_most,
            )


def decoding() -> Iterator[Row]:
    """Token by token: 64 greedy ones after 64, and single steps without choosing anything."""
    gpt2 = peers.our_gpt2()
    generator = torch.Generator().manual_seed(0)
    prompt = torch.randint(gpt2.config.n_vocab, (64,), generator=generator).tolist()
    yield Row(
        what="greedy decoding, cached",
        ours=lambda: decode.cached(gpt2, prompt, 64),
        size="64 after 64",
        peer="transformers, generate",
        theirs=lambda: decode.transformers_greedy(peers.transformers_gpt2(), prompt, 64),
        at_most=1 / 1.8,
    )
    yield Row(
        what="greedy decoding, cached",
        ours=lambda: decode.cached(gpt2, prompt, 64),
        size="64 after 64",
        peer="CTranslate2, float32",
        theirs=lambda: peers.ctranslate2_gpt2()(prompt, 64),
        at_most=1 / 0.8,
    )
    yield Row(
        what="greedy decoding, cached",
        ours=lambda: decode.cached(gpt2, prompt, 16),
        size="16 after 64",
        peer="ours, without the cache",
        theirs=lambda: decode.uncached(gpt2, prompt, 16),
        at_most=1 / 4,
    )
    cache = KVCache(gpt2)
    cache.append(gpt2.trace(prompt))
    yield Row(
        what="decode steps as traces",
        ours=decode.forced(decode.traced, cache, prompt[:16]),
        size="16 after 64",
        peer="the same arithmetic, unrecorded",
        theirs=decode.forced(decode.unrecorded(cache), cache, prompt[:16]),
        at_most=1.05,
    )
    # No decode step can be faster than its weights come from memory.
    read = torch.ones(sum(n.numel() for n in decode.read_in_a_step(gpt2)))
    yield Row(
        what="decode steps as traces",
        ours=decode.forced(decode.traced, cache, prompt[:16]),
        size="16 after 64",
        peer="reading the weights from memory",
        theirs=lambda: [read.sum() for _ in prompt[:16]],
    )


def edits() -> Iterator[Row]:
    """An edit in the last of twelve blocks beside all twelve; the unembedding is in neither.

    The edit is where the last block begins, so that a twelfth is the least that it can cost; at
    most three tenths more are for finding out what has to be computed.
    """
    gpt2 = peers.our_gpt2()
    generator = torch.Generator().manual_seed(0)
    n_layers = gpt2.config.n_layers
    end, place = f"blocks.{n_layers - 1}.resid_out", f"blocks.{n_layers - 1}.resid_in"
    for n in TOKENS:
        ids = torch.randint(gpt2.config.n_vocab, (n,), generator=generator).tolist()
        before = gpt2.trace(ids)
        before.capture()
        values = itertools.count(1)  # another number each time
        yield Row(
            what="edit in the last block",
            ours=lambda before=before, values=values: before.edit(
                {place: {(0, 0): 0.01 * next(values)}}
            )[end],
            size=f"{n} tokens",
            peer="all blocks, lazy trace",
            theirs=lambda ids=ids: gpt2.trace(ids)[end],
            at_most=1.3 / n_layers,
        )


def starts() -> Iterator[Row]:
    """What has to happen before the first prompt."""
    gpt2 = peers.our_gpt2()
    yield Row("a trace before anything is computed", lambda: gpt2.trace([464]))
    for entry in core.models():
        if entry.available:
            yield Row(f"load {entry.key}", lambda key=entry.key: core.load(key))
    yield Row(
        what="import core",
        ours=lambda: python("import core"),
        peer="import torch",
        theirs=lambda: python("import torch"),
    )


def python(code: str) -> None:
    """Run in a fresh interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)
