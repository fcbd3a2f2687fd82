"""The KV cache on screen: one wide pass and single rows, what is kept, what leaves, who shares."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.generate.cache import FirstPass, KVCache, source
from core.models.model import PromptTrace
from core.view import matrix, scale
from core.view.cut import Cut
from core.view.figures import THUMBNAIL, pooled, signed_picture, token_colour
from core.view.generation_writer import Writer
from core.view.html import div, esc, image, para, shown, tag, tiny
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sketch import block_name

PASSES = 8  # single rows that are drawn: the last ones
GRID = 40  # pairs of keys and values up to which those of all blocks are drawn


def passes(lesson: Lesson, writer: Writer, look: Look, step: PromptTrace) -> None:
    """One picture for each pass: a wide one, then single rows."""
    lesson.part("passes", n=writer.n_first, width=writer.model.config.d_model)
    name = look.stream[-1]
    values, limit = look.values(name), scale.end(look.trace, name)
    n, first = len(values), min(writer.n_first, len(values))
    rows = [_pass(lesson, look, values[:first], limit, 0, n == first)]
    start = max(first, n - PASSES)
    if start > first:
        rows.append(tag("li", esc(lesson.text("passes.more", n=start - first)), cls="more"))
    rows += [_pass(lesson, look, values[i : i + 1], limit, i, i == n - 1) for i in range(start, n)]
    st.html(tag("ol", *rows, cls="passes"))
    key = "passes.decode" if len(step) < len(look.trace) else "passes.prefill"
    lesson.say(key, n=len(step), cls="says outcome")


def _pass(
    lesson: Lesson, look: Look, values: np.ndarray, limit: float, start: int, now: bool
) -> str:
    """The rows of one pass as a picture; `now`: it is the one that was done last."""
    n = len(values)
    token = shown(look.trace.tokens[start], 12)
    label = lesson.text("passes.wide", n=n) if not start else lesson.text("passes.row", token=token)
    says = lesson.text("passes.says_picture", n=n, width=values.shape[1])
    dots = pooled(values.astype(np.float64), tallest=THUMBNAIL)
    picture = image(signed_picture(dots, limit), says, style=f"--rows:{n}")
    edge = f"border-color:{token_colour(start)}" if start else None
    name = tag("span", esc(label), cls="name", style=edge)
    return tag("li", name, picture, cls="pass now" if now else "pass")


def kept(lesson: Lesson, writer: Writer, look: Look, step: PromptTrace) -> None:
    """Keys and values of every block and head, with their bytes; one of them in numbers."""
    cache, config = writer.cache(look.trace), look.trace.model.config
    lesson.part("cache", n=cache.nbytes)
    factors = (config.n_layers, config.n_kv_heads, len(cache), config.d_head)
    names = ("blocks", "heads", "tokens", "width")
    counts = dict(zip(names, factors, strict=True))
    each = look.trace.model.dtype.itemsize
    lesson.say("cache.bytes", **counts, each=each, total=cache.nbytes)
    new = len(step)
    lesson.say("cache.first" if new == len(cache) else "cache.grew", n=len(cache) - new)
    st.html(_all(lesson, look, cache, new))
    _one(lesson, look, new)
    lesson.say("cache.same", gap=tiny(_gap(look, cache)))
    if step.n_past:
        _decoded(lesson, look, step)


def _all(lesson: Lesson, look: Look, cache: KVCache | FirstPass, new: int) -> str:
    """Each head's keys and values as small pictures, in one line for each block."""
    config = look.trace.model.config
    every = config.n_layers * config.n_kv_heads <= GRID
    layers = range(config.n_layers) if every else [look.layer]
    rows = [
        tag(
            "li",
            block_name(look, layer),
            div("kv-pairs", *(_pair(lesson, look, cache, layer, i, new) for i in _heads(look))),
            cls="cache-row",
        )
        for layer in layers
    ]
    rest = config.n_layers - len(layers)
    more = para(lesson.text("cache.others", n=rest), "says") if rest else ""
    legend = div(
        "cache-legend",
        *(
            tag("span", tag("i", cls=cls), esc(lesson.text(f"cache.{cls}")))
            for cls in ("reused", "new")
        ),
    )
    return legend + tag("ol", *rows, cls="caches") + more


def _heads(look: Look) -> range:
    return range(look.trace.model.config.n_kv_heads)


def _pair(
    lesson: Lesson, look: Look, cache: KVCache | FirstPass, layer: int, head: int, new: int
) -> str:
    """K and V of one head: a row for each token, the new ones framed. A link to its numbers."""
    n, config = len(cache), look.trace.model.config
    pictures = []
    for part in "kv":
        name = f"blocks.{layer}.cache.{part}"
        values = cache.held(name)[head].double().cpu().numpy()
        # The cache's names are not in a full trace; its keys and values have the same scale there.
        limit = scale.end(look.trace, f"blocks.{layer}.attn.{part}")
        picture = image(signed_picture(pooled(values, tallest=THUMBNAIL), limit), "")
        frame = tag("i", cls="new-rows", style=f"--from:{(n - new) / n:.3%}")
        pictures.append(div("kept", picture, frame, tag("b", part.upper())))
    each = 2 * n * config.d_head * look.trace.model.dtype.itemsize
    says = lesson.text("cache.pair", block=str(layer), head=str(head), n=n, size=each)
    here = layer == look.layer and head == look.kv_head
    asked = head * config.n_heads // config.n_kv_heads
    label = tag("small", esc(lesson.text("cache.size", n=each, head=str(head))))
    return tag(
        "a",
        div("both", *pictures),
        label,
        cls="kv-pair here" if here else "kv-pair",
        title=says,
        aria_label=says,
        aria_current="true" if here else None,
        **look.state.link(layer=layer, head=asked),
    )


def _one(lesson: Lesson, look: Look, new: int) -> None:
    """The head where we look: the query that leaves, and the keys and values that stay."""
    trace, layer = look.trace, look.layer
    n, turned = len(trace), f"blocks.{layer}.attn.k_rotated" in trace
    ending = "_rotated" if turned else ""
    labels = [_label(lesson, trace, i, i >= n - new) for i in range(n)]
    asking = list(range(n - new, n))
    parts: list[Cut] = [
        matrix.cut(
            trace,
            f"blocks.{layer}.attn.{part}{end}",
            (head, rows, None),
            title=lesson.text(f"cache.{part}"),
            note=lesson.text(f"cache.note.{part}"),
            row_labels=[labels[i] for i in rows or range(n)],
            picks=False,
        )
        for part, end, head, rows in (
            ("q", ending, look.head, asking),
            ("k", ending, look.kv_head, None),
            ("v", "", look.kv_head, None),
        )
    ]
    lesson.say("cache.one", block=str(layer), head=str(look.head), shared=str(look.kv_head))
    lesson.matrices("cache", parts)
    lesson.say("cache.asks", token=shown(trace.tokens[-1]))
    lesson.matrices("row", _attention(lesson, look))


def _attention(lesson: Lesson, look: Look) -> list[Cut]:
    """What the last query does: a score with every key, shares, and what it collects."""
    trace, last = look.trace, [len(look.trace) - 1]
    return [
        matrix.cut(
            trace,
            f"blocks.{look.layer}.attn.{part}",
            (look.head, last, None),
            title=lesson.text(f"cache.{part}"),
            picks=False,
        )
        for part in ("scores", "weights", "heads")
    ]


def _decoded(lesson: Lesson, look: Look, step: PromptTrace) -> None:
    """The decode step as it was computed: one row, whose score with the first key needs the cache.

    The matrices above are those of a full pass, for there every row can be opened.
    """
    lesson.say("cache.decoded")
    heads = {"q": look.head, "k": look.kv_head, "v": look.kv_head}
    parts = ("q", "k", "v", "scores", "weights", "heads")
    names = [f"blocks.{look.layer}.attn.{part}" for part in parts]
    lesson.formula(names, [(heads.get(part, look.head), 0, 0) for part in parts], step)


def _label(lesson: Lesson, trace: PromptTrace, i: int, new: bool) -> str:
    token = shown(trace.tokens[i], 10)
    return lesson.text("cache.new_row", token=token) if new else token


def _gap(look: Look, cache: KVCache | FirstPass) -> float:
    """How far the kept keys and values are from those of a full pass, which may be that pass's."""
    if isinstance(cache, FirstPass):
        return 0.0
    gaps = (
        held.double() - look.trace[source(look.trace, name)].double()
        for name, held in cache.values().items()
    )
    return max(gap.abs().max().item() for gap in gaps)
