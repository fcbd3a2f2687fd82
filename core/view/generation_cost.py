"""With the cache and without it: the same logits, and what each of the two ways takes."""

from __future__ import annotations

from itertools import accumulate

import streamlit as st
import torch

from core.generate.cost import needed
from core.graph.op import Cost
from core.models.model import PromptTrace
from core.view.figures import POSITIVE, SHARE, svg
from core.view.generation_writer import Writer
from core.view.html import div, esc, image, number, para, shown, tag, tiny
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sizes_tables import short
from core.view.sketch import facts

TOP = 5
AHEAD = 32  # tokens that are shown at least, those that were not written yet dashed
WAYS = ("cached", "uncached")
COLOURS = dict(zip(WAYS, (SHARE, POSITIVE), strict=True))
INKS = {
    "cached": "light-dark(#1c6a9c,#6cb8e6)",
    "uncached": "light-dark(#a34a00,#f0a35e)",
}  # of text in these colours
WIDTH, HEIGHT = 600, 260
COUNTS = {
    "adds": lambda cost: cost.multiply_adds,
    "bytes": lambda cost: cost.bytes_read + cost.bytes_written,
}


def compare(lesson: Lesson, writer: Writer, look: Look, step: PromptTrace) -> None:
    """The logits of both ways, for the tokens that they rank first."""
    lesson.part("compare")
    alone, full = step.row("logits"), look.trace.row("logits")
    gap = (alone.double() - full.double()).abs()
    heads = [lesson.text(f"compare.{key}") for key in ("token", *WAYS, "gap")]
    rows = [
        [
            shown(candidate.text, 16),
            number(alone[candidate.id].item(), 4),
            number(full[candidate.id].item(), 4),
            tiny(gap[candidate.id].item()),
        ]
        for candidate in step.top(TOP)
    ]
    st.html(facts(heads, rows, "plain stacked"))
    largest = gap[torch.isfinite(gap)]
    most = largest.max().item() if len(largest) else 0.0
    same = step is look.trace
    key = "compare.first" if same else "compare.exact" if most == 0 else "compare.close"
    lesson.say(key, gap=tiny(most), n=len(alone), cls="says outcome")


def costs(lesson: Lesson, writer: Writer) -> None:
    """Operations and bytes of this step and of all so far, as a table and as two charts."""
    lesson.part("cost")
    done, ahead = writer.depth, max(AHEAD, writer.depth)
    found = {way: steps(writer, way, ahead) for way in WAYS}
    done = min(done, len(found["cached"]) - 1)
    st.html(_table(lesson, found, done))
    charts = (_chart(lesson, found, done, kind) for kind in ("step", "sum"))
    st.html(div("cost-charts", *charts))
    lesson.say("cost.counted")


def steps(writer: Writer, way: str, n: int) -> list[Cost]:
    """What each of the first `n` steps takes, and the pass over the text before them."""
    config, dtype, n_ctx = writer.model.config, writer.model.dtype, writer.n_ctx
    found = []
    for length in range(len(writer.prompt), len(writer.prompt) + n + 1):
        if length > n_ctx and writer.limit == "stop":
            break
        single = way == "cached" and found and length <= n_ctx
        read = (1, length - 1) if single else (min(length, n_ctx), 0)
        found.append(needed(config, *read, dtype))
    return found


def _table(lesson: Lesson, found: dict[str, list[Cost]], done: int) -> str:
    """Multiply-adds and bytes of the last step, and of all until now."""
    heads = [lesson.text(f"cost.{key}") for key in ("what", *WAYS, "times")]
    rows = []
    for what, count in COUNTS.items():
        for key, start in (("last", done), ("all", 0)):
            sums = [sum(map(count, found[way][start : done + 1])) for way in WAYS]
            times = lesson.text("cost.factor", n=f"{sums[1] / sums[0]:.1f}")
            label = lesson.text(f"cost.{what}.{key}", n=done)
            rows.append([label, *(f"{value:,}" for value in sums), times])
    return facts(heads, rows, "plain stacked")


def _chart(lesson: Lesson, found: dict[str, list[Cost]], done: int, kind: str) -> str:
    """Multiply-adds against the number of written tokens; what is not written yet is dotted."""
    curves = {way: [cost.multiply_adds for cost in found[way]] for way in WAYS}
    if kind == "sum":
        curves = {way: list(accumulate(values)) for way, values in curves.items()}
    top = max(map(max, curves.values()))
    last = len(curves["cached"]) - 1
    shapes, labels = [], []
    for way, values in curves.items():
        points = [
            f"{WIDTH * i / max(last, 1):.1f},{HEIGHT * (1 - value / top):.1f}"
            for i, value in enumerate(values)
        ]
        shapes += [_line(points[: done + 1], way, "0"), _line(points[done:], way, "2 7")]
        x, y = points[done].split(",")
        shapes.append(_line([f"{x},{y}", f"{x},{y}"], way, "0", 11))
        says = f"{lesson.text(f'cost.{way}')}: {short(values[-1])}"
        style = f"bottom:calc({values[-1] / top:.3f} * 14rem);color:{INKS[way]}"
        labels.append(tag("b", esc(says), style=style))
    says = f"{lesson.text('cost.axis')}. {lesson.text(f'cost.{kind}')}"
    picture = image(svg(WIDTH, HEIGHT, shapes), says)
    ends = div("ends", *(tag("span", esc(str(end))) for end in (0, last)))
    caption = tag("figcaption", esc(lesson.text(f"cost.{kind}")))
    axis = para(lesson.text("cost.written"), "axis")
    plot = div("plot", tag("small", esc(lesson.text("cost.axis"))), div("lines", picture, *labels))
    return tag("figure", caption, plot, ends, axis, cls="cost-chart")


def _line(points: list[str], way: str, dash: str, width: int = 3) -> str:
    return (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{COLOURS[way]}" '
        f'stroke-width="{width}" stroke-dasharray="{dash}" stroke-linecap="round" '
        'vector-effect="non-scaling-stroke"/>'
    )
