"""The activation as a curve and its slope, with one token's own numbers on it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch

from core.analysis import curves
from core.graph import Ref
from core.models.gpt import CURVES
from core.view import elements, matrix
from core.view.arrays import array
from core.view.component import component
from core.view.figures import MASKED, POSITIVE, SHARE, svg, token_colour
from core.view.html import div, esc, image, number, shown, tag
from core.view.look import Look
from core.view.mlp_pictures import before_curve, values_before_curve
from core.view.texts import Text

FEW = 12  # numbers of a token that get a row each in a table
REACH, BEYOND = 3.5, 0.3  # the curve goes so far at least, and so far beyond the token's numbers
FINE, PLACES = 0.02, 500  # between two places of a curve; coarser beyond so many places
LINES = {  # colour, width, dashes
    "gelu_tanh": (SHARE, 4, "none"),
    "gelu": (POSITIVE, 2, "2 4"),
    "relu": (MASKED, 3, "8 5"),
    "silu": (SHARE, 4, "none"),
    "none": (SHARE, 4, "none"),
}


def kinds(activation: str) -> list[str]:
    """The curves that are drawn: the model's own first."""
    others = ("gelu_tanh", "gelu", "relu") if is_gelu(activation) else ("gelu", "relu")
    return list(dict.fromkeys((activation, *others)))


def is_gelu(activation: str) -> bool:
    """Whether the curve is GELU, exact or with tanh: then both are compared."""
    return activation.startswith("gelu")


def draw(look: Look, key: str) -> None:
    """Value above, slope below; a click on one of the token's numbers opens it."""
    component("curve", "curve")(
        key=key, data=content(look), on_open_change=lambda: matrix.open_clicked(key, look.trace)
    )


def after(look: Look) -> str:
    """The step that comes out of the curve."""
    return f"blocks.{look.layer}.mlp.act"


def content(look: Look) -> dict:
    """What the component draws: curves, the token's numbers on the model's own, and texts."""
    t, activation = look.t, look.trace.model.config.activation
    own = np.asarray(values_before_curve(look), np.float64)
    flat = flat_at("silu" if activation == "silu" else "gelu")
    z = _places(min(-REACH, own.min() - BEYOND), max(REACH, own.max() + BEYOND))
    return {
        "z": _sent(z),
        "range": [z[0].item(), z[-1].item()],
        "curves": [_curve(t, kind, z) for kind in kinds(activation)],
        "points": _points(look, activation, torch.tensor(own)),
        "flat": {"z": flat, "text": t("mlp.curve.flat", z=number(flat))},
        "words": _words(look, len(own), CURVES[activation]),
    }


def _places(low: float, high: float) -> torch.Tensor:
    """Even places with 0, where ReLU has its corner, among them."""
    step = FINE * math.ceil((high - low) / (FINE * PLACES))
    return torch.arange(math.floor(low / step), math.ceil(high / step) + 1).double() * step


def _sent(values: torch.Tensor) -> list[float]:
    return array(values).round(6).tolist()


def _curve(t: Text, kind: str, z: torch.Tensor) -> dict:
    found, (colour, width, dash) = curves.curve(kind, z), LINES[kind]
    look = {"name": t(f"mlp.curve.{kind}"), "colour": colour, "width": width, "dash": dash}
    return look | {"value": _sent(found.value), "slope": _sent(found.slope)}


def _points(look: Look, activation: str, own: torch.Tensor) -> dict:
    """The token's numbers on the curve. name: of a number as a link has it, but for its index."""
    found = curves.curve(activation, own)
    places = {"z": own, "value": found.value, "slope": found.slope}
    return {key: _sent(values) for key, values in places.items()} | {
        "colour": token_colour(look.token),
        "many": len(own) > FEW,
        "name": elements.encode((Ref(after(look), (look.token,)),)),
    }


def _words(look: Look, n: int, curve: str) -> dict[str, str]:
    """Texts; in braces what the browser fills in."""
    token = shown(look.trace.tokens[look.token])
    words = {key: look.t(f"mlp.curve.{key}") for key in ("value", "slope", "z")}
    kept = {key: f"{{{key}}}" for key in ("i", "z", "name", "value", "slope")}
    return words | {
        "label": look.t("mlp.curve.label", curve=curve, token=token, n=n),
        "hint": look.t("mlp.curve.hint", token=token),
        "point": look.t("mlp.curve.point", **kept),
        "each": look.t("mlp.curve.each", **kept),
    }


def legend(t: Text, activation: str, token: int, name: str, many: bool) -> str:
    """What the lines and dots are, for a page of any width."""
    items = []
    for kind in kinds(activation):
        colour, width, dash = LINES[kind]
        style = f'stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}"'
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
def flat_at(kind: str) -> float:
    """Where a curve that bends down and up again, GELU or SiLU, is flat."""
    return curves.flat_at(kind)


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
