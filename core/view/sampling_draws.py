"""Where a random number falls among the tokens that are left, and what many numbers come to."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from core.analysis import sampling
from core.analysis.sampling import Piece
from core.generate.sampling import Distribution
from core.view.html import div, esc, number, percent, tag
from core.view.look import Look
from core.view.sampling_pictures import token

NARROW = 0.004  # of the line: a token that is narrower is drawn together with its neighbours
ROOM = 0.07  # of the line: from here on a token's text fits on it
SMALL = 0.08  # a token that is narrower is shown enlarged
BESIDE = 1.5  # times the token's width, to either side of it where it is enlarged
EXPECTED = 10  # tokens whose counts are shown


def digits(low: float, number: float, high: float) -> int:
    """How many digits show that low ≤ number < high."""
    for count in range(4, 16):
        ends = [f"{value:.{count}f}" for value in (low, number, high)]
        if ends[1] != ends[2] and (ends[0] != ends[1] or low == number):
            return count
    return 16


def line(look: Look, chosen: Distribution, draw: float, token_id: int) -> str:
    """All tokens that are left on a line from 0 to 1, and where the number falls; then enlarged."""
    low, high = sampling.interval(chosen, token_id)
    whole = _line(look, chosen, (0.0, 1.0), draw, token_id)
    if high - low >= SMALL:
        return whole
    around = BESIDE * (high - low)
    start, end = max(0.0, low - around), min(1.0, high + around)
    places = digits(start, draw, end)
    ends = {"low": f"{start:.{places}f}", "high": f"{end:.{places}f}"}
    enlarged = tag("p", esc(look.t("sampling.draw.enlarged", **ends)), cls="says")
    return whole + enlarged + _line(look, chosen, (start, end), draw, token_id)


def _line(
    look: Look, chosen: Distribution, ends: tuple[float, float], draw: float, token_id: int
) -> str:
    found = sampling.pieces(chosen, *ends, token_id, NARROW)
    width, places = ends[1] - ends[0], digits(ends[0], draw, ends[1])
    drawn = [_piece(look, piece, i, width, token_id) for i, piece in enumerate(found)]
    at = (draw - ends[0]) / width
    label = tag("b", esc(f"{draw:.{places}f}"), style=f"transform:translateX(-{at:.1%})")
    mark = tag("span", label, cls="falls", style=f"left:{at:.4%}")
    marks = (tag("span", f"{end:.{places if end % 1 else 0}f}") for end in ends)
    label = look.t("sampling.draw.line", token=token(look, token_id), n=f"{draw:.{places}f}")
    pieces = div("pieces", *drawn, role="img", aria_label=label)
    return div("draw-line", div("falling", mark), pieces, div("ends", *marks))


def _piece(look: Look, piece: Piece, i: int, width: float, token_id: int) -> str:
    share = (piece.high - piece.low) / width
    style = f"width:{share:.4%}"
    if piece.id is None:
        title = look.t("sampling.draw.many", n=piece.n, share=percent(piece.high - piece.low))
        return tag("i", style=style, cls="many", title=title)
    text = token(look, piece.id)
    title = f"{text}: {percent(piece.high - piece.low)}"
    cls = "here" if piece.id == token_id else "odd" if i % 2 else None
    return tag("i", esc(text) if share >= ROOM else "", style=style, cls=cls, title=title)


def counts(look: Look, chosen: Distribution, numbers: Tensor) -> str:
    """For the likeliest tokens and all others: how often they are expected, and how often drawn."""
    t, n = look.t, len(numbers)
    picked = sampling.picks(chosen, numbers)
    ids = sampling.likeliest(chosen.stages[-1].logits, EXPECTED)
    rows = [(token(look, i), chosen.probs[i].item(), int((picked == i).sum())) for i in ids]
    others = chosen.stages[-1].kept - len(ids)
    if others:
        share = max(0.0, 1 - sum(row[1] for row in rows))
        drawn = int((~torch.isin(picked, torch.tensor(ids))).sum())
        rows.append((t("sampling.rest", n=others), share, drawn))
    longest = max(max(seen, _range(n, share)[1]) for _, share, seen in rows)
    heads = ("token", "picture", "expected", "drawn")
    head = tag(
        "li", *(tag("span", esc(t(f"sampling.many.{key}"))) for key in heads), cls="tally head"
    )
    body = [_count(name, share, seen, n, longest) for name, share, seen in rows]
    inside = sum(_inside(n, share, seen) for _, share, seen in rows)
    says = t("sampling.many.inside", inside=inside, n=len(rows))
    return tag("ol", head, *body, cls="tallies") + tag("p", esc(says), cls="says")


def _count(name: str, share: float, seen: int, n: int, longest: float) -> str:
    low, high = _range(n, share)
    spread = f"left:{low / longest:.3%};width:{max(0.0, high - low) / longest:.3%}"
    picture = (
        tag("i", style=f"width:{seen / longest:.3%}"),
        tag("u", style=spread),
        tag("em", style=f"left:{share * n / longest:.3%}"),
    )
    cells = (
        tag("span", esc(name), cls="name"),
        tag("span", *picture, cls="tally-bar"),
        tag("span", esc(number(share * n, 1)), cls="value"),
        tag("b", esc(f"{seen:,}"), cls="value"),
    )
    return tag("li", *cells, cls="tally" if _inside(n, share, seen) else "tally outside")


def _range(n: int, share: float) -> tuple[float, float]:
    """Two standard deviations of a count around what is expected."""
    spread = 2 * math.sqrt(n * share * max(0.0, 1 - share))
    return max(0.0, n * share - spread), min(float(n), n * share + spread)


def _inside(n: int, share: float, seen: int) -> bool:
    low, high = _range(n, share)
    return low - 1e-6 * n <= seen <= high + 1e-6 * n
