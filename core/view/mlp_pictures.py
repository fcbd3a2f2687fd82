"""The MLP of one token as an hourglass: what it reads, expanded, bent by the curve, contracted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from core.analysis import mlp
from core.models.config import Config
from core.models.gpt import CURVES
from core.models.published import GPT3
from core.view import scale, vector
from core.view.cut import Cut, cut
from core.view.html import div, esc, para, tag
from core.view.look import Look

NARROWEST = 22  # per cent of the picture's width, so that a short vector can still be read


def steps(look: Look) -> list[str]:
    """The steps of the MLP in the block where we look, with what it reads."""
    at = f"blocks.{look.layer}.mlp"
    inner = ("gate", "up", "act", "product") if look.trace.model.config.gated else ("hidden", "act")
    return [mlp.mlp_input(look.trace, look.layer), *(f"{at}.{name}" for name in inner), f"{at}.out"]


def said(look: Look, key: str) -> str:
    """The key of a text: an MLP with a gate has its own."""
    return f"{key}_gated" if look.trace.model.config.gated else key


def before_curve(look: Look) -> str:
    """The step whose numbers go through the curve."""
    return steps(look)[1]


def values_before_curve(look: Look) -> list[float]:
    """Those numbers for the token where we look."""
    return look.values(before_curve(look))[look.token].tolist()


def glass(look: Look) -> str:
    """The hourglass of the token where we look; its numbers can be opened."""
    names = steps(look)
    ends = {name: scale.end(look.trace, name) for name in names}
    config = look.trace.model.config
    share = max(NARROWEST, 100 * config.d_model / config.d_mlp)
    keys = {name: name.rpartition(".")[2] for name in names} | {names[0]: "reads"}
    legends = dict(zip(names, scale.apart(look.t, list(ends.values())), strict=True))
    parts = [_vector(look, names[0], ends[names[0]], share, "reads", legends[names[0]])]
    for before, name in pairwise(names):
        width = share if name == names[-1] else 100.0
        parts.append(_between(look, before, name, share))
        parts.append(_vector(look, name, ends[name], width, keys[name], legends[name]))
    hint = "hint" if config.d_mlp <= vector.WRITTEN else "hint_many"
    return div("glass", *parts) + para(look.t(f"vector.{hint}"), "says")


def _vector(look: Look, name: str, limit: float, share: float, key: str, legend: str) -> str:
    size = look.trace.shape(name)[-1]
    label = tag("b", esc(look.t(f"mlp.glass.{key}"))), tag("span", esc(look.t("mlp.size", n=size)))
    row = vector.row(look, name, look.token, limit, "glass")
    return div(
        "level",
        div("name", *label),
        div("line", row, style=f"width:{min(share, 100):.2f}%"),
        legend,
    )


def learned(look: Look) -> list[Cut]:
    """Its matrices and biases in the order in which they are used; a bias is one row."""
    trace = look.trace
    names = [part for name in steps(look)[1:] for part in trace.step(name).inputs]
    return [
        cut(trace, name, title=name.rpartition(".")[2]) for name in names if name in trace.weights
    ]


def _between(look: Look, before: str, name: str, share: float) -> str:
    """What leads from one level to the next: a matrix that widens or narrows, or the curve."""
    trace, kind = look.trace, name.rpartition(".")[2]
    weights = [part for part in trace.step(name).inputs if part in trace.weights]
    if not weights:
        key = said(look, "curve_between") if kind == "act" else "gate_between"
        curve = CURVES[trace.model.config.activation]
        return div("between", tag("span", esc(look.t(f"mlp.glass.{key}", curve=curve))))
    rows, columns = trace.shape(weights[0])
    symbols = [part.rpartition(".")[2] for part in weights]
    written = " + ".join([f"× {symbols[0]}", *symbols[1:]])
    text = look.t("mlp.glass.matrix", symbol=written, rows=rows, columns=columns)
    edge = (100 - min(share, 100)) / 2
    cls = "between narrows" if kind == "out" else "between widens"
    return div(cls, tag("span", esc(text)), style=f"--edge:{edge:.2f}%")


def sizes(look: Look) -> str:
    """How many learned numbers the MLP has beside attention: here and in GPT-3."""
    t = look.t
    keys = ("model", "widths", "mlp", "attention", "ratio")
    heads = [t(f"mlp.size_part.{key}") for key in keys]
    told = ("", "", _names(look, "mlp"), _names(look, "attn"), "")
    named = zip(heads, told, strict=True)
    head = tag("tr", *(tag("th", esc(name), more, scope="col") for name, more in named))
    models = {"here": look.trace.model.config, "gpt3": GPT3}
    rows = (_size_row(heads, t(f"mlp.size_part.{key}"), one) for key, one in models.items())
    return div("scroll", tag("table", head, *rows, cls="plain figures stacked"))


def _names(look: Look, part: str) -> str:
    """The names of a part's matrices in one block."""
    used = (name for step in look.trace.steps for name in look.trace.step(step).inputs)
    names = [name.rpartition(".")[2] for name in used if f"blocks.0.{part}.W" in name]
    return " " + tag("small", esc(" ".join(names)))


def _size_row(heads: Sequence[str], name: str, config: Config) -> str:
    size = mlp.block_size(config)
    widths = f"{config.d_model:,} → {config.d_mlp:,} → {config.d_model:,}"
    factor = f"(× {config.d_mlp / config.d_model:.3g})"
    ratio = f"{size.mlp / size.attention:.3g} : 1"
    wide = tag("span", esc(widths), " ", tag("small", esc(factor)))
    cells = (wide, f"{size.mlp:,}", f"{size.attention:,}", ratio)
    row = (tag("td", c, data_head=head) for head, c in zip(heads[1:], cells, strict=True))
    return tag("tr", tag("th", esc(name), scope="row"), *row)


def gpt3_mlp() -> int:
    """The numbers in the matrices of one GPT-3 MLP."""
    return mlp.block_size(GPT3).mlp
