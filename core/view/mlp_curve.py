"""The activation as a curve and its slope, with one token's own numbers on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots

from core.analysis import curves
from core.models.gpt import CURVES
from core.view.figures import MASKED, POSITIVE, SHARE, svg, token_colour
from core.view.html import div, esc, image, number, tag
from core.view.look import Look
from core.view.mlp_pictures import before_curve, values_before_curve
from core.view.texts import Text

FEW = 12  # numbers of a token that get a row each in a table
REACH = 3.5
HEIGHT = 560
LINES = {  # colour, width, dash
    "gelu_tanh": (SHARE, 4, "solid"),
    "gelu": (POSITIVE, 2, "dot"),
    "relu": (MASKED, 3, "dash"),
    "silu": (SHARE, 4, "solid"),
}


def kinds(activation: str) -> list[str]:
    """The curves that are drawn: the model's own first."""
    return list(dict.fromkeys((activation, "gelu_tanh", "gelu", "relu")))


def figure(t: Text, activation: str, values: Sequence[float], token: int, name: str) -> go.Figure:
    """Value above, slope below; dots for this token's numbers on the model's own curve."""
    own = np.asarray(values, np.float64)
    low, high = min(-REACH, own.min() - 0.3), max(REACH, own.max() + 0.3)
    titles = (t("mlp.curve.value"), t("mlp.curve.slope"))
    drawn = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.11, subplot_titles=titles)
    for kind in kinds(activation):
        _line(drawn, t, kind, low, high)
    at = curves.curve(activation, torch.tensor(own))
    many = len(own) > FEW
    dots = {"color": token_colour(token), "size": 13, "line": {"color": "white", "width": 1.5}}
    if many:  # a tick each, so that one sees where they crowd
        dots = {"symbol": "line-ns", "size": 12, "opacity": 0.45}
        dots["line"] = {"color": token_colour(token), "width": 1.2}
    for row, height in ((1, at.value), (2, at.slope)):
        drawn.add_scatter(
            x=own.astype(np.float32),
            y=height.numpy().astype(np.float32),
            mode="markers",
            marker=dots,
            name=esc(t("mlp.curve.dots", token=name)),
            hovertemplate="z = %{x:.2f}<br>%{y:.3f}<extra></extra>",
            row=row,
            col=1,
        )
    return _laid_out(drawn, low, high, t)


def _line(drawn: go.Figure, t: Text, kind: str, low: float, high: float) -> None:
    found = curves.curve(kind, curves.places(low, high, 0.02))
    colour, width, dash = LINES[kind]
    for row, height in ((1, found.value), (2, found.slope)):
        drawn.add_scatter(
            x=found.z.numpy().astype(np.float32),
            y=height.numpy().astype(np.float32),
            mode="lines",
            line={"color": colour, "width": width, "dash": dash},
            name=t(f"mlp.curve.{kind}"),
            hovertemplate="z = %{x:.2f}<br>%{y:.3f}",
            row=row,
            col=1,
        )


def _laid_out(drawn: go.Figure, low: float, high: float, t: Text) -> go.Figure:
    drawn.update_layout(
        height=HEIGHT,
        margin={"l": 48, "r": 12, "t": 34, "b": 56},
        showlegend=False,
        hoverlabel={"font": {"size": 16}},
    )
    drawn.update_annotations(font_size=17, x=0, xanchor="left")
    drawn.update_xaxes(range=[low, high], tickfont_size=16, zeroline=True, fixedrange=True)
    drawn.update_yaxes(tickfont_size=16, zeroline=True, fixedrange=True)
    drawn.update_xaxes(title={"text": t("mlp.curve.z"), "font": {"size": 16}}, row=2, col=1)
    flat = flat_at()
    drawn.add_scatter(
        x=[flat],
        y=[0.0],
        mode="markers+text",
        marker={"symbol": "diamond-open", "size": 13, "color": SHARE, "line": {"width": 3}},
        text=[t("mlp.curve.flat", z=number(flat))],
        textposition="top left",
        textfont={"size": 16},
        hoverinfo="skip",
        row=2,
        col=1,
    )
    return drawn


def legend(t: Text, activation: str, token: int, name: str, many: bool) -> str:
    """What the lines and dots are, for a page of any width."""
    dashes = {"solid": "none", "dot": "2 4", "dash": "8 5"}
    items = []
    for kind in kinds(activation):
        colour, width, dash = LINES[kind]
        style = f'stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes[dash]}"'
        line = f'<line x1="0" y1="8" x2="40" y2="8" {style}/>'
        items.append((line, t(f"mlp.curve.{kind}")))
    colour = token_colour(token)
    mark = f'<circle cx="20" cy="8" r="6" fill="{colour}"/>'
    if many:
        ticks = (f"M{x},1 V15" for x in (12, 18, 21, 28))
        mark = f'<path d="{" ".join(ticks)}" stroke="{colour}" stroke-width="1.5"/>'
    items.append((mark, t("mlp.curve.dots", token=name)))
    marks = (tag("span", image(svg(40, 16, [mark]), ""), esc(text)) for mark, text in items)
    return div("curve-legend", *marks)


@cache
def flat_at() -> float:
    """Where GELU is flat."""
    return curves.flat_at("gelu")


@cache
def tanh_gap() -> curves.Gap:
    """Where GELU and the tanh that stands in for it differ most."""
    return curves.largest_gap("gelu", "gelu_tanh")


def table(look: Look) -> str:
    """Each of a few numbers under the model's curve and under ReLU, with the slopes."""
    values = values_before_curve(look)
    t, activation = look.t, look.trace.model.config.activation
    z = torch.tensor(values, dtype=torch.float64)
    own, relu = curves.curve(activation, z), curves.curve("relu", z)
    name = CURVES[activation]
    heads = [t("mlp.table.neuron"), t("mlp.table.z")]
    for curve in (name, "ReLU"):
        heads += [t("mlp.table.value", curve=curve), t("mlp.table.slope")]
    labels = [tag("th", esc(head), scope="col") for head in heads]
    columns = [z, own.value, own.slope, relu.value, relu.slope]
    rows = []
    for i in range(len(values)):
        cells = [tag("td", number(column[i].item())) for column in columns]
        dead = "dead" if values[i] < 0 else None
        rows.append(tag("tr", tag("th", str(i), scope="row"), *cells, cls=dead))
    return div("scroll", tag("table", tag("tr", *labels), *rows, cls="plain figures"))


def silenced(look: Look) -> dict[str, int]:
    """How many of the token's numbers a ReLU would silence; how many for every token alike."""
    below = look.values(before_curve(look)) < 0
    return {
        "total": below.shape[1],
        "negative": int(below[look.token].sum()),
        "always": int(below.all(axis=0).sum()),
    }
