"""Ways of saying where a token stands, drawn: curves of numbers, places compared, turning pairs."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from core.analysis import position as analysis
from core.view import scale
from core.view.arrays import array
from core.view.figures import TOKEN_COLOURS, pooled, signed_picture, svg
from core.view.html import div, esc, image, number, signed_legend, small_matrix, tag, tiny
from core.view.look import Look
from core.view.sketch import arrow

SHIFTS = DISTANCES = 4
CLOCKS = 4
MOST_PLACES = 512  # that are compared with each other; beyond, only as far as the text is long
HEIGHT, WIDTH = 60, 400  # of a curve's own coordinates
MIDDLE = (
    f'<path d="M0 {HEIGHT / 2}H{WIDTH}" stroke="#8b95a1" stroke-width="1" opacity="0.5" '
    'vector-effect="non-scaling-stroke"/>'
)


def tables(look: Look) -> dict[str, Tensor]:
    """For each way of saying where a token stands, a row of numbers for each place.

    Of a long context the places around the one where we look are left, up to MOST_PLACES, from 0.
    """
    trace = look.trace
    config = trace.model.config
    n = min(config.n_ctx, max(MOST_PLACES, look.token + 1))
    found = {"sinusoidal": analysis.sinusoids(n, config.d_model + config.d_model % 2)}
    if "embed.W_P" in trace.weights:
        found = {"learned": trace.weights["embed.W_P"][:n]} | found
    if config.position == "rotary" and config.n_layers:
        query = _adjacent(look, trace["blocks.0.attn.q"][look.head, look.token])
        turned = analysis.turned(query, n, config.rotary_base, config.rotary_stretch)
        found = {"turned": turned} | found
    return found


def columns(d_model: int) -> list[int]:
    """Numbers of a place's row whose curves are drawn: quick ones, then slower ones."""
    if d_model < 16:
        return list(range(min(d_model, 3)))
    return [0, d_model // 16 * 2, d_model // 8 * 2, d_model // 4 * 2]


def curves(look: Look, tables: dict[str, Tensor]) -> str:
    """How single numbers run from place to place, one table beside the other."""
    blocks = (_curves(look, name, table) for name, table in tables.items())
    return div("two", *blocks)


def _curves(look: Look, name: str, table: Tensor) -> str:
    t, n = look.t, len(table)
    lines = []
    for nth, column in enumerate(columns(table.shape[1])):
        values = table[:, column].double().cpu().numpy()
        ends = {"low": number(values.min()), "high": number(values.max())}
        says = t("position.curves.says", i=str(column), **ends)
        mark = tag("i", style=f"left:{100 * look.token / max(n - 1, 1):.2f}%")
        drawn = div("curve", image(_curve(values, TOKEN_COLOURS[nth]), says), mark)
        label = tag("span", esc(t("position.curves.number", i=str(column))))
        lines += [label, drawn, tag("span", esc(number(values[look.token])), cls="value")]
    ends = div("ends", tag("span", "0"), tag("span", esc(str(n - 1))))
    here = tag("span", esc(t("position.curves.here", i=str(look.token))), cls="value")
    foot = [tag("span", esc(t("position.curves.place"))), ends, here]
    title = tag("h4", esc(t(f"position.tables.{name}", width=table.shape[1])))
    return tag("section", title, div("curves", *lines, *foot))


def _curve(values: np.ndarray, colour: str) -> str:
    top = float(np.abs(values).max()) or 1.0
    step = WIDTH / max(len(values) - 1, 1)
    points = " ".join(
        f"{i * step:.1f},{HEIGHT / 2 * (1 - 0.92 * value / top):.1f}"
        for i, value in enumerate(values)
    )
    line = (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5" '
        'vector-effect="non-scaling-stroke"/>'
    )
    return svg(WIDTH, HEIGHT, [MIDDLE, line])


def alike(look: Look, tables: dict[str, Tensor]) -> str:
    """How alike every two places are, as one picture for each table."""
    blocks = []
    for name, table in tables.items():
        cosines = array(analysis.similarity(table))
        n = len(cosines)
        says = look.t("position.alike.picture", n=n)
        mark = div("mark", style=f"top:{100 * look.token / n:.3f}%;height:{max(100 / n, 0.8):.3f}%")
        picture = div("pixels", image(signed_picture(pooled(cosines), 1.0), says), mark)
        title = tag("h4", esc(look.t(f"position.tables.{name}", width=table.shape[1])))
        ends = div("ends", tag("span", "0"), tag("span", esc(str(n - 1))))
        said = tag("p", esc(_most_alike(look, cosines)))
        blocks.append(tag("section", title, div("alike", picture, ends), said))
    return div("two", *blocks) + signed_legend(1.0, look.t("position.alike.scale"))


def _most_alike(look: Look, cosines: np.ndarray) -> str:
    """The place most like the one where we look, and one far away."""
    row, here, n = cosines[look.token].copy(), look.token, len(cosines)
    far = n - 1 if here < n / 2 else 0
    row[here] = -2.0
    best = int(row.argmax())
    return look.t(
        "position.alike.says",
        here=str(here),
        best=str(best),
        cos=number(row[best]),
        far=str(far),
        far_cos=number(cosines[here, far]),
    )


def vectors(look: Look) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A query and a key of the first block: at each place, and turned as rotary would turn them.

    At each place: with the rows that the model adds; sine and cosine, if it adds none.
    """
    trace = look.trace
    config = trace.model.config
    n = SHIFTS + DISTANCES - 1
    ids = trace.ids[look.token], trace.ids[0]
    places = min(n, config.n_ctx)
    adds = config.position in ("learned", "sinusoidal")
    adding = trace if adds else trace.switch(position="sinusoidal")
    q, k = analysis.query_and_key(adding, *ids, look.head, places)
    bare = trace.switch(position="none")
    pairs = (_adjacent(look, rows[0]) for rows in analysis.query_and_key(bare, *ids, look.head, 1))
    how = config.rotary_base, config.rotary_stretch
    q_turned, k_turned = (analysis.turned(row, n, *how) for row in pairs)
    return q, k, q_turned, k_turned


def _adjacent(look: Look, row: Tensor) -> Tensor:
    """A query or key whose pairs stand beside each other, however the model has them."""
    config = look.trace.model.config
    if config.position != "rotary" or config.rotary_layout == "interleaved":
        return row
    return torch.stack(row.chunk(2), dim=-1).flatten()


def distances(look: Look, q: Tensor, k: Tensor, key: str) -> str:
    """Dot products: one row for each shift of both tokens, one column for each distance."""
    t = look.t
    shifts, distances = min(SHIFTS, len(q) // 2), min(DISTANCES, len(q) - len(q) // 2 + 1)
    values = array(analysis.by_distance(q, k, shifts, distances))
    labels, heads = [f"+{i}" for i in range(shifts)], [str(i) for i in range(distances)]
    caption = t(f"position.tables.{key}")
    limit = scale.end(look.trace, "blocks.0.attn.scores")
    table = small_matrix(
        values.tolist(), labels, limit=limit, caption=caption, columns=heads, digits=3
    ) + scale.legend(t, ("", limit))
    spread = float((values.max(axis=0) - values.min(axis=0)).max())
    says = tag(
        "p", esc(t("position.distance.spread")), " ", tag("b", esc(tiny(spread))), cls="result"
    )
    axes = tag("small", esc(t("position.distance.axes")))
    return tag("section", tag("h4", esc(caption)), axes, table, says)


def clocks(look: Look, q: Tensor, k: Tensor) -> str:
    """The first pair of query and key as arrows, both moved on: the angle between them stays."""
    t, found = look.t, []
    longest = max(q[0, :2].norm().item(), k[0, :2].norm().item()) or 1.0
    for shift in range(CLOCKS):
        arrows = [
            _hand(rows[place, :2], longest, name, TOKEN_COLOURS[colour])
            for rows, place, name, colour in ((q, shift + 1, "q", 0), (k, shift, "k", 4))
        ]
        between = _between(q[shift + 1, :2], k[shift, :2])
        says = t("position.clocks.says", query=str(shift + 1), target=str(shift))
        face = div("clock", *arrows, role="img", aria_label=f"{says}: {between:.1f}°")
        caption = tag("figcaption", esc(says), tag("b", esc(f"{between:.1f}°")))
        found.append(tag("figure", face, caption))
    return div("clocks", *found)


def _hand(pair: Tensor, longest: float, name: str, colour: str) -> str:
    x, y = pair.tolist()
    return arrow(100 * math.hypot(x, y) / longest, math.degrees(math.atan2(y, x)), name, colour)


def _between(a: Tensor, b: Tensor) -> float:
    """The angle between two pairs, in degrees."""
    cos = torch.nn.functional.cosine_similarity(a, b, dim=0).item()
    return math.degrees(math.acos(max(-1.0, min(1.0, cos))))
