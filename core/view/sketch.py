"""Small drawings that several pages share: tables of facts, rows of values, angles, choices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from core.view.figures import TOKEN_COLOURS, signed_picture
from core.view.html import div, esc, image, number, picks, small_matrix, tag
from core.view.look import Look
from core.view.marks import Marks

FEW = 8  # numbers of a row that are written into cells


def facts(heads: Sequence[str], rows: Sequence[Sequence[str] | str], cls: str = "plain") -> str:
    """A table of texts; the first cell of a row names it. A single string is HTML across it.

    cls: with `stacked`, a list of rows on a phone, each cell behind the head of its column; with
    `worded`, the last column is words, which go on in the next line.
    """
    top = tag("tr", *(tag("th", esc(head), scope="col") for head in heads))
    body = (
        tag("tr", tag("td", row, colspan=len(heads))) if isinstance(row, str) else _fact(heads, row)
        for row in rows
    )
    table = tag("table", tag("thead", top), tag("tbody", *body), cls=f"{cls} facts-table")
    return div("scroll", table)


def _fact(heads: Sequence[str], row: Sequence[str]) -> str:
    cells = (
        tag("td", esc(cell), data_head=head) for head, cell in zip(heads[1:], row[1:], strict=True)
    )
    return tag("tr", tag("th", esc(row[0]), scope="row"), *cells)


def vector_text(values: Sequence[float]) -> str:
    """A short vector as one writes it: [0.2, 0.9, 0.1]."""
    return f"[{', '.join(f'{value:g}' for value in values)}]".replace("-", "−")


def row_of_values(values: np.ndarray, limit: float, says: str, found: Marks | None = None) -> str:
    """One row: numbers in cells if they are few, else a strip of colours that is read out.

    found: which of them changed.
    """
    if len(values) <= FEW:
        was = found and (lambda place: found.was(place[1]))
        return small_matrix([values.tolist()], [""], limit=limit, caption=says, was=was)
    some = found.some() if found else ""
    source = signed_picture(values[None].astype(np.float64), limit)
    first = ", ".join(number(float(value)) for value in values[:4])
    cls, more = ("strip-picture changed", f" {some}") if some else ("strip-picture", "")
    return image(source, f"{says}: {first} …{more}", cls=cls, title=some)


def angle_picture(length_a: float, length_b: float, cos: float, names: tuple[str, str]) -> str:
    """Two vectors of any width, drawn in the plane they lie in: true lengths, true angle."""
    degrees = math.degrees(math.acos(max(-1.0, min(1.0, cos))))
    longest = max(length_a, length_b)
    arrows = (
        arrow(100 * length / longest, turn, name, TOKEN_COLOURS[colour])
        for length, turn, name, colour in (
            (length_a, 0.0, names[0], 0),
            (length_b, degrees, names[1], 4),
        )
    )
    says = f"{names[0]} – {names[1]}: {degrees:.1f}°"
    turn, far = (degrees / 2, 52) if degrees > 40 else (degrees + 16, 84)  # where there is room
    x, y = far * math.cos(math.radians(turn)) + 8, far * math.sin(math.radians(turn)) + 10
    label = tag(
        "b", esc(f"{degrees:.1f}°"), cls="degrees", style=f"left:{x:.0f}px;bottom:{y:.0f}px"
    )
    height = 145 * max(math.sin(math.radians(degrees)), 0.2) + 44
    style = f"height:{height:.0f}px"
    return div("angle", *arrows, label, role="img", aria_label=says, style=style)


def arrow(per_cent: float, degrees: float, name: str, colour: str) -> str:
    """An arrow from the corner of its box, as long as so many per cent of the box's longest."""
    style = f"--long:{per_cent:.2f};--turn:{-degrees:.2f}deg;--back:{degrees:.2f}deg;--ink:{colour}"
    return div("arrow-line", tag("span", esc(name)), style=style)


def choices(look: Look, key: str, here: str, drawn: Mapping[str, Sequence[str]]) -> str:
    """Pictures beside each other as links, one of them chosen to be read below.

    key: the parameter that a click sets. drawn: by its value what each link holds, as HTML.
    """
    links = (choice(look, key, name, here, parts) for name, parts in drawn.items())
    return div("choices", *links)


def choice(look: Look, key: str, name: str, here: str, parts: Sequence[str]) -> str:
    """One picture that can be chosen; see `choices`."""
    current = name == here
    cls = "choice here" if current else "choice"
    aria = "true" if current else None
    return tag("a", *parts, cls=cls, aria_current=aria, **look.state.link(**{key: name}))


def block_links(look: Look) -> str:
    """Links to each block as tabs of a picture, for a model that has several."""
    if look.n_layers < 2:
        return ""
    options = []
    for layer in range(look.n_layers):
        name = look.t("path.block_number", i=str(layer))
        link = look.state.link(layer=layer) | {"aria_label": name}
        options.append((str(layer), layer == look.layer, link))
    return div("block-tabs", picks(look.t("path.block"), options))


def block_name(look: Look, layer: int, rest: str = "") -> str:
    """A block's name beside its row of a picture: a link to it, where there are several.

    rest: HTML that belongs to the name.
    """
    name = esc(look.t("path.block_number", i=str(layer)))
    if look.n_layers < 2:
        return tag("span", name, rest, cls="block-name")
    here = "true" if layer == look.layer else None
    link = look.state.link(layer=layer)
    return tag("a", name, rest, cls="block-name", aria_current=here, **link)
