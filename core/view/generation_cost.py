"""With the cache and without it: the same logits, and what each of the two ways takes."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import plotly.graph_objects as go
import streamlit as st
import torch

from core.generate.cost import needed
from core.graph.op import Cost
from core.models.model import PromptTrace
from core.view.figures import POSITIVE, SHARE
from core.view.generation_writer import Writer
from core.view.html import number, shown, tiny
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sketch import facts

TOP = 5
AHEAD = 32  # tokens that are shown at least, those that were not written yet dashed
WAYS = ("cached", "uncached")
COLOURS = dict(zip(WAYS, (SHARE, POSITIVE), strict=True))
PLOTLY = {"displayModeBar": False}
MARKED = 50  # written tokens up to which each is a dot on the line
COUNTS = {
    "adds": lambda cost: cost.multiply_adds,
    "bytes": lambda cost: cost.bytes_read + cost.bytes_written,
}


def compare(lesson: Lesson, writer: Writer, look: Look, step: PromptTrace) -> None:
    """The logits of both ways, for the tokens that they rank first."""
    lesson.part("compare")
    alone, full = step["logits"][-1], look.trace["logits"][-1]
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
    st.html(facts(heads, rows))
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
    with st.container(key="cost_charts"):
        for kind, column in zip(("step", "sum"), st.columns(2), strict=True):
            with column:
                lesson.say(f"cost.{kind}")
                figure = _chart(lesson, found, done, kind == "sum")
                st.plotly_chart(figure, key=f"generation.{kind}", config=PLOTLY)
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
    return facts(heads, rows)


def _chart(lesson: Lesson, found: dict[str, list[Cost]], done: int, summed: bool) -> go.Figure:
    """Multiply-adds against the number of written tokens; what is not written yet is dotted."""
    figure = go.Figure()
    for way in WAYS:
        values = [cost.multiply_adds for cost in found[way]]
        y = np.asarray(list(accumulate(values)) if summed else values, np.float64)
        x, name = np.arange(len(y), dtype=np.float32), lesson.text(f"cost.{way}")
        for part, dash in ((slice(done, None), "dot"), (slice(0, done + 1), "solid")):
            figure.add_scatter(
                x=x[part],
                y=y[part],
                name=name,
                mode="lines+markers" if dash == "solid" and done < MARKED else "lines",
                line={"color": COLOURS[way], "width": 3 if dash == "solid" else 2, "dash": dash},
                showlegend=dash == "solid",
                hovertemplate=f"%{{x:,}}: %{{y:.4s}}<extra>{name}</extra>",
            )
    figure.update_layout(
        height=320,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        font={"size": 16},
        legend={"orientation": "h", "y": 1.2, "x": 0},
    )
    axis = {"rangemode": "tozero", "automargin": True, "fixedrange": True}
    figure.update_xaxes(title=lesson.text("cost.written"), **axis)
    return figure.update_yaxes(title=lesson.text("cost.axis"), **axis)
