"""The ripple along the whole path: every token's row in every step, then the next token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import streamlit as st
import torch

from core.graph import StepDiff
from core.view import elements, ripple_words
from core.view.compare import Comparison
from core.view.component import component, said
from core.view.figures import token_colour
from core.view.html import esc, para, shown, tag
from core.view.look import Look, shortened
from core.view.overview_after import next_before_and_after
from core.view.ripple_bar import MAP, has_picture
from core.view.state import CLICK, GO
from core.view.strip import step_place

KEY = "overview.ripple"
ROUNDING = 32  # times the precision of the numbers: what rounding alone may make of equal ones
ALL = 48  # steps up to which each has a column
MOST = 32  # tokens up to which each has a row
# Otherwise these of a block, and of the one where we look all but those that tell little more.
FOLDED = ("attn.out", "mlp.out", "resid_out")
LEFT_OUT = ("resid_in", "attn.scores_scaled", "attn.scores_masked", "attn.concat")


@dataclass(frozen=True)
class Cell:
    """One row of tokens in one step. part: the largest relative change of them; kind: how it is
    read out."""

    part: float
    size: float
    kind: str


def ripple_section(look: Look) -> None:
    """Draw it, where something was changed, or where another token is the last."""
    compared = look.compared
    if compared is None or not has_picture(compared):
        return
    t, diffs = look.t, columns(compared, look.layer)
    st.html(tag("h2", esc(t("ripple.map.title")), id=MAP) + _says(look, diffs))
    rows = token_rows(len(compared.after), look.token)
    component("ripple", "ripple")(
        key=KEY,
        data=_data(look, diffs, rows),
        on_go_change=lambda: _go(diffs, rows),
    )
    st.html(next_before_and_after(look))


def _says(look: Look, diffs: Sequence[StepDiff]) -> str:
    t, first = look.t, first_token(look.compared)
    says = [t("ripple.map.says")]
    if first:
        says.append(t("ripple.map.causal", token=shown(look.compared.after.tokens[first])))
    if len(diffs) < len(look.compared.ripple.diffs):
        says.append(t("ripple.map.folded"))
    return para(" ".join(says), "says")


def first_token(compared: Comparison) -> int:
    """The first token of which anything changed that the mask does not hide.

    0 also where the mask is off, so that nothing keeps a change from the tokens before.
    """
    config, changed = compared.after.model.config, compared.ripple.changed
    rows = [diff.rows for diff in changed if ".scores" not in diff.name]
    found = [next((i for i, row in enumerate(each) if row), 0) for each in rows]
    return min(found) if found and config.causal else 0


def columns(compared: Comparison, layer: int) -> list[StepDiff]:
    """The steps that have a column: all where they are few, else the block `layer` unfolded."""
    diffs = compared.ripple.diffs
    return list(diffs) if len(diffs) <= ALL else [d for d in diffs if _tells(d.name, layer)]


def _tells(name: str, layer: int) -> bool:
    role, block = elements.within(name), elements.block(name)
    if block not in (None, layer):
        return role in FOLDED
    within_norm = role.startswith("ln_") and not role.endswith(".out")
    return not within_norm and role not in LEFT_OUT


def token_rows(n: int, here: int) -> list[range]:
    """The tokens of each row; of a long text many share one."""
    rows = range(n) if n <= MOST else shortened(n, here)
    return [row if isinstance(row, range) else range(row, row + 1) for row in rows]


def cell(compared: Comparison, diff: StepDiff, tokens: range) -> Cell:
    """How much the rows of some tokens changed in a step."""
    if all(compared.rows[i] is None for i in tokens):
        return Cell(math.inf, math.inf, "new")
    if not diff.changed:
        return Cell(0.0, 0.0, "same")
    if not diff.rows:
        return Cell(math.inf, math.inf, "reshaped")
    kept = [i for i in tokens if compared.rows[i] is not None]
    most = max(kept, key=lambda i: diff.relative_rows[i])
    part, size = diff.relative_rows[most], diff.rows[most]
    if not size:
        return Cell(0.0, 0.0, "same")
    if not math.isfinite(size):
        return Cell(part, size, "infinite")
    rounding = ROUNDING * torch.finfo(compared.after.model.dtype).eps
    return Cell(part, size, "rounding" if part < rounding else "cell")


def _data(look: Look, diffs: Sequence[StepDiff], rows: Sequence[range]) -> dict[str, Any]:
    t, compared = look.t, look.compared
    cells = [cell(compared, diff, tokens) for tokens in rows for diff in diffs]
    keys = ("cell", "rounding", "infinite", "same", "new", "reshaped")
    return {
        "label": t("ripple.map.label", rows=len(compared.after), columns=len(diffs)),
        "corner": t("ripple.map.token"),
        "groups": [_group(look, block, len(list(part))) for block, part in _by_block(diffs)],
        "columns": [_column(look, diff) for diff in diffs],
        "rows": [_row(look, tokens) for tokens in rows],
        "kinds": [one.kind for one in cells],
        "strengths": [round(ripple_words.strength(one.part), 3) for one in cells],
        "sizes": [ripple_words.size(one.size) for one in cells],
        "shares": [ripple_words.share(one.part) for one in cells],
        "words": {key: t(f"ripple.map.{key}", **_open(key)) for key in keys},
        "hint": t("ripple.map.hint"),
        "legend": t("ripple.map.legend"),
    }


def _open(key: str) -> dict[str, str]:
    """Placeholders that the browser fills in."""
    names = ("token", "step", "size", "share")
    return {name: f"{{{name}}}" for name in names}


def _by_block(diffs: Sequence[StepDiff]):
    """The columns that stand together: what is before, in, and after each block."""
    return groupby(diffs, key=lambda diff: elements.block(diff.name))


def _group(look: Look, block: int | None, span: int) -> dict[str, Any]:
    text = "" if block is None else look.t("ripple.map.block", i=str(block))
    folds = block is not None and look.n_layers > 1
    here = block == look.layer
    return {"text": text, "short": str(block), "span": span, "block": block if folds else None,
            "here": folds and here}  # fmt: skip


def _column(look: Look, diff: StepDiff) -> dict[str, str]:
    short = look.t(f"opened.role.{elements.role(diff.name)}.short")
    return {"text": short, "says": ripple_words.step_name(look.t, diff.name)}


def _row(look: Look, tokens: range) -> dict[str, Any]:
    compared = look.compared
    if len(tokens) > 1:
        text = look.t("ripple.map.skipped", n=len(tokens))
        return {"text": text, "index": "", "colour": "", "mark": "", "says": text}
    i, trace = tokens[0], compared.after
    token = shown(trace.tokens[i], 12)
    new = compared.rows[i] is None or compared.before.ids[compared.rows[i]] != trace.ids[i]
    mark = look.t("ripple.map.new_mark") if new else ""
    return {"text": token, "index": str(i), "colour": token_colour(i), "mark": mark,
            "says": f"{token} ({i})"}  # fmt: skip


def _go(diffs: Sequence[StepDiff], rows: Sequence[range]) -> None:
    """A cell or a block was clicked: go to that step's page and token, or unfold that block."""
    asked = said(KEY, "go") or {}
    block, row, column = (asked.get(key) for key in ("block", "row", "column"))
    if isinstance(block, int):
        st.session_state[CLICK] = urlencode({"layer": block})
        return
    if not (_within(row, rows) and _within(column, diffs)):
        return
    name = diffs[column].name
    page, anchor = step_place(name)
    found = elements.block(name)
    layer = {} if found is None else {"layer": found}
    st.session_state[CLICK] = urlencode({"token": rows[row][0]} | layer)
    st.session_state[GO] = {"page": page, "anchor": anchor}


def _within(i: object, of: Sequence) -> bool:
    return isinstance(i, int) and 0 <= i < len(of)
