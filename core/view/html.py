"""HTML for what people see. Whatever a person typed passes through `esc` and nowhere else."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence

from core.graph.explain import tens
from core.models.tokenizer import visible
from core.view.figures import (
    NEGATIVE,
    POSITIVE,
    SHARE,
    SHARES,
    cell_colour,
    degree,
    share_colour,
    strength,
    token_colour,
    token_ink,
)

MINUS, DOT = "\u2212", "\u00b7"
LONGEST = 24
SMALL = 1e-4  # below, a number is written with a power of ten
# How strongly a cell is coloured when black or white is needed, and when the page no longer
# decides which: on the strongest orange it is always black, on the strongest purple white.
STRONG, ORANGE, PURPLE = 0.6, 0.76, 0.96


def esc(value: object) -> str:
    """Text as HTML that shows exactly that text."""
    return html.escape(str(value), quote=True)


def tag(name: str, *children: str, **attributes: object) -> str:
    """One element. Children are HTML already; attributes are escaped; `cls` is the class."""
    attributes = {
        "class" if key == "cls" else key.replace("_", "-"): value
        for key, value in attributes.items()
        if value is not None
    }
    written = "".join(f' {key}="{esc(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(children)}</{name}>"


def cell(name: str, text: str, was: str, **attributes: object) -> str:
    """An element that shows a number; framed if it changed, with what it `was` in words."""
    if not was:
        return tag(name, text, **attributes)
    label, title = attributes.get("aria_label"), attributes.get("title")
    said = {"aria_label": f"{label}, {was}"} if label else {}
    told = {"title": f"{title}, {was}" if title else was}
    cls = f"{attributes.get('cls') or ''} changed".strip()
    spoken = "" if label else tag("span", esc(f" ({was})"), cls="unseen")
    return tag(name, text, spoken, **attributes | {"cls": cls} | said | told)


def div(cls: str, *children: str, **attributes: object) -> str:
    return tag("div", *children, cls=cls, **attributes)


def para(text: str, cls: str | None = None) -> str:
    """A paragraph of plain text."""
    return tag("p", esc(text), cls=cls)


def fold(key: str, title: str, *body: str) -> str:
    """What opens with a click and stays so when it is drawn again; `key` tells it from others."""
    return tag("details", tag("summary", esc(title)), *body, cls="fold", data_fold=key)


def numbered(number: int, title: str, cls: str | None = None) -> str:
    """A heading with its number in the order of reading."""
    return tag("h2", tag("span", str(number), cls="nth"), esc(title), cls=cls)


def shown(token: str, longest: int = LONGEST) -> str:
    """A token's text for the eye: nothing invisible left, and not endlessly long."""
    seen = visible(token)
    return seen if len(seen) <= longest else seen[: longest - 1] + "…"


def chip(token: str, position: int, note: object = None, **attributes: object) -> str:
    """A token in its colour, with a small note (its ID) beneath. A link if `href` is given."""
    small = "" if note is None else tag("small", esc(note))
    style = f"background:{token_colour(position)}"
    kind = "a" if "href" in attributes else "span"
    inner = tag("span", esc(shown(token)))
    return tag(kind, inner, small, style=style, **{"cls": "tok"} | attributes)


def number(value: float, digits: int = 2) -> str:
    """A number as a person writes it: 0.00 only if it is 0, a small one as 0.0007 or 7·10⁻⁵."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "−∞" if value < 0 else "∞"
    size, written = abs(value), f"{value:.{digits}f}"
    if size >= 10**5:
        return tens(f"{value:.1e}")
    if float(written) or not value:
        return tens(written if value else written.lstrip("-"))
    return tens(f"{value:.1g}" if size >= SMALL else f"{value:.0e}")


def significant(value: float) -> str:
    """A number with three digits that say something, so that what is computed from it checks."""
    if not value or not SMALL <= abs(value) < 10**5:
        return tens(f"{value:.2e}") if value and math.isfinite(value) else number(value)
    return number(value, max(0, 2 - math.floor(math.log10(abs(value)))))


def tiny(value: float) -> str:
    """A difference that may be next to nothing: 0 only if it is none, else 0.25 or 5.6·10⁻¹⁷."""
    if value == 0:
        return "0"
    if not abs(value) < 0.001:  # so is what is not a number
        return number(value, 4)
    return tens(f"{value:.1e}")


def percent(share: float) -> str:
    """11.8 %; tiny shares keep a digit that says something."""
    per_cent = 100 * share
    if math.isnan(share):
        return "NaN"
    if per_cent and per_cent < 0.05:
        return f"{per_cent:.1g} %" if per_cent >= 1e-4 else "< 0.0001 %"
    return f"{per_cent:.1f} %"


def bar(share: float, cls: str = "bar") -> str:
    """A bar that fills its room by so much, from 0 to 1."""
    return tag("span", tag("i", style=f"width:{share:.2%}"), cls=cls)


def picks(label: str, options: Iterable[tuple[str, bool, dict[str, object]]]) -> str:
    """Links of which one is chosen: of each its text, whether it is the one, and where it leads."""
    links = (
        tag(
            "a",
            esc(text),
            cls="pick here" if here else "pick",
            aria_current="true" if here else None,
            **link,
        )
        for text, here, link in options
    )
    return div("picks", tag("span", esc(label)), *links)


def image(source: str, alt: str, **attributes: object) -> str:
    written = "".join(
        f' {key.replace("_", "-").replace("cls", "class")}="{esc(value)}"'
        for key, value in attributes.items()
    )
    return f'<img src="{esc(source)}" alt="{esc(alt)}"{written}>'


def small_matrix(
    rows: Sequence[Sequence[float]],
    labels: Sequence[str],
    *,
    limit: float | None,
    caption: str,
    columns: Sequence[str] = (),
    here: int | None = None,
    digits: int = 2,
    was: Callable[[tuple[int, int]], str] | None = None,
) -> str:
    """A small matrix with its numbers in coloured cells.

    labels: one per row, `columns`: one per column. limit: end of the signed scale; None draws
    shares. here: the row where we look. A value of −∞ is masked and hatched. was: for a row and
    column what stood there before a change, in words; empty if the same.
    """
    head = tag(
        "tr", tag("td", cls="corner"), *(tag("th", esc(shown(c, 8)), scope="col") for c in columns)
    )
    body = []
    for i, (label, row) in enumerate(zip(labels, rows, strict=True)):
        old = (was((i, j)) if was else "" for j in range(len(row)))
        cells = (_cell(value, limit, digits, o) for value, o in zip(row, old, strict=True))
        style = f"color:{token_ink(i)}" if not columns else None
        name = tag("th", tag("span", esc(shown(label, 8)), style=style), scope="row")
        body.append(tag("tr", name, *cells, cls="here" if i == here else None))
    caption_tag = tag("caption", esc(caption), cls="unseen")
    table = tag("table", caption_tag, head if columns else "", *body, cls="matrix")
    return div("scroll", table)


def _cell(value: float, limit: float | None, digits: int, was: str) -> str:
    if math.isinf(value):
        return cell("td", number(value), was, cls="masked")
    colour = share_colour(value) if limit is None else cell_colour(value, limit)
    cls = ink(value, limit)
    return cell("td", number(value, digits), was, style=f"background:{colour}", cls=cls)


def ink(value: float, limit: float | None) -> str | None:
    """The class of a cell so strongly coloured that its number needs ink of its own.

    With it every number has a contrast of 4.5 to its cell, on a light page and on a dark one
    (4.3 for white on the strongest blue).
    """
    part = strength(value, SHARES if limit is None else limit)
    if part < STRONG:
        return None
    if limit is None or part < (ORANGE if value > 0 else PURPLE):
        return "on-mid"
    return "on-orange" if value > 0 else "on-dark"


def signed_legend(limit: float, says: str) -> str:
    """The signed scale with its ends in numbers, and its middles where it is not even."""
    bar = f"background:linear-gradient(90deg,{NEGATIVE},transparent,{POSITIVE})"
    return _legend(bar, signed_marks(limit), says)


def signed_marks(limit: float) -> list[str]:
    """The numbers along a signed scale: its ends and its middle; if uneven also half the colour."""
    end, half = float(limit), limit / 2 ** degree(limit)
    values = [-end, 0.0, end] if degree(limit) == 1 else [-end, -half, 0.0, half, end]
    marks = [tens(f"{value:.3g}") for value in values]
    return [f"≤ {marks[0]}", *marks[1:-1], f"≥ {marks[-1]}"]


def share_legend(says: str) -> str:
    """The scale of shares, from nothing to all."""
    bar = f"background:linear-gradient(90deg,transparent,{SHARE})"
    return _legend(bar, share_marks(), says)


def share_marks() -> list[str]:
    """The numbers along the scale of shares: its ends, and the share that has half the colour."""
    return ["0", f"{SHARES / 2 ** degree(SHARES):.3g}", f"{SHARES:g}"]


def _legend(bar: str, ends: list[str], says: str) -> str:
    marks = div("ends", *(tag("span", esc(end)) for end in ends))
    scale = div("scale", div("bar", style=bar), marks)
    return div("legend", scale, tag("span", esc(says)) if says else "", role="note")
