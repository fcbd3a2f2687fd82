"""The pictures of the Position page: rows of places, the text in two orders, the table's end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from core.analysis import position as analysis
from core.models.model import PromptTrace
from core.view import matrix, scale
from core.view.cut import Cut
from core.view.html import chip, div, esc, percent, shown, tag, tiny
from core.view.look import Look
from core.view.sketch import facts, row_of_values

SMALL = 12  # places of a table that is shown whole
AROUND = 2


@lru_cache(maxsize=4)  # no weak keys: the result holds the trace itself
def reordered(trace: PromptTrace) -> analysis.Reordered | None:
    """The text in another order, with and without positions; worked out once."""
    return analysis.reordered(trace)


def places(look: Look, title: str, note: str = "") -> Cut:
    """W_P, or the part of it around the place where we look, which has an arrow."""
    n_ctx = look.trace.model.config.n_ctx
    first = 0 if n_ctx <= SMALL else max(0, min(look.token - AROUND, n_ctx - 2 * AROUND - 1))
    rows = list(range(n_ctx) if n_ctx <= SMALL else range(first, first + 2 * AROUND + 1))
    labels = [f"{'▶ ' if row == look.token else ''}{row}" for row in rows]
    index = (rows, None)
    return matrix.cut(look.trace, "embed.W_P", index, title=title, note=note, row_labels=labels)


def two_orders(look: Look, test: analysis.Reordered) -> str:
    """What the last token takes in: two texts, without positions and with them."""
    t, step = look.t, "blocks.0.attn.out"
    traces = [trace for kind in (False, True) for trace in test.pair(kind)]
    rows = [trace[step][-1].double().cpu().numpy() for trace in traces]
    limit = scale.end(look.trace, step)
    cells = [
        row_of_values(row, limit, t("position.order.took", token=shown(look.trace.tokens[-1])))
        + _next(look, trace)
        for row, trace in zip(rows, traces, strict=True)
    ]
    first, second = _text(look, range(len(look.trace))), _text(look, test.order)
    ways = [t(f"position.order.{key}") for key in ("without", "with")]
    head = tag("tr", tag("td", cls="corner"), *(tag("th", esc(w), scope="col") for w in ways))
    lines = [_order(text, ways, cells[i::2]) for i, text in enumerate((first, second))]
    differences = (test.row_difference(step, len(look.trace) - 1, kind) for kind in (False, True))
    largest = [tag("b", esc(tiny(value))) for value in differences]
    last = _order(esc(t("position.order.difference")), ways, largest)
    return div("scroll", tag("table", head, *lines, last, cls="orders")) + scale.legend(
        t, ("", limit)
    )


def _order(name: str, ways: Sequence[str], cells: Sequence[str]) -> str:
    """A row; on a phone its cells stand below each other, so each says which way it is."""
    row = (tag("td", cell, data_head=way) for way, cell in zip(ways, cells, strict=True))
    return tag("tr", tag("th", name, scope="row"), *row)


def _next(look: Look, trace: PromptTrace) -> str:
    best = trace.top(1)[0]
    says = look.t("position.order.next", token=shown(best.text), share=percent(best.prob))
    return tag("small", esc(says))


def _text(look: Look, order: Sequence[int]) -> str:
    chips = [
        look.gap("orders", row)
        if isinstance(row, range)
        else chip(look.trace.tokens[order[row]], order[row], None)
        for row in look.rows("orders")
    ]
    return div("chips", *chips)


def moved_rows(look: Look, test: analysis.Reordered) -> str:
    """For each token that moved: how much its row differs, without positions and with them."""
    moved = [i for i in range(len(look.trace)) if test.order.index(i) != i]
    here = moved.index(look.token) if look.token in moved else 0
    heads = [look.t(f"position.rows.{key}") for key in ("token", "moved", "without", "with")]
    rows = [
        look.gap("moved", row) if isinstance(row, range) else _moved(look, test, moved[row])
        for row in look.rows("moved", len(moved), here)
    ]
    return facts(heads, rows, "plain stacked")


def _moved(look: Look, test: analysis.Reordered, i: int) -> list[str]:
    """The row of a token: which it is, where it went, and how much its numbers differ."""
    differ = (tiny(test.row_difference("embed.sum", i, kind)) for kind in (False, True))
    return [shown(look.trace.tokens[i]), f"{i} → {test.order.index(i)}", *differ]


def depth(look: Look, test: analysis.Reordered) -> list[tuple[int, float]]:
    """How much the order changes the last token without positions, after each block."""
    last = len(look.trace) - 1
    return [
        (block, test.row_difference(f"blocks.{block}.resid_out", last, False))
        for block in range(look.n_layers)
    ]


def room(look: Look) -> str:
    """How much of the table of places this text uses."""
    n, n_ctx = len(look.trace), look.trace.model.config.n_ctx
    says = look.t("position.limit.used", n=n, ctx=n_ctx)
    bar = div(
        "whole", tag("span", style=f"width:{100 * n / n_ctx:.2f}%"), role="img", aria_label=says
    )
    return bar + tag("p", esc(says))


def too_long(look: Look, beyond: int = 3) -> dict[str, int]:
    """What happens to the text, repeated until it is too long."""
    model, ids = look.trace.model, look.trace.ids
    wanted = model.config.n_ctx + beyond
    kept, cut = model.fit((ids * (wanted // len(ids) + 1))[:wanted])
    return {"n": wanted, "kept": len(kept), "cut": cut}
