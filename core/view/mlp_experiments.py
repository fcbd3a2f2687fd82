"""Small experiments with the MLP: each token alone, the neurons as a memory."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from core.analysis import mlp
from core.graph import Ref
from core.models.model import PromptTrace
from core.view import elements, interventions, scale, vector
from core.view.arrays import array
from core.view.cut import Cut, cut
from core.view.figures import cell_colour
from core.view.html import (
    bar,
    cell,
    chip,
    div,
    esc,
    ink,
    number,
    para,
    shown,
    tag,
)
from core.view.look import Look
from core.view.marks import was
from core.view.mlp_pictures import steps

FEW = 12  # neurons up to which the weights stand beside what they make
NEURONS = 5
PROMOTED = 4
OTHER = "other"  # the state: the token whose row is blanked

_known: WeakKeyDictionary[PromptTrace, dict[tuple[int, ...], mlp.Alone]] = WeakKeyDictionary()


def cuts(look: Look) -> list[Cut]:
    """Every token's way through the MLP; its weights as well where they have room beside it."""
    trace, names = look.trace, steps(look)
    told = {name: look.t(f"mlp.matrix.{elements.role(name)}") for name in names[1:]}
    told[names[0]] = look.t("mlp.matrix.reads")
    if trace.model.config.d_mlp > FEW:
        return [cut(trace, name, title=told[name]) for name in names]
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
    for row in look.rows("other"):
        if isinstance(row, range):
            chips.append(look.gap("other", row))
        elif row != look.token:
            here = "tok here" if row == other else "tok"
            link = look.state.link(**{OTHER: row})
            current = "true" if row == other else None
            chips.append(
                chip(look.trace.tokens[row], row, row, cls=here, aria_current=current, **link)
            )
    return div("chips", *chips)


def _alone(trace: PromptTrace, *at: int) -> mlp.Alone:
    """What `mlp.alone` finds, which runs a block anew; kept for a trace."""
    known = _known.setdefault(trace, {})
    if at not in known:
        known[at] = mlp.alone(trace, *at)
    return known[at]


def alone(look: Look, other: int) -> str:
    """What the MLP adds to both tokens, before and after one of them is blanked, in words too."""
    found = _alone(look.trace, look.layer, look.token, other)
    limit = scale.end(look.trace, f"blocks.{look.layer}.mlp.out")
    ours, others = zip(array(found.before), array(found.after), strict=True)
    t = look.t
    head = [tag("th", scope="col")]
    titles = [t(f"mlp.alone.{key}") for key in ("before", "after")]
    head += [tag("th", esc(title), scope="col") for title in titles]
    moved = t("mlp.alone.change")
    head.append(tag("th", esc(moved), scope="col"))
    rows = []
    for row, change, both in ((look.token, found.own, ours), (other, found.other, others)):
        vectors = [
            tag(
                "td", tag("small", esc(title), cls="only-narrow"), vector.plain(look, values, limit)
            )
            for title, values in zip(titles, both, strict=True)
        ]
        name = tag("th", chip(look.trace.tokens[row], row, row), scope="row")
        exact = t("mlp.alone.exactly") if change == 0 else number(change, 3)
        rows.append(tag("tr", name, *vectors, tag("td", tag("b", esc(exact)), data_head=moved)))
    table = tag("table", tag("tr", *head), *rows, cls="plain twice")
    return table + scale.legend(t, ("", limit)) + _outcome(look, other, found)


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
    limit, longest = scale.end(look.trace, step), found[0].written or 1.0
    rows = [_neuron(look, neuron, step, fired[:, neuron.index], limit, longest) for neuron in found]
    return tag("ol", *rows, cls="neurons") + scale.legend(look.t, ("", limit))


def _neuron(
    look: Look, neuron: mlp.Neuron, step: str, fired: np.ndarray, limit: float, longest: float
) -> str:
    t = look.t
    ref = Ref(step, (look.token, neuron.index))
    value = number(neuron.activation)
    link = vector.opens(look, ref, value, "memory")
    opened = cell("a", esc(value), was(look, ref), cls="opens", **link)
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
    off = interventions.link(look, interventions.neuron(look.trace, look.layer, neuron.index))
    listens = div("fact under", tag("span", esc(t("mlp.memory.when"))), _fired(look, fired, limit))
    return tag(
        "li",
        div("neuron-head", title, *facts, off),
        listens,
        _tokens(look, "promotes", neuron.promotes),
        _tokens(look, "suppresses", neuron.suppresses),
    )


def _fired(look: Look, fired: np.ndarray, limit: float) -> str:
    """How strongly one neuron fired at each token; of a long text those between can be opened."""
    cells = []
    for row in look.rows("fired"):
        if isinstance(row, range):
            cells.append(look.gap("fired", row))
            continue
        value = float(fired[row])
        style = f"background:{cell_colour(value, limit)}"
        here = "here" if row == look.token else None
        cls = " ".join(filter(None, ("fired-at", here, ink(value, limit))))
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
