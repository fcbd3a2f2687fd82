"""The MLP without its curve: W_1·W_2 as one matrix, how its numbers come about, what it does."""

from __future__ import annotations

from torch import Tensor

from core.analysis import mlp
from core.view import scale, vector
from core.view.arrays import array
from core.view.cut import Cut, Side, digits_for
from core.view.html import div, para
from core.view.look import Look

ROW, COLUMN = "one_row", "one_column"  # the state: which number of the matrix is looked at


def cut(look: Look, found: mlp.OneMatrix) -> Cut:
    """The matrix. It is no step of the model and none of its weights; the page multiplies them."""
    values = array(found.matrix)
    side = Side("d_model", tuple(range(len(values))))
    return Cut(
        f"blocks.{look.layer}.mlp.W_1W_2",
        (None, None),
        (0, 1),
        values,
        side,
        side,
        kind="signed",
        limit=scale.end(look.trace, scale.ONE_MATRIX),
        digits=digits_for(values, found.matrix.dtype.itemsize),
        title=look.t("mlp.one.matrix", n=len(values)),
    )


def chosen(look: Look, found: mlp.OneMatrix) -> dict[str, int]:
    """The place of the number that is looked at."""
    return {key: look.state.index(key, len(found.matrix), 0) for key in (ROW, COLUMN)}


def entry(look: Look, at: dict[str, int]) -> str:
    """How that number comes about: row of W_1 times column of W_2; each factor can be opened."""
    row, column = at.values()
    says = para(look.t("mlp.one.entry", row=row, column=column), "says")
    explained = mlp.one_entry(look.trace, look.layer, row, column)
    return says + vector.entry(look, explained, "entry")


def ways(look: Look, found: mlp.OneMatrix) -> str:
    """The token's row through both matrices, through the one, and through the real MLP."""
    limit = scale.end(look.trace, f"blocks.{look.layer}.mlp.out")
    drawn = (("two", found.one_by_one), ("once", found.at_once), ("curve", found.with_curve))
    rows = (_way(look, key, row, limit) for key, row in drawn)
    return div("labelled-rows", *rows, scale.legend(look.t, ("", limit)))


def _way(look: Look, key: str, row: Tensor, limit: float) -> str:
    values = row.double().cpu().numpy()
    return div("labelled", para(look.t(f"mlp.one.{key}")), vector.plain(look, values, limit))
