"""The logit lens as a grid: what the model would say if it stopped after each part."""

from __future__ import annotations

from itertools import groupby
from weakref import WeakKeyDictionary

from core.analysis import residual
from core.models.model import PromptTrace
from core.view import elements
from core.view.figures import share_colour, token_colour
from core.view.html import bar, div, esc, ink, percent, share_legend, shown, tag
from core.view.look import Look

MOST = 32  # tokens up to which every one has its row
KEY = "lens"  # the state: which step is looked at
TOP = 5

_known: WeakKeyDictionary[PromptTrace, dict[tuple[int, ...], list[residual.Reading]]] = (
    WeakKeyDictionary()
)


def rows(look: Look) -> list[int | range]:
    """The tokens that have a row; of a long text those around the one where we look."""
    n = len(look.trace)
    return list(range(n)) if n <= MOST else look.rows("lens")


def _positions(look: Look) -> tuple[int, ...]:
    return tuple(row for row in rows(look) if not isinstance(row, range))


def readings(look: Look) -> list[residual.Reading]:
    """What the lens sees; computed once for a trace."""
    positions = _positions(look)
    known = _known.setdefault(look.trace, {})
    if positions not in known:
        known[positions] = residual.lens_readings(look.trace, positions)
    return known[positions]


def chosen(look: Look) -> int:
    """The column that is looked at; the last one to begin with."""
    n = len(residual.stream_steps(look.trace))
    return look.state.index(KEY, n, n - 1)


def column_name(look: Look, step: str) -> tuple[str, str]:
    """A column's block and part: (`block 0`, `attention`)."""
    if not step.startswith("blocks."):
        return "", look.t("logits.lens.start")
    part = "attn" if step.endswith("resid_mid") else "mlp"
    return look.t("path.block_number", i=step.split(".")[1]), look.t(f"stream.part.{part}")


def grid(look: Look, here: int) -> str:
    """One row per token, one column per part; colour is the probability of the best token."""
    found = readings(look)
    heads = [tag("th", esc(look.t("overview.belt.token")), scope="col")]
    for i, reading in enumerate(found):
        block, part = column_name(look, reading.step)
        short = look.t("logits.lens.attn") if reading.step.endswith("resid_mid") else part
        cls, name = "here" if i == here else None, f"{block} {part}".strip()
        here_too = look.n_layers > 1 and elements.block(reading.step) == look.layer
        current = "true" if here_too else None
        to = _column_link(look, i, reading.step)
        link = tag("a", esc(short), aria_label=name, aria_current=current, **to)
        heads.append(tag("th", link, scope="col", cls=cls, title=name))
    body, at = [], 0
    for row in rows(look):
        if isinstance(row, range):
            more = tag("td", look.gap("lens", row), colspan=len(found) + 1)
            body.append(tag("tr", more, cls="skipped"))
            continue
        body.append(_row(look, row, found, at, here))
        at += 1
    top = _blocks(look, [reading.step for reading in found]) + tag("tr", *heads, cls="lens-parts")
    table = tag("table", top, *body, cls="lens")
    return div("scroll", table) + share_legend(look.t("logits.lens.legend"))


def _blocks(look: Look, steps: list[str]) -> str:
    """The line above the columns: each block over its parts."""
    heads = [tag("th")]
    for block, parts in groupby(steps, key=elements.block):
        name = "" if block is None else look.t("path.block_number", i=str(block))
        count = sum(1 for _ in parts)
        cls = "here" if look.n_layers > 1 and block == look.layer else None
        heads.append(tag("th", esc(name), colspan=count, scope="colgroup", cls=cls))
    return tag("tr", *heads, cls="lens-blocks")


def _row(look: Look, row: int, found: list[residual.Reading], at: int, here: int) -> str:
    style = f"border-color:{token_colour(row)}"
    seen = tag("span", esc(shown(look.trace.tokens[row], 10)), cls="lens-token", style=style)
    cells = [tag("th", seen, scope="row")]
    final = found[-1].ids[at]
    for column, reading in enumerate(found):
        token, prob = reading.ids[at], reading.probs[at]
        link = _column_link(look, column, reading.step, token=row)
        if row == look.token and column == here:
            link["aria_current"] = "true"
        cells.append(_cell(look, link, token, prob, token == final))
    return tag("tr", *cells, cls="here" if row == look.token else None)


def _column_link(look: Look, column: int, step: str, **where: int) -> dict[str, object]:
    """A link that looks at a column, and with it at the block that the column belongs to."""
    if (block := elements.block(step)) is not None:
        where["layer"] = block
    return dict(look.state.link(**where, **{KEY: column}))


def _cell(look: Look, link: dict[str, object], token: int, prob: float, final: bool) -> str:
    text = shown(look.trace.model.tokenizer.token_text(token), 8)
    word = tag("b" if final else "span", esc(text))
    whole = shown(look.trace.model.tokenizer.token_text(token))
    share = percent(prob).replace("100.0", "100")  # a cell has room for four characters
    inner = tag("a", word, tag("small", esc(share)), title=whole, **link)
    return tag("td", inner, style=f"background:{share_colour(prob)}", cls=ink(prob, None))


def top(look: Look, step: str) -> str:
    """The likeliest tokens that the lens sees at the chosen place."""
    found = residual.lens_top(look.trace, step, look.token, TOP)
    items = []
    for candidate in found:
        length = bar(candidate.prob / found[0].prob)
        word = tag("code", esc(shown(candidate.text, 14)))
        value = tag("span", esc(percent(candidate.prob)), cls="value")
        items.append(tag("li", tag("span", word, length, value, cls="row")))
    return tag("ol", *items, cls="bars narrow")


def error(look: Look) -> float:
    """How far the last column is from the model's own logits, at the rows that are shown."""
    return residual.lens_error(look.trace, _positions(look))
