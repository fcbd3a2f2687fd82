"""Small experiments with the MLP: each token alone, the neurons as a memory, no curve at all."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from core.analysis import mlp
from core.graph import Ref
from core.view import elements, vector
from core.view.cut import Cut, cut, limit_of
from core.view.figures import cell_colour, nice_limit, signed_picture
from core.view.html import (
    bar,
    chip,
    div,
    esc,
    image,
    number,
    para,
    shown,
    signed_legend,
    small_matrix,
    tag,
)
from core.view.look import Look
from core.view.mlp_pictures import steps

BUSIEST = 12  # neurons that are shown of a wide MLP
NEURONS = 5
PROMOTED = 4
OTHER = "other"  # the state: the token whose row is blanked


def cuts(look: Look) -> list[Cut]:
    """Every token's way through the MLP: all of it where it is small, else the busiest neurons."""
    trace, names = look.trace, steps(look)
    told = {name: look.t(f"mlp.matrix.{elements.role(name)}") for name in names[1:]}
    told[names[0]] = look.t("mlp.matrix.reads")
    if trace.model.config.d_mlp > BUSIEST:
        found = mlp.strongest_neurons(trace, look.layer, look.token, BUSIEST)
        busiest = sorted(neuron.index for neuron in found)
        return [cut(trace, name, (None, busiest), title=told[name]) for name in names[1:-1]]
    drawn = [cut(trace, names[0], title=told[names[0]])]
    for name in names[1:]:
        weights = [part for part in trace.step(name).inputs if ".W_" in part]
        drawn += [cut(trace, weight, title=weight.rpartition(".")[2]) for weight in weights]
        drawn.append(cut(trace, name, title=told[name]))
    return drawn


def other_token(look: Look) -> int | None:
    """The token whose row is blanked; None where there is only one."""
    n = len(look.trace)
    if n < 2:
        return None
    usual = look.token - 1 if look.token else 1
    other = look.state.index(OTHER, n, usual)
    return usual if other == look.token else other


def choose_other(look: Look, other: int) -> str:
    """The tokens, of which one is blanked; a click chooses another."""
    chips = [tag("span", esc(look.t("mlp.alone.choose")))]
    for row in look.rows:
        if isinstance(row, range):
            chips.append(look.left_out(len(row)))
        elif row != look.token:
            here = "tok here" if row == other else "tok"
            link = look.state.link(**{OTHER: row})
            current = "true" if row == other else None
            chips.append(
                chip(look.trace.tokens[row], row, row, cls=here, aria_current=current, **link)
            )
    return div("chips", *chips)


def alone(look: Look, other: int) -> str:
    """What the MLP adds to both tokens, before and after one of them is blanked, in words too."""
    found = mlp.alone(look.trace, look.layer, look.token, other)
    out = f"blocks.{look.layer}.mlp.out"
    limit = limit_of(look.trace, out)
    before, after = look.values(out), found.edited[out].cpu().numpy()
    t = look.t
    head = [tag("th", scope="col")]
    titles = [t(f"mlp.alone.{key}") for key in ("before", "after")]
    head += [tag("th", esc(title), scope="col") for title in titles]
    head.append(tag("th", esc(t("mlp.alone.change")), scope="col"))
    rows = []
    for row, change in ((look.token, found.own), (other, found.other)):
        vectors = [
            tag(
                "td", tag("small", esc(title), cls="only-narrow"), vector.plain(look, values, limit)
            )
            for title, values in zip(titles, (before[row], after[row]), strict=True)
        ]
        name = tag("th", chip(look.trace.tokens[row], row, row), scope="row")
        exact = t("mlp.alone.exactly") if change == 0 else number(change, 3)
        rows.append(tag("tr", name, *vectors, tag("td", tag("b", esc(exact)))))
    return tag("table", tag("tr", *head), *rows, cls="plain twice") + _outcome(look, other, found)


def _outcome(look: Look, other: int, found: mlp.Alone) -> str:
    """What did not move, and what does if the same is done before attention."""
    names = {
        "token": shown(look.trace.tokens[look.token]),
        "other": shown(look.trace.tokens[other]),
    }
    key = "mlp.alone.moved" if found.by_attention else "mlp.alone.unmoved"
    moved = look.t(key, **names, moved=number(found.by_attention, 3))
    return para(look.t("mlp.alone.result", **names), "says") + para(moved, "says")


def memory(look: Look) -> str:
    """The neurons that wrote most: when they fire, how strongly, and what they make likelier."""
    found = mlp.strongest_neurons(look.trace, look.layer, look.token, NEURONS)
    step = steps(look)[-2]
    fired = look.values(step)
    limit, longest = limit_of(look.trace, step), found[0].written or 1.0
    rows = [_neuron(look, neuron, step, fired[:, neuron.index], limit, longest) for neuron in found]
    return tag("ol", *rows, cls="neurons")


def _neuron(
    look: Look, neuron: mlp.Neuron, step: str, fired: np.ndarray, limit: float, longest: float
) -> str:
    t = look.t
    ref = Ref(step, (look.token, neuron.index))
    value = number(neuron.activation)
    opened = tag("a", esc(value), cls="opens", **vector.opens(look, ref, value, "memory"))
    title = tag("b", esc(t("mlp.memory.neuron", i=str(neuron.index))))
    length = tag("span", esc(number(neuron.written)), cls="value")
    facts = [
        div("fact", tag("span", esc(t("mlp.memory.fired"))), opened),
        div(
            "fact wide",
            tag("span", esc(t("mlp.memory.wrote"))),
            bar(neuron.written / longest),
            length,
        ),
    ]
    listens = div("fact under", tag("span", esc(t("mlp.memory.when"))), _fired(look, fired, limit))
    return tag(
        "li",
        div("neuron-head", title, *facts),
        listens,
        _tokens(look, "promotes", neuron.promotes),
        _tokens(look, "suppresses", neuron.suppresses),
    )


def _fired(look: Look, fired: np.ndarray, limit: float) -> str:
    """How strongly one neuron fired at each token, those in between left out of a long text."""
    cells = []
    for row in look.rows:
        if isinstance(row, range):
            cells.append(tag("span", "…", cls="gap"))
            continue
        value = float(fired[row])
        style = f"background:{cell_colour(value, limit)}"
        cls = "fired-at here" if row == look.token else "fired-at"
        seen = tag("span", esc(shown(look.trace.tokens[row], 10)))
        cells.append(tag("span", seen, tag("small", number(value)), style=style, cls=cls))
    return div("whens", *cells)


def _tokens(look: Look, key: str, tokens: tuple[tuple[str, float], ...]) -> str:
    if not tokens:
        return ""
    words = [
        tag(
            "span",
            tag("code", esc(shown(text, 14))),
            tag("small", vector.signed(value)),
            cls="effect",
        )
        for text, value in tokens[:PROMOTED]
    ]
    return div("fact under", tag("span", esc(look.t(f"mlp.memory.{key}"))), div("effects", *words))


def one_matrix(look: Look, found: mlp.OneMatrix) -> str:
    """W_1·W_2 as a matrix, and the token's row through both ways and through the real MLP."""
    t, values = look.t, found.matrix.double().cpu().numpy()
    limit = nice_limit(values)
    n = len(values)
    says = t("mlp.one.matrix", n=n)
    if n <= vector.WRITTEN:
        labels = [str(i) for i in range(n)]
        drawn = small_matrix(values.tolist(), labels, limit=limit, caption=says, columns=labels)
    else:
        drawn = image(signed_picture(values, limit), says, cls="square-picture")
    figure = tag("figure", tag("figcaption", tag("b", esc(says))), drawn, signed_legend(limit, ""))
    ways = (("two", found.one_by_one), ("once", found.at_once), ("curve", found.with_curve))
    out = limit_of(look.trace, f"blocks.{look.layer}.mlp.out")
    rows = "".join(_way(look, key, row, out) for key, row in ways)
    return div("one-matrix", figure, div("labelled-rows", rows))


def _way(look: Look, key: str, row: Tensor, limit: float) -> str:
    values = row.double().cpu().numpy()
    return div("labelled", para(look.t(f"mlp.one.{key}")), vector.plain(look, values, limit))
