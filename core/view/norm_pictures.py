"""What is drawn about LayerNorm: a row on its way through it, and along which direction it goes."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from core.analysis import norm
from core.graph import Ref
from core.graph.explain import tens
from core.view import matrix, scale, vector
from core.view.arrays import array
from core.view.cut import Cut
from core.view.figures import cell_colour
from core.view.html import cell, div, esc, ink, number, picks, shown, significant, tag, tiny
from core.view.look import Look
from core.view.marks import marks
from core.view.step_words import step_key
from core.view.stripes import FEW, FEW_TOKENS, WIDE, Row, bars, plain, stack, token

SCALED = {"layer": "(x − μ) / √(σ² + ε)", "rms": "x / √(mean(x²) + ε)"}  # by kind of norm
ROOT = {"layer": "√(σ² + ε)", "rms": "√(mean(x²) + ε)"}  # what is divided by
MOST = 48  # tokens up to which each has its mean and variance
NORM = "norm"  # in the address: which norm is looked at


def norms(look: Look) -> list[str]:
    """The norms that can be looked at from here, those of this block first."""
    places = [f"blocks.{look.layer}.ln_1", f"blocks.{look.layer}.ln_2", "ln_f"]
    return [place for place in places if f"{place}.normed" in look.trace]


def kind(look: Look) -> str:
    """Which norm this model has: layer or rms."""
    return look.trace.model.config.norm


def said(look: Look, key: str) -> str:
    """The key of a text: RMSNorm has its own, which speaks of no mean."""
    return f"{key}_rms" if kind(look) == "rms" else key


def in_steps(look: Look, place: str) -> str:
    """The key of the text about what the norm does; one without β does not shift."""
    plain = place and kind(look) == "layer" and f"{place}.beta" not in look.trace.weights
    return "steps_gamma" if plain else said(look, "steps")


def questions(look: Look, place: str) -> list[str]:
    """What a reader may ask about this norm."""
    if kind(look) == "rms":
        return ["eps_rms", "learned_gamma"]
    shifts = f"{place}.beta" in look.trace.weights
    return ["zero", "biased", "dims", "eps", "learned" if shifts else "learned_gamma"]


def chosen(look: Look) -> str:
    """The norm that is looked at."""
    places = {_short(place): place for place in norms(look)}
    usual = "ln_2" if "ln_2" in places else next(iter(places))
    return places[look.state.choice(NORM, list(places), usual)]


def choice(look: Look, here: str) -> str:
    """The norms as links, one of them chosen; empty if there is no other."""
    places = norms(look)
    options = (
        (look.t(f"norm.which.{_short(place)}"), place == here, look.state.link(norm=_short(place)))
        for place in places
    )
    return picks(look.t("norm.which.label"), options) if len(places) > 1 else ""


def _short(place: str) -> str:
    return place.rpartition(".")[2]


def source(look: Look, place: str) -> str:
    """The step that a norm reads."""
    first = "mean" if f"{place}.mean" in look.trace else "mean_square"
    return look.trace.step(f"{place}.{first}").inputs[0]


def step_by_step(look: Look, place: str) -> str:
    """One row on its way through a norm, with what each step took."""
    t, here = look.t, look.token
    measured, square = _measured(look, place)
    root = (square + look.trace.model.config.norm_eps) ** 0.5
    limit = scale.end(look.trace, f"{place}.out")
    normed = Row(
        SCALED[kind(look)],
        look.values(f"{place}.normed")[here],
        "÷",
        note=esc(f"{ROOT[kind(look)]} = {significant(root)}"),
        says=t("steps.norm.normed.title"),
        marks=marks(look, f"{place}.normed", (here, None)),
    )
    out, changed = look.values(f"{place}.out")[here], marks(look, f"{place}.out", (here, None))
    says = _title(look, f"{place}.out")
    total = Row(esc(t("norm.steps.out")), out, "=", total=True, says=says, marks=changed)
    return stack(t, [*measured, normed, *_learned(look, place), total], limit)


def _measured(look: Look, place: str) -> tuple[list[Row], float]:
    """What is measured of a row, and the mean of the squares."""
    t, trace, here = look.t, look.trace, look.token
    x = look.values(source(look, place))[here]
    changed = marks(look, source(look, place), (here, None))
    read = scale.end(trace, source(look, place))
    if f"{place}.mean" not in trace:
        square = float(look.values(f"{place}.mean_square")[here])
        note = esc(t("norm.steps.square", square=significant(square)))
        end = scale.end(trace, f"{place}.mean_square")
        square_row = Row("x²", x * x, note=note, says="x²", limit=end)
        rows = [Row("x", x, says="x", marks=changed, limit=read), square_row]
        return rows, square
    mean, square = (float(look.values(f"{place}.{key}")[here]) for key in ("mean", "var"))
    away = x.astype(np.float64) - mean
    end = scale.end(trace, f"{place}.var")
    centred = esc(t("norm.steps.centred"))
    variance = esc(t("norm.steps.variance", square=significant(square)))
    rows = [
        Row("x", x, says="x", note=esc(f"μ = {significant(mean)}"), marks=changed, limit=read),
        Row("x − μ", away, "−", note=centred, says="x − μ", limit=read),
        Row("(x − μ)²", away * away, note=variance, says="(x − μ)²", limit=end),
    ]
    return rows, square


def _learned(look: Look, place: str) -> list[Row]:
    """γ and, where there is one, β."""
    weights = look.trace.weights
    rows = []
    for sign, key, letter in (("×", "gamma", "γ"), ("+", "beta", "β")):
        if (value := weights.get(f"{place}.{key}")) is not None:
            note = esc(look.t(f"norm.steps.{key}"))
            changed = marks(look, f"{place}.{key}", (None,))
            values = array(value)
            rows.append(Row(letter, values, sign, note=note, says=letter, marks=changed))
    return rows


def learned(look: Look, place: str) -> list[Cut]:
    """γ and β as matrices of one row, in which they can be changed."""
    keys = [key for key in ("gamma", "beta") if f"{place}.{key}" in look.trace.weights]
    options = [
        {"title": look.t(f"opened.role.norm.{key}.short"), "note": look.t(f"norm.steps.{key}")}
        for key in keys
    ]
    return [
        matrix.cut(look.trace, f"{place}.{key}", **option)
        for key, option in zip(keys, options, strict=True)
    ]


def boards(look: Look, place: str) -> list[list[Cut]]:
    """What the norm computes for all tokens: in one line if there is room, else in several.

    Of a long text `each_token` draws what is one number each.
    """
    wide = look.trace.model.config.d_model > WIDE
    one_each = [] if _is_long(look) else [_cut(look, name) for name in measures(look, place)]
    rows = [_cut(look, f"{place}.{key}") for key in ("normed", "out")]
    return [one_each, rows] if wide and one_each else [one_each + rows]


def _is_long(look: Look) -> bool:
    return len(look.trace) > FEW_TOKENS


def measures(look: Look, place: str) -> list[str]:
    """The steps that are one number for each token."""
    names = (f"{place}.{key}" for key in ("mean", "var", "mean_square"))
    return [name for name in names if name in look.trace]


def _cut(look: Look, name: str) -> Cut:
    return matrix.cut(look.trace, name, title=_title(look, name))


def _title(look: Look, name: str) -> str:
    role = look.trace.step(name).role
    return look.t(f"{step_key(look.trace.model.config, role)}.title")


def each_token(look: Look, place: str) -> str:
    """Of a long text, what is one number for each token; each can be opened. Else empty."""
    names = measures(look, place) if _is_long(look) else []
    legends = scale.apart(look.t, [scale.end(look.trace, name) for name in names]) if names else []
    return "".join(
        div("labelled", tag("b", esc(_title(look, name))), _measured_of_each(look, name), legend)
        for name, legend in zip(names, legends, strict=True)
    )


def _measured_of_each(look: Look, name: str) -> str:
    """The tokens with their numbers; of very many those in between can be opened."""
    values, changed = look.values(name), marks(look, name, (None,))
    limit, cells = scale.end(look.trace, name), []
    for row in range(len(values)) if len(values) <= MOST else look.rows("each"):
        if isinstance(row, range):
            cells.append(look.gap("each", row))
            continue
        value = float(values[row])
        text = significant(value)
        link = vector.opens(look, Ref(name, (row,)), text, "each")
        here = "here" if row == look.token else None
        cls = " ".join(filter(None, ("fired-at", here, ink(value, limit))))
        inner = tag("span", esc(shown(look.trace.tokens[row], 10))) + tag("small", text)
        style = f"background:{cell_colour(value, limit)}"
        cells.append(cell("a", inner, changed.was(row), cls=cls, style=style, **link))
    return div("whens", *cells)


def steps(look: Look, place: str) -> list[str]:
    """The steps of a norm, in order."""
    return [name for name in look.trace.steps if name.startswith(f"{place}.")]


def directions(look: Look, place: str) -> str:
    """What the norm takes along each row, which is done, and down each column, which is not."""
    t, name = look.t, source(look, place)
    x = look.trace[name]
    taken = _taken(look, x, "features")
    values, changed = look.values(name), marks(look, name, (None, None))
    limit = scale.end(look.trace, name)
    lines = [
        tag("tr", tag("td", look.gap("along", i), colspan=2 + len(taken)))
        if isinstance(i, range)
        else tag(
            "tr",
            tag("th", token(look, i), scope="row"),
            tag("td", bars(values[i], limit, plain(look, i), found=changed.part(i)), cls="wide"),
            *(tag("td", esc(significant(values[i].item()))) for values in taken.values()),
        )
        for i in look.rows("along")
    ]
    head = ("token", "row", *taken)
    top = tag("tr", *(tag("th", esc(t(f"norm.along.{key}")), scope="col") for key in head))
    table = tag("table", top, *lines, *_down(look, x, limit), cls="followed along")
    return div("scroll", table) + scale.legend(t, ("", limit))


def _taken(look: Look, x: Tensor, over: str) -> dict[str, Tensor]:
    """What this model's norm measures, by the key of its text; over: see `norm.spread`."""
    if kind(look) == "rms":
        return {"rms": norm.root_mean_square(x, over)}
    return dict(zip(("mean", "std"), norm.spread(x, over), strict=True))


def _down(look: Look, x: Tensor, limit: float) -> list[str]:
    """The rows beneath: what a norm down the columns would take."""
    found = {f"column_{key}": values for key, values in _taken(look, x, "tokens").items()}
    return [
        tag(
            "tr",
            tag("th", esc(look.t(f"norm.along.{key}")), scope="row"),
            tag("td", bars(array(values), limit, look.t(f"norm.along.{key}")), cls="wide"),
            tag("td", esc(look.t("norm.along.not_done")), colspan=len(found)),
            cls="not-done",
        )
        for key, values in found.items()
    ]


def facts(look: Look, place: str) -> dict[str, object]:
    """Numbers for the questions about this row."""
    x, normed = (look.trace[name][look.token] for name in (source(look, place), f"{place}.normed"))
    after = norm.after(normed)
    _, std = norm.spread(x[None])
    gamma = look.trace.weights[f"{place}.gamma"]
    return {
        "mean": tiny(after.mean),
        "std": f"{after.std:.6f}",
        "biased": significant(std[0].item()),
        "unbiased": significant(norm.unbiased(x)),
        "n": len(x),
        "before": number(len(x) - 1, 0),
        "eps": tens(f"{look.trace.model.config.norm_eps:g}"),
        "low": number(gamma.min().item()),
        "high": number(gamma.max().item()),
    }


def order(look: Look, place: str) -> str:
    """Whether the row's numbers are in the same order before and after."""
    x, normed = (look.trace[name][look.token] for name in (source(look, place), f"{place}.normed"))
    kept = norm.same_order(x, normed)
    if len(x) > FEW:
        key = "norm.order.all" if kept else "norm.order.changed"
        return look.t(key, n=len(x), formula=SCALED[kind(look)])
    rank = x.argsort().tolist()
    before, behind = (" < ".join(number(row[i].item()) for i in rank) for row in (x, normed))
    return look.t(
        "norm.order.few" if kept else "norm.order.changed", before=before, after=behind, n=len(x)
    )
