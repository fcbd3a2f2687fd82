"""One token's vector as a row: numbers in cells where they fit, thin stripes where they do not.

A cell opens its number, a picture its largest one. Rows that belong together share a scale.
What is no row of a step, but computed from steps, is written out with its operands as links.
"""

from __future__ import annotations

import numpy as np

from core.graph import Explanation, Ref
from core.graph.explain import number as exact
from core.view import elements
from core.view.arithmetic import LARGEST, Piece, sign, written_out
from core.view.figures import cell_colour, signed_picture
from core.view.html import cell, div, esc, image, ink, number, tag
from core.view.look import Look
from core.view.marks import Marks, marks
from core.view.opened import LINK_AT, OPEN

WRITTEN = 8  # numbers that are written out
LINES = 4  # lines of a picture


def row(look: Look, name: str, pos: int, limit: float, at: str) -> str:
    """The row of a step at one position; every number in it can be opened.

    at: the key of the picture that it is part of; see `Lesson.pictures`.
    """
    values, found = look.values(name)[pos], marks(look, name, (pos, None))
    if len(values) > WRITTEN:
        return _stripes(look, name, pos, values, limit, at, found)
    cells = (
        _cell(look, Ref(name, (pos, i)), value, limit, at, found.was(i))
        for i, value in enumerate(values.tolist())
    )
    return tag("span", *cells, cls="vec")


def plain(look: Look, values: np.ndarray, limit: float) -> str:
    """A row that belongs to no step of this trace: nothing to open."""
    if len(values) > WRITTEN:
        return image(_picture(values, limit), summary(look, values), cls="stripes")
    cells = (
        tag("i", number(value), style=_background(value, limit), cls=ink(value, limit))
        for value in values.tolist()
    )
    return tag("span", *cells, cls="vec")


def summary(look: Look, values: np.ndarray) -> str:
    """What a picture shows, for somebody who does not see it."""
    low, high = number(float(values.min())), number(float(values.max()))
    return look.t("vector.summary", n=len(values), low=low, high=high)


def signed(value: float) -> str:
    """A number with its sign, also where it is positive; a small one keeps a third digit."""
    written = number(value, 2 if abs(value) >= 0.01 else 3)
    return f"+{written}" if value > 0 else written


def opens(look: Look, ref: Ref, text: str, at: str) -> dict[str, object]:
    """The attributes of a link in the picture `at` that opens an element and shows `text`."""
    name = elements.name(look.t, look.trace, ref)
    here = elements.encode((ref,))
    is_open = look.state.text(OPEN, "").split("~")[-2:] == here.split("~")
    return {
        **look.state.link(**{OPEN: here, LINK_AT: at}),
        "aria_label": look.t("opened.open", text=text, name=name),
        "title": name,
        "aria_current": "true" if is_open else None,
    }


def entry(look: Look, explained: Explanation, at: str) -> str:
    """The arithmetic of a number that is no step; what it was computed from can be opened.

    at: the key of the picture that it is part of.
    """
    found = written_out(look.trace, explained, LARGEST)
    terms = (_piece(look, piece, at) for term in found.terms for piece in term)
    rest = f" {sign(found.rest)} {exact(abs(found.rest))} " if found.n_rest else ""
    others = look.t("opened.rest", n=found.n_rest) if found.n_rest else ""
    value = tag("b", esc(exact(found.value)))
    return div("entry", *terms, esc(rest), tag("small", esc(others)), " = ", value)


def _piece(look: Look, piece: Piece, at: str) -> str:
    if piece.ref is None:
        return esc(piece.text)
    return tag("a", esc(piece.text), **opens(look, piece.ref, piece.text, at))


def _cell(look: Look, ref: Ref, value: float, limit: float, at: str, was: str) -> str:
    text, cls = number(value), ink(value, limit)
    link = opens(look, ref, text, at)
    return cell("a", esc(text), was, style=_background(value, limit), cls=cls, **link)


def _stripes(
    look: Look, name: str, pos: int, values: np.ndarray, limit: float, at: str, found: Marks
) -> str:
    largest = int(np.abs(values).argmax())
    attributes = opens(look, Ref(name, (pos, largest)), number(float(values[largest])), at)
    picture = image(_picture(values, limit), summary(look, values), cls="stripes")
    return cell("a", picture, found.some(), **attributes)


def _picture(values: np.ndarray, limit: float) -> str:
    width = -(-len(values) // LINES)
    padded = np.zeros(LINES * width)
    padded[: len(values)] = values
    return signed_picture(padded.reshape(LINES, width), limit)


def _background(value: float, limit: float) -> str:
    return f"background:{cell_colour(value, limit)}"
