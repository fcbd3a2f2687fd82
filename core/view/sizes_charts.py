"""How cost grows: with the length of the text and with the number of people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from core import sizes
from core.models.config import Config
from core.sizes import GIB, Machine
from core.view.figures import NEGATIVE, POSITIVE, SHARE
from core.view.texts import Text

POINTS = 60
BATCHES = (1, 4, 16)
COLOURS = (SHARE, POSITIVE, NEGATIVE)


def lengths(longest: int) -> np.ndarray:
    """Some text lengths from 1 token to the longest, evenly spaced."""
    return np.unique(np.linspace(1, longest, POINTS).astype(int))


def cache(t: Text, config: Config, longest: int, precision: str) -> go.Figure:
    """The cache's memory against the length of the text, for one and for several people."""
    x = lengths(longest)
    figure = _empty(t("sizes.chart.tokens"), "GiB")
    for batch, colour in zip(BATCHES, COLOURS, strict=True):
        y = [sizes.cache(config, int(n), batch, precision).value / GIB for n in x]
        _line(figure, x, y, t("sizes.chart.batch", n=batch), colour)
    return figure


def prefill(t: Text, config: Config, longest: int) -> go.Figure:
    """What a prompt costs: what grows with its length, and on it what grows with its square."""
    x = lengths(longest)
    found = [sizes.prefill(config, int(n)) for n in x]
    figure = _empty(t("sizes.chart.tokens"), t("sizes.chart.multiply_adds"))
    for part, colour in (("linear", SHARE), ("quadratic", POSITIVE)):
        y = [getattr(compute, part) for compute in found]
        _line(figure, x, y, t(f"sizes.chart.{part}"), colour, stacked=True)
    return figure


def decode(t: Text, config: Config, longest: int, batch: int, precision: str) -> go.Figure:
    """The bytes that one step of writing moves: the weights, and on them the caches."""
    x = lengths(longest)
    figure = _empty(t("sizes.chart.tokens"), t("sizes.chart.bytes"))
    weights = sizes.weight_bytes(config, precision) / GIB
    _line(figure, x, [weights] * len(x), t("sizes.need.weights"), SHARE, stacked=True)
    y = [sizes.cache(config, int(n), batch, precision).value / GIB for n in x]
    _line(figure, x, y, t("sizes.chart.caches", n=batch), POSITIVE, stacked=True)
    return figure


def bottleneck(
    t: Text, config: Config, n_past: int, machine: Machine, most: int, precision: str
) -> go.Figure:
    """Seconds to compute and to move, for one step, against the number of people."""
    x = lengths(most)
    times = [sizes.decode_time(config, n_past, machine, int(n), precision) for n in x]
    figure = _empty(t("sizes.chart.people"), t("sizes.chart.milliseconds"))
    for part, colour in (("compute", POSITIVE), ("traffic", SHARE)):
        y = [1000 * getattr(time, part) for time in times]
        _line(figure, x, y, t(f"sizes.chart.{part}"), colour)
    return figure


def recall(t: Text, places: Sequence[str], probs: Sequence[float], without: float) -> go.Figure:
    """The probability of the right name by where the fact stands; the line: without the fact."""
    figure = _empty(t("sizes.recall.place"), t("sizes.recall.probability"))
    figure.add_bar(
        x=np.arange(len(places), dtype=np.float32),
        y=np.asarray(probs, np.float32),
        marker_color=SHARE,
        hovertemplate="%{y:.2%}<extra></extra>",
    )
    figure.add_hline(y=without, line={"color": POSITIVE, "dash": "dash"})
    figure.update_xaxes(tickvals=list(range(len(places))), ticktext=list(places))
    return figure.update_yaxes(tickformat=".2%").update_layout(showlegend=False)


def _line(
    figure: go.Figure,
    x: np.ndarray,
    y: Sequence[float],
    name: str,
    colour: str,
    *,
    stacked: bool = False,
) -> None:
    figure.add_scatter(
        x=x.astype(np.float32),
        y=np.asarray(y, np.float64),
        name=name,
        mode="lines",
        line={"color": colour, "width": 2},
        stackgroup="all" if stacked else None,
        hovertemplate=f"%{{x:,}}: %{{y:.4s}}<extra>{name}</extra>",
    )


def _empty(x: str, y: str) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        height=320,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        font={"size": 16},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hovermode="x unified",
    )
    figure.update_xaxes(title=x, rangemode="tozero", automargin=True, fixedrange=True)
    figure.update_yaxes(title=y, rangemode="tozero", automargin=True, fixedrange=True)
    return figure
