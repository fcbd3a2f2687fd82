"""Rows of numbers under each other: a few as cells with numbers, many as a picture of thin bars.

What is added, multiplied or put side by side on the pages is drawn as such rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.view import scale
from core.view.figures import (
    cell_colour,
    colour_picture,
    pooled,
    signed_picture,
)
from core.view.html import cell, chip, div, esc, image, ink, number, shown, tag
from core.view.look import Look
from core.view.marks import Marks, beside
from core.view.texts import Text

FEW = 8  # numbers up to which each has a cell of its own
FEW_TOKENS = 8  # tokens up to which several matrices have room beside each other
WIDE = 24  # numbers per row beyond which matrices take the room of a whole screen


@dataclass(frozen=True)
class Row:
    """One row of a stack. sign: what is done with it (+, =, ×). label, note: HTML at its sides.

    values: None leaves the row to its label and note. before: what it was made from, drawn before
    it. total: whether it is what comes out. says: what it is, for somebody who does not see it.
    limit: the end of its scale, if that is not the stack's. marks: what of the values changed;
    before_marks: what of those before them.
    """

    label: str
    values: np.ndarray | None
    sign: str = ""
    note: str = ""
    total: bool = False
    says: str = ""
    before: np.ndarray | None = None
    limit: float | None = None
    marks: Marks | None = None
    before_marks: Marks | None = None


Part = tuple[str, str]  # of a row: what it is called, and its colour


def stack(
    t: Text,
    rows: Sequence[Row],
    limit: float,
    parts: Sequence[Part] = (),
    heads: Sequence[str] = (),
) -> str:
    """Rows under each other, with the legend of each scale that occurs.

    parts: as in `bars`, for the totals. heads: what stands above label, before, values and note.
    """
    kinds = {
        "made": any(row.before is not None for row in rows),
        "noted": any(row.note for row in rows),
    }
    cls = " ".join(["stack", *(kind for kind, on in kinds.items() if on)])
    rows = [replace(row, limit=row.limit or limit) for row in rows]
    drawn = (_stacked(row, parts if row.total else (), heads[1:3], **kinds) for row in rows)
    top = div("stack-row top", tag("span"), *(tag("span", esc(head)) for head in heads))
    return div(cls, top if heads else "", *drawn) + scale.legend(
        t, *((row.says, row.limit) for row in rows)
    )


def _stacked(row: Row, parts: Sequence[Part], names: Sequence[str], made: bool, noted: bool) -> str:
    """names: what stands above `before` and `values`; said again where they are not in columns."""
    names = ("", "") if row.total or not names else names
    before, values = (
        "" if array is None else _head(name) + bars(array, row.limit, row.says, parts, found)
        for name, array, found in zip(
            names,
            (row.before, row.values),
            (row.before_marks, row.marks),
            strict=True,
        )
    )
    return div(
        "stack-row total" if row.total else "stack-row",
        tag("span", esc(row.sign), cls="sign"),
        tag("span", row.label, cls="label"),
        tag("span", before, cls="before") if made else "",
        tag("span", values, cls="values"),
        tag("span", row.note, cls="note") if noted else "",
    )


def _head(name: str) -> str:
    return tag("small", esc(name), cls="only-narrow") if name else ""


def bars(
    values: np.ndarray,
    limit: float,
    says: str = "",
    parts: Sequence[Part] = (),
    found: Marks | None = None,
) -> str:
    """One row of numbers. says: what it is; parts: equal parts of it, set apart and named.

    found: which of the numbers changed.
    """
    values = np.asarray(values, np.float64)
    draw = _cells if len(values) <= FEW else _picture
    if not parts:
        return div("bars-row", draw(values, limit, says, found))
    size = len(values) // len(parts)
    pieces = [slice(i * size, (i + 1) * size) for i in range(len(parts))]
    named = (
        div(
            "part-of",
            draw(values[piece], limit, f"{says} {name}", found and found.part(piece)),
            tag("small", esc(name)),
            style=f"border-color:{colour}",
        )
        for piece, (name, colour) in zip(pieces, parts, strict=True)
    )
    return div("bars-row", *named)


def _cells(values: np.ndarray, limit: float, says: str, found: Marks | None) -> str:
    cells = (
        cell(
            "span",
            esc(number(value)),
            found.was(i) if found else "",
            style=f"background:{cell_colour(value, limit)}",
            cls=ink(value, limit),
        )
        for i, value in enumerate(values.tolist())
    )
    return div("cells", *cells, role="group", aria_label=says or None)


def _picture(values: np.ndarray, limit: float, says: str, found: Marks | None) -> str:
    ends = f"{number(float(values.min()))} … {number(float(values.max()))}"
    some = found.some() if found else ""
    title = f"{ends}, {some}" if some else ends
    alt = f"{says} ({len(values)}: {title})".strip()
    cls = "thin changed" if some else "thin"
    return image(signed_picture(values[None], limit), alt, cls=cls, title=title)


def columns_by_part(
    values: np.ndarray,
    limit: float,
    parts: Sequence[Part],
    says: str,
    links: Sequence[dict[str, object]],
) -> str:
    """A matrix whose columns belong to parts that are named and coloured above them.

    links: the attributes of a link for each name.
    """
    width = values.shape[1] // len(parts)
    heads = (
        tag(
            "th",
            tag("a", esc(name), **link),
            colspan=width,
            scope="colgroup",
            style=f"--part:{colour}",
        )
        for (name, colour), link in zip(parts, links, strict=True)
    )
    caption = tag("caption", esc(says), cls="unseen")
    if values.shape[1] > FEW or len(values) > FEW:
        height = f"height:{min(max(10 * len(values), 40), 300)}px"
        drawn = image(signed_picture(pooled(values), limit), says, cls="large", style=height)
        body = tag("tr", tag("td", drawn, colspan=values.shape[1]))
    else:
        body = "".join(_signed_line(row, limit) for row in values.tolist())
    table = tag("table", caption, tag("tr", *heads, cls="part-names"), body, cls="matrix by-part")
    return div("scroll", table)


def _signed_line(row: Sequence[float], limit: float) -> str:
    cells = (
        tag("td", esc(number(v)), style=f"background:{cell_colour(v, limit)}", cls=ink(v, limit))
        for v in row
    )
    return tag("tr", *cells)


def token(look: Look, position: int) -> str:
    """A token in its colour."""
    return chip(look.trace.tokens[position], position, cls="tok mini")


def plain(look: Look, position: int) -> str:
    """A token's text for use within a sentence."""
    return shown(look.trace.tokens[position])


def framed(look: Look, source: str, says: str, rows: int, found: Marks | None = None) -> str:
    """A picture of tokens by tokens, with their colours, and the row where we look marked.

    found: what changed; a line along the side marks those rows.
    """
    some, changed = (found.some(), beside(found.rows())) if found else ("", "")
    side = image(colour_picture(rows, across=False), "", cls="side")
    top = image(colour_picture(rows, across=True), "", cls="top")
    mark = div("mark", style=f"top:{100 * look.token / rows:.3f}%;height:{100 / rows:.3f}%")
    drawn = image(source, f"{says} {some}".strip())
    body = div("pixels", drawn, mark, changed, style="aspect-ratio:1", title=some or None)
    return div("framed square", top, side, body)


def figures(*parts: tuple[str, str, str]) -> str:
    """Pictures beside each other: a title, the picture and what it says; the last two are HTML."""
    return div(
        "beside-each-other",
        *(
            tag("figure", tag("figcaption", esc(title)), picture, says, cls="one")
            for title, picture, says in parts
        ),
    )


def share_bar(share: float, text: str, cls: str = "") -> str:
    """A bar from 0 to 1 with its number beside it."""
    bar = tag("i", tag("b", style=f"width:{100 * min(max(share, 0.0), 1.0):.1f}%"), cls="track")
    return tag("span", bar, tag("span", esc(text), cls="n"), cls=f"share-bar {cls}".strip())


def share_text(share: float) -> str:
    """A share from 0 to 1 with two digits, or with the first that is not 0."""
    if share == 0 or share >= 0.005:
        return number(share)
    return f"{share:.1g}" if share >= 1e-4 else "< 0.0001"
