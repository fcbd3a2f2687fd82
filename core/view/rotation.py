"""Rotary positions drawn: pairs of a query and a key, their angles, before and after."""

from __future__ import annotations

import math

import torch

from core.graph import Ref
from core.graph.ops import Rotate
from core.view import vector
from core.view.figures import MASKED, TOKEN_COLOURS
from core.view.html import div, esc, number, tag
from core.view.look import Look
from core.view.sketch import arrow
from core.view.texts import Text

SHOWN = 4  # pairs, from the one that turns fastest to the slowest
APART = 12  # degrees between two arrows from which on both have room for their names
AT = "turn"  # the key of the picture; see `Lesson.pictures`
COLOURS = {"q": TOKEN_COLOURS[0], "k": TOKEN_COLOURS[4]}


def turns(look: Look) -> bool:
    """Whether this model turns its queries and keys."""
    return look.n_layers > 0 and look.trace.model.config.position == "rotary"


def steps(look: Look) -> list[str]:
    """Queries and keys of the block where we look, before they are turned and after."""
    return [f"blocks.{look.layer}.attn.{name}" for name in ("q", "q_rotated", "k", "k_rotated")]


def place(look: Look) -> int:
    """Where in the text the token stands at which we look."""
    return int(look.trace["tokens.positions"][look.token])


def radians(look: Look) -> list[float]:
    """By how much each pair is turned at the place where we look."""
    trace = look.trace
    op: Rotate = trace.step(steps(look)[1]).op
    angles = op.angles(trace[steps(look)[0]], trace["tokens.positions"])
    return angles[look.token].tolist()


def rates(look: Look) -> list[float]:
    """By how much each pair is turned for each place, in radians."""
    trace = look.trace
    op: Rotate = trace.step(steps(look)[1]).op
    query = trace[steps(look)[0]]
    return op.angles(query, torch.ones(1, device=query.device))[0].tolist()


def words(look: Look) -> dict[str, object]:
    """What the texts say about the turning: how far the first and the last pair turn per place."""
    config = look.trace.model.config
    first, second = pair(look, 0)
    per_place = [math.degrees(rate) for rate in rates(look)]
    return {
        "place": str(place(look)),
        "pairs": config.d_head // 2,
        "first": str(first),
        "second": str(second),
        "fast": number(per_place[0], 1),
        "slow": f"{per_place[-1]:.2g}",
        "base": f"{config.rotary_base:,.0f}",
    }


def pair(look: Look, nth: int) -> tuple[int, int]:
    """Which two numbers of a head are its nth pair."""
    op: Rotate = look.trace.step(steps(look)[1]).op
    return op.pair(nth, look.trace.model.config.d_head)


def shown(n: int) -> list[int]:
    """Of n pairs those that are drawn."""
    if n <= SHOWN:
        return list(range(n))
    return [round(i * (n - 1) / (SHOWN - 1)) for i in range(SHOWN)]


def clocks(look: Look, letter: str, head: int) -> str:
    """Some pairs of one query or key as arrows, before and after; their numbers can be opened.

    letter: q or k. head: of the query heads, or of those for keys.
    """
    angles = radians(look)
    faces = (_face(look, letter, head, i, angles[i]) for i in shown(len(angles)))
    return div("clocks", *faces)


def _face(look: Look, letter: str, head: int, nth: int, angle: float) -> str:
    t, columns = look.t, pair(look, nth)
    names = [f"blocks.{look.layer}.attn.{letter}{kind}" for kind in ("", "_rotated")]
    ends = [[look.values(name)[head, look.token, i].item() for i in columns] for name in names]
    longest = max(math.hypot(*end) for end in ends) or 1.0
    apart = APART <= math.degrees(angle) % 360 <= 360 - APART
    drawn = zip(
        ends, (letter if apart else "", f"{letter}′"), (MASKED, COLOURS[letter]), strict=True
    )
    arrows = [
        arrow(100 * math.hypot(x, y) / longest, math.degrees(math.atan2(y, x)), name, colour)
        for (x, y), name, colour in drawn
    ]
    says = t("rotation.pair", first=str(columns[0]), second=str(columns[1]))
    turned = by(t, angle)
    face = div("clock", *arrows, role="img", aria_label=f"{says}: {turned}")
    before, after = (
        _numbers(look, name, head, columns, end) for name, end in zip(names, ends, strict=True)
    )
    caption = tag(
        "figcaption", esc(says), tag("b", esc(f" {turned}")), div("turned", before, after)
    )
    return tag("figure", face, caption)


def by(t: Text, angle: float) -> str:
    """An angle in words: what is left of it after whole turns, and how many these are."""
    whole, rest = divmod(math.degrees(angle), 360)
    degrees = f"{rest:.1f}°" if rest >= 0.1 or not rest else f"{rest:.2g}°"
    return t("rotation.whole", n=int(whole), rest=degrees) if whole else degrees


def _numbers(look: Look, name: str, head: int, columns: tuple[int, int], end: list[float]) -> str:
    """Both numbers of a pair as links that open them."""
    links = []
    for column, value in zip(columns, end, strict=True):
        ref = Ref(name, (head, look.token, column))
        links.append(tag("a", esc(number(value)), **vector.opens(look, ref, number(value), AT)))
    return tag("span", "(", ", ".join(links), ")")
