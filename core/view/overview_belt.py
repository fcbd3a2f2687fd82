"""The residual stream as a conveyor belt: one row per token, one column per block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.view import scale
from core.view.figures import cell_colour, pooled, signed_picture, svg, token_colour
from core.view.html import (
    cell,
    chip,
    div,
    esc,
    image,
    ink,
    number,
    numbered,
    para,
    percent,
    shown,
    tag,
)
from core.view.look import Look
from core.view.marks import Marks, marks
from core.view.step_words import block_key
from core.view.strip import page_link
from core.view.texts import gloss

ROW, GAP = 48, 8  # pixels; assets/css/overview.css has the same
FEW = 4  # values of a vector that are written out instead of drawn as stripes
DEEP = 14  # blocks; of more, a column has room for its number alone
LINE = 32  # values in one line of a cell's picture
FAINTEST = 0.02  # attention below this draws no line


def belt_section(look: Look) -> str:
    """The belt with what to see in it."""
    width = look.trace.model.config.d_model
    key = "overview.belt.says_numbers" if width <= FEW else "overview.belt.says"
    says = look.t(key, n=width, lines=-(-width // LINE))
    parts = [
        numbered(1, look.t("overview.belt.title")),
        para(f"{says} {look.t(block_key(look.trace.model.config))}"),
        belt(look),
    ]
    if look.n_layers:
        parts.append(para(_reads(look)))
        parts.append(page_link(look.state, look.t("stream.follow"), "stream"))
    return tag("section", *parts)


def _reads(look: Look) -> str:
    """In words what the lines say: where the selected token looks most."""
    weights = _mean_attention(look)
    best = int(weights.argmax())
    name = shown(look.trace.tokens[best]) if best != look.token else look.t("overview.belt.itself")
    return look.t(
        "overview.belt.reads",
        token=shown(look.trace.tokens[look.token]),
        i=str(look.layer),
        best=name,
        share=percent(float(weights[best])),
    )


def _mean_attention(look: Look) -> np.ndarray:
    """How much the selected token looks at each other in the selected block, mean of the heads."""
    return look.values(f"blocks.{look.layer}.attn.weights", slice(None), look.token).mean(axis=0)


def belt(look: Look) -> str:
    """The whole belt, with what the selected block's attention carries between the rows."""
    columns = [_tokens(look)]
    for index, name in enumerate(look.stream):
        if index == look.layer + 1:
            columns.append(_attention(look))
        columns.append(_column(look, index, name))
    says = look.t("overview.belt.legend")
    label = look.t("overview.belt.label", n=len(look.trace), blocks=look.n_layers)
    deep = look.n_layers > DEEP
    drawn = div("belt deep" if deep else "belt", *columns, role="group", aria_label=label)
    return drawn + scale.legend(look.t, ("", _limit(look)), note=says)


def _limit(look: Look) -> float:
    """The end of the residual stream's scale."""
    return scale.end(look.trace, "embed.sum")


def _head(title: str, note: str, **attributes: object) -> str:
    kind = "a" if "href" in attributes else "div"
    inner = tag("small", esc(note)), tag("b", esc(title))
    return tag(kind, *inner, **{"cls": "head"} | attributes)


def _tokens(look: Look) -> str:
    cells = [_head(look.t("overview.belt.token"), "")]
    for row in look.rows("belt"):
        if isinstance(row, range):
            cells.append(look.gap("belt", row))
            continue
        token, token_id = look.trace.tokens[row], look.trace.ids[row]
        says = look.t(
            "overview.belt.pick_token", token=shown(token), position=row, id=str(token_id)
        )
        cells.append(
            chip(
                token,
                row,
                row,
                cls="tok here" if row == look.token else "tok",
                **look.state.link(token=row),
                aria_label=says,
                title=" · ".join(filter(None, (gloss(look.t, token), says))),
            )
        )
    return div("column tokens", *cells)


def _column(look: Look, index: int, name: str) -> str:
    values = look.values(name)
    layer = index - 1
    selected = layer == look.layer
    if index == 0:
        head = _head("H₀", look.t("overview.belt.start"))
    else:
        head = _head(
            str(layer),
            look.t("overview.belt.block"),
            cls="head here" if selected else "head",
            **look.state.link(layer=layer),
            aria_label=look.t("path.block_number", i=str(layer)),
            aria_current="true" if selected else None,
        )
    few, rows = values.shape[1] <= FEW, look.rows("belt")
    source = "" if few else f"--picture:url({signed_picture(tiles(values, rows), _limit(look))})"
    found = marks(look, name, (None, None))
    cells = [
        _several(look, row, _slice(i, len(rows)), few, found)
        if isinstance(row, range)
        else _cell(look, values, row, layer, _slice(i, len(rows)), few, found)
        for i, row in enumerate(rows)
    ]
    return div("column" + (" chosen" if selected else ""), head, *cells, style=source or None)


def _several(look: Look, rows: range, style: str, few: bool, found: Marks) -> str:
    """Rows that are drawn together; for none, an empty place beside the link that closes."""
    if few or not rows:
        return div("more", "…" if rows else "")
    some = found.part(slice(rows.start, rows.stop)).some()
    says = look.t("overview.belt.many", n=len(rows))
    return cell("div", "", some, cls="cell many", style=style, title=says)


def _cell(
    look: Look, values: np.ndarray, row: int, layer: int, style: str, few: bool, found: Marks
) -> str:
    inner = _written(values[row], _limit(look), found.part(row)) if few else ""
    where = {"token": row} if layer < 0 else {"layer": layer, "token": row}
    says = look.t(
        "overview.belt.cell",
        token=shown(look.trace.tokens[row]),
        numbers=look.some_numbers(values[row]),
    )
    here = row == look.token and layer == look.layer
    return cell(
        "a",
        inner,
        "" if few else found.part(row).some(),
        cls="cell here" if here else "cell",
        style=None if few else style,
        tabindex=-1,
        title=says,
        aria_label=says,
        **look.state.link(**where),
    )


def tiles(values: np.ndarray, rows: Sequence[int | range]) -> np.ndarray:
    """The picture of a column: what is drawn for each of `rows`, in equal room under each other.

    The numbers of a token are folded into lines, wide enough to see. Of several tokens each dot is
    the number furthest from 0 among some.
    """
    n_lines = -(-values.shape[1] // LINE)
    return np.concatenate([_tile(values[_places(row)], n_lines) for row in rows])


def _places(row: int | range) -> slice:
    return slice(row.start, row.stop) if isinstance(row, range) else slice(row, row + 1)


def _tile(values: np.ndarray, n_lines: int) -> np.ndarray:
    """The numbers of one token, of several or of none, as `n_lines` of LINE."""
    tile = np.zeros((n_lines, LINE), values.dtype)
    if len(values) == 1:
        tile.ravel()[: values.size] = values
    elif len(values):
        some = pooled(values, LINE, n_lines)
        tile[:, : some.shape[1]] = some[np.arange(n_lines) * len(some) // n_lines]
    return tile


def _slice(nth: int, total: int) -> str:
    """CSS that shows only one of the tiles of a column's picture."""
    offset = 100 * nth / max(1, total - 1)
    return f"background-size:100% {100 * total}%;background-position:0 {offset:.4f}%"


def _written(values: np.ndarray, limit: float, found: Marks) -> str:
    return "".join(
        cell(
            "i",
            number(value),
            found.was(i),
            style=f"background:{cell_colour(value, limit)}",
            cls=ink(value, limit),
        )
        for i, value in enumerate(values.tolist())
    )


def _attention(look: Look) -> str:
    """Lines from the tokens that the selected one looks at, as thick as its attention."""
    weights, rows = _mean_attention(look), look.rows("belt")
    centres = {
        row: i * (ROW + GAP) + ROW / 2 for i, row in enumerate(rows) if not isinstance(row, range)
    }
    height = len(rows) * (ROW + GAP) - GAP
    end = centres[look.token]
    lines = []
    for row, start in centres.items():
        if weights[row] < FAINTEST:
            continue
        path = f"M0,{start:.0f} C50,{start:.0f} 50,{end:.0f} 100,{end:.0f}"
        width = f"{1 + 11 * float(weights[row]):.1f}"
        lines.append(
            f'<path d="{path}" stroke="{token_colour(row)}" stroke-width="{width}" '
            'fill="none" vector-effect="non-scaling-stroke"/>'
        )
    says = look.t("overview.belt.attention", token=shown(look.trace.tokens[look.token]))
    drawing = image(svg(100, height, lines), says, title=says, style=f"height:{height}px")
    return div("column lines", div("head"), drawing)
