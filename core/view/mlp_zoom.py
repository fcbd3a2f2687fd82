"""GELU and its stand-in near the place where they differ most, to be zoomed and dragged.

plotly takes its time to be imported and to draw, so nothing here runs before somebody asks.
"""

from __future__ import annotations

import numpy as np
import streamlit as st
import torch

from core.analysis import curves
from core.view.arrays import array
from core.view.mlp_curve import LINES, tanh_gap
from core.view.texts import Text

KINDS = ("gelu_tanh", "gelu")
AROUND = 0.25  # how far to either side the chart begins
DASHES = {"none": "solid", "2 4": "dot", "8 5": "dash"}


def draw(t: Text) -> None:
    """The chart."""
    chart = {"displaylogo": False, "scrollZoom": True}
    st.plotly_chart(figure(t), key="mlp.zoom.chart", config=chart)


def figure(t: Text):
    """The two curves over a long way; what is seen at first is where they lie apart."""
    import plotly.graph_objects as go

    z, middle = curves.places(step=0.01), tanh_gap().z
    seen = (z >= middle - AROUND) & (z <= middle + AROUND)
    drawn, heights = go.Figure(), []
    for kind in KINDS:
        value = curves.curve(kind, z).value
        heights.append(value[seen])
        colour, width, dash = LINES[kind]
        drawn.add_scatter(
            x=array(z).astype(np.float32),
            y=array(value).astype(np.float32),
            mode="lines",
            line={"color": colour, "width": width, "dash": DASHES[dash]},
            name=t(f"mlp.curve.{kind}"),
            hovertemplate="%{y:.5f}",
        )
    heights = torch.cat(heights)
    low, high = heights.min().item(), heights.max().item()
    axis = {"tickfont": {"size": 16}, "zeroline": True}
    drawn.update_layout(
        height=420,
        margin={"l": 64, "r": 12, "t": 8, "b": 52},
        legend={"orientation": "h", "y": 1.12, "font": {"size": 16}},
        hovermode="x unified",
        hoverlabel={"font": {"size": 16}},
        dragmode="pan",
        xaxis=axis | {"range": [middle - AROUND, middle + AROUND], "title": t("mlp.curve.z")},
        yaxis=axis | {"range": [low, high]},
    )
    return drawn
