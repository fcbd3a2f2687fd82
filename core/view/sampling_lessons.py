"""Pictures that answer a why: one row of logits at three temperatures; a sure and an open place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch

import core
from core.analysis import sampling
from core.generate.sampling import Distribution
from core.models.model import PromptTrace
from core.view.html import bar, chip, div, esc, number, percent, shown, tag
from core.view.look import Look, shortened
from core.view.sampling_pictures import token

TEMPERATURES = (0.5, 1.0, 2.0)
TOKENS = 6  # at each temperature
P = 0.9
SURE = 0.8  # a probability of the likeliest token from which on little is left to draw

_known: WeakKeyDictionary[PromptTrace, dict[tuple[int, ...], list[float]]] = WeakKeyDictionary()


def temperatures(look: Look, logits: torch.Tensor) -> str:
    """The same logits at three temperatures, bars of one scale."""
    found = [core.distribution(logits, value).probs for value in TEMPERATURES]
    ids = sampling.likeliest(logits, TOKENS)
    longest = max(probs[ids].max().item() for probs in found)
    return div(
        "hot-cold",
        *(
            _warm(look, value, ids, probs, longest)
            for value, probs in zip(TEMPERATURES, found, strict=True)
        ),
    )


def _warm(look: Look, value: float, ids: list[int], probs: torch.Tensor, longest: float) -> str:
    shares = probs[ids].tolist()
    rows = [
        tag(
            "li",
            tag("code", esc(token(look, i, 10))),
            bar(share / longest),
            tag("span", esc(percent(share)), cls="value"),
        )
        for i, share in zip(ids, shares, strict=True)
    ]
    others = len(probs) - len(ids)
    if others:
        rest = max(0.0, 1 - sum(shares))
        name = tag("span", esc(look.t("sampling.rest", n=others)), cls="aside")
        rows.append(
            tag(
                "li",
                name,
                bar(min(1.0, rest / longest)),
                tag("span", esc(percent(rest)), cls="value"),
            )
        )
    title = tag("b", esc(f"T = {number(value, 1)}"))
    return div("warmth", title, tag("ol", *rows))


@dataclass(frozen=True)
class Place:
    """One place of the text, cut by top-p and by top-k."""

    pos: int
    top_p: Distribution
    top_k: Distribution


def k_of(look: Look) -> int:
    """The k that is compared with top-p: a usual one, or half of a tiny vocabulary."""
    return min(40, look.trace.model.config.n_vocab // 2)


def open_place(look: Look) -> tuple[int, str, float] | None:
    """The position where the model is least sure, its likeliest token, and how likely that is.

    None where we look there already, or where we look is no surer.
    """
    found = _ends(look)
    if found is None or found[1] == look.token:
        return None
    here, there = (look.trace.top(1, pos)[0] for pos in (look.token, found[1]))
    if not here.prob > SURE > there.prob:
        return None
    return found[1], shown(there.text), there.prob


def places(look: Look) -> tuple[Place, Place] | None:
    """The surest and the most open place among the tokens that are shown; None if there is one."""
    found = _ends(look)
    return found and (_place(look, found[0]), _place(look, found[1]))


def _ends(look: Look) -> tuple[int, int] | None:
    """The positions with the least and the most entropy; None where there are no two."""
    listed = shortened(len(look.trace), look.token)
    rows = tuple(row for row in listed if not isinstance(row, range))
    known = _known.setdefault(look.trace, {})
    if rows not in known:
        known[rows] = _entropies(look.trace, rows)
    found = known[rows]
    if len(rows) < 2 or not all(map(math.isfinite, found)):
        return None
    return rows[found.index(min(found))], rows[found.index(max(found))]


def _entropies(trace: PromptTrace, rows: tuple[int, ...]) -> list[float]:
    """How open each position is, in nats."""
    with torch.inference_mode():
        probs = torch.stack([trace.row("logits", row) for row in rows]).softmax(-1)
        return (-torch.xlogy(probs, probs).sum(-1)).tolist()


def _place(look: Look, pos: int) -> Place:
    logits = look.trace.row("logits", pos)
    k = k_of(look)
    return Place(pos, core.distribution(logits, top_p=P), core.distribution(logits, top_k=k))


def adapts(look: Look, found: tuple[Place, Place]) -> str:
    """Both places beside each other: what stays with top-p, and with top-k."""
    t = look.t
    heads = [t(f"sampling.why_adapts.{key}") for key in ("after", "best", "top_p", "top_k")]
    rows = [tag("tr", *(tag("th", esc(head), scope="col") for head in heads))]
    for place in found:
        first = sampling.likeliest(place.top_p.stages[0].logits, 1)[0]
        prob = place.top_p.stages[0].probs[first].item()
        name = chip(look.trace.tokens[place.pos], place.pos)
        cells = [tag("code", esc(token(look, first))) + " " + esc(percent(prob))]
        cells += [_kept(look, chosen) for chosen in (place.top_p, place.top_k)]
        rows.append(tag("tr", tag("th", name, scope="row"), *(tag("td", cell) for cell in cells)))
    return div("scroll", tag("table", *rows, cls="plain adapts"))


def _kept(look: Look, chosen: Distribution) -> str:
    last = chosen.stages[-1]
    held = look.t("sampling.why_adapts.held", n=last.kept, share=percent(last.held))
    return esc(held)


def outcome(look: Look, found: tuple[Place, Place]) -> tuple[str, dict[str, object]]:
    """What the two cuts do at the two places: the key and the values of a sentence."""
    sure, open_ = found
    by_p, by_k = sure.top_p.stages[-1].kept, sure.top_k.stages[-1].kept
    names = {
        "sure": shown(look.trace.tokens[sure.pos]),
        "open": shown(look.trace.tokens[open_.pos]),
    }
    if by_k <= by_p:
        return "alike", names
    return "outcome", names | {"n": by_k - by_p, "cut": percent(1 - open_.top_k.stages[-1].held)}
