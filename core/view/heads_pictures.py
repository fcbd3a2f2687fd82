"""What the Heads page draws: the weighted sum, the heads beside each other, and how W_O mixes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np

from core.analysis import attention
from core.models.config import Config
from core.models.published import GPT2, GPT3
from core.view import matrix, scale
from core.view.arrays import array
from core.view.cut import Cut
from core.view.html import div, esc, para, tag, tiny
from core.view.look import Look
from core.view.marks import marks
from core.view.scores_pictures import lines
from core.view.stripes import (
    Part,
    Row,
    columns_by_part,
    figures,
    plain,
    share_text,
    stack,
)

HEAD_COLOURS = ("#1b8a99", "#c4424f", "#7d5a94", "#4f8a68", "#b98319", "#4a5266")


def step(look: Look, name: str) -> str:
    return f"blocks.{look.layer}.attn.{name}"


def head_parts(look: Look) -> list[Part]:
    """The name and the colour of each head."""
    return [
        (look.t("heads.head", i=str(i)), HEAD_COLOURS[i % len(HEAD_COLOURS)])
        for i in range(look.n_heads)
    ]


def weighted_sum(look: Look) -> str:
    """The values of the tokens, each faded to its share, and their sum."""
    t, name = look.t, look.t("heads.sum.value")
    given = array(attention.contributions(look.trace, look.layer, look.head, look.token))
    values = look.values(step(look, "v"))[look.kv_head]
    of_values = marks(look, step(look, "v"), (look.kv_head, None, None))
    shares = look.values(step(look, "weights"))[look.head, look.token]
    masked = look.values(step(look, "scores_masked"))[look.head, look.token]
    rows = []
    for positions, label in lines(look, shares, masked):
        if np.isneginf(masked[positions]).all():
            continue
        share = tag("b", esc(share_text(float(shares[positions].sum()))), cls="n")
        alone = len(positions) == 1
        rows.append(
            Row(
                f"{share} × {label}" if alone else f"{label}",
                given[positions].sum(axis=0),
                sign="+" if rows else "",
                says=name,
                before=values[positions[0]] if alone else None,
                before_marks=of_values.part(positions[0]) if alone else None,
            )
        )
    found = look.values(step(look, "heads"))[look.head, look.token]
    changed = marks(look, step(look, "heads"), (look.head, look.token, None))
    says = t("heads.sum.total")
    total = Row(esc(says), found, sign="=", total=True, says=says, marks=changed)
    heads = [t(f"heads.sum.{key}") for key in ("from", "value", "part")]
    return stack(t, [*rows, total], scale.end(look.trace, step(look, "v")), heads=heads)


def product(look: Look) -> list[Cut]:
    """A·V = Z for this head."""
    here, group = (look.head, None, None), (look.kv_head, None, None)
    parts = (("weights", here), ("v", group), ("heads", here))
    return [
        matrix.cut(look.trace, step(look, name), index, title=look.t(f"heads.product.{name}"))
        for name, index in parts
    ]


def side_by_side(look: Look) -> str:
    """What each head found for this token, and the same put in one row."""
    t, parts = look.t, head_parts(look)
    found = look.values(step(look, "heads"))[:, look.token]
    changed = marks(look, step(look, "heads"), (None, look.token, None))
    rows = [
        Row(_dot(head), values, says=t("heads.concat.found", i=str(i)), marks=changed.part(i))
        for i, (head, values) in enumerate(zip(parts, found, strict=True))
    ]
    joined = look.values(step(look, "concat"))[look.token]
    whole = marks(look, step(look, "concat"), (look.token, None))
    total = Row(esc(t("heads.concat.joined")), joined, "=", total=True, marks=whole)
    return stack(t, [*rows, total], scale.end(look.trace, step(look, "concat")), parts=parts)


def _dot(head: Part) -> str:
    name, colour = head
    return tag("span", esc(name), cls="edge", style=f"border-color:{colour}")


def mixed(look: Look) -> str:
    """What each head adds to the stream through its rows of W_O, and their sum."""
    t, out = look.t, step(look, "out")
    written = array(attention.head_outputs(look.trace, look.layer, look.token))
    rows = [
        Row(_dot(head), values, "+" if i else "", says=t("heads.wo.written", i=str(i)))
        for i, (head, values) in enumerate(zip(head_parts(look), written, strict=True))
    ]
    bias = look.trace.weights.get(step(look, "b_O"))
    if bias is not None:
        learned = marks(look, step(look, "b_O"), (None,))
        rows.append(Row("b_O", array(bias), "+", says="b_O", marks=learned))
    found, changed = look.values(out)[look.token], marks(look, out, (look.token, None))
    total = Row(esc(t("heads.wo.total")), found, "=", total=True, marks=changed)
    return stack(t, [*rows, total], scale.end(look.trace, out))


def mixing(look: Look) -> list[Cut]:
    """concat·W_O = out."""
    names = [step(look, name) for name in ("concat", "W_O", "out")]
    titles = (look.t(f"heads.wo.{key}") for key in ("concat", "matrix", "out"))
    return [
        matrix.cut(look.trace, name, title=title) for name, title in zip(names, titles, strict=True)
    ]


def one_projection(look: Look) -> str:
    """One large product cut into heads, beside one product for each head."""
    t, parts = look.t, head_parts(look)
    links = [
        look.state.link(head=i) | {"aria_current": "true" if i == look.head else None}
        for i in range(look.n_heads)
    ]
    found = attention.projections(look.trace, look.layer)
    glued, made = array(found.glued), array(found.product)
    pictures = []
    for key, values, like in (("glued", glued, "W_Q"), ("made", made, "q")):
        rows, columns = values.shape
        title = t(f"heads.one.{key}", rows=rows, columns=columns)
        limit = scale.end(look.trace, step(look, like))
        drawn = columns_by_part(values, limit, parts, title, links)
        drawn += scale.legend(t, ("", limit))
        pictures.append((title, drawn, para(t(f"heads.one.{key}_says"), "says")))
    apart = t("heads.one.difference", n=look.n_heads, multiply_adds=found.multiply_adds)
    return figures(*pictures) + tag(
        "p", esc(apart), " ", tag("b", esc(tiny(found.difference))), cls="outcome"
    )


def of_one_head(look: Look) -> list[Cut]:
    """What of both pictures belongs to the head where we look: its columns, and its queries."""
    here, biased = (look.head, None, None), look.trace.model.config.bias_qkv
    titles = {"W_Q": "glued", "q": "made_biased" if biased else "made"}
    return [
        matrix.cut(
            look.trace,
            step(look, name),
            here,
            title=look.t(f"heads.one.of_head.{key}", i=str(look.head)),
        )
        for name, key in titles.items()
    ]


def both_ways() -> str:
    """The code of both ways, which the test runs and the page has just run."""
    return "\n\n".join(map(inspect.getsource, (attention.head_by_head, attention.split_by_view)))


def shapes(look: Look) -> str:
    """Heads times width against the width of the stream: here, and in models that are known."""
    t, config = look.t, look.trace.model.config
    models = {t("heads.shape.here"): config, "GPT-2": GPT2, "GPT-3": GPT3}
    head = ("model", "heads", "d_head", "product", "d_model", "W_O", "square")
    heads = [t(f"heads.shape.{key}") for key in head]
    top = tag("tr", *(tag("th", esc(name), scope="col") for name in heads))
    rows = (_shape_row(look, heads, name, one, one is config) for name, one in models.items())
    return div("scroll", tag("table", top, *rows, cls="plain shapes stacked"))


def _shape_row(look: Look, heads: Sequence[str], name: str, one: Config, here: bool) -> str:
    joined = one.n_heads * one.d_head
    square = look.t("heads.shape.yes" if joined == one.d_model else "heads.shape.no")
    cells = (
        f"{one.n_heads:,}",
        f"{one.d_head:,}",
        f"{joined:,}",
        f"{one.d_model:,}",
        f"{joined:,} × {one.d_model:,}",
        square,
    )
    named = zip(heads[1:], cells, strict=True)
    row = (tag("td", esc(cell), data_head=head) for head, cell in named)
    return tag("tr", tag("th", esc(name), scope="row"), *row, cls="here" if here else None)


def words(look: Look) -> dict[str, object]:
    """What the texts say about where we look."""
    config = look.trace.model.config
    return {
        "token": plain(look, look.token),
        "n": look.n_heads,
        "joined": config.n_heads * config.d_head,
        "d_model": config.d_model,
    }
