"""The pictures of the Embedding page: rows of a table, the product, angles, neighbours, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch.utils.weak import WeakTensorKeyDictionary

import core
from core.analysis import embedding as analysis
from core.graph import explain as exact
from core.models.gpt2_tokenizer import gpt2_tokenizer
from core.models.model import PromptTrace
from core.models.published import GPT3
from core.view import matrix
from core.view.cut import Cut
from core.view.figures import SHARE, token_colour
from core.view.html import chip, div, esc, number, shown, tag, tiny
from core.view.look import Look
from core.view.model_names import title
from core.view.sketch import angle_picture, facts, vector_text

SMALL = 12  # words of a vocabulary that is shown whole
AROUND = 2  # rows shown on either side of the token's row in a larger one
NEIGHBOURS = 8
SAME = 0.98  # cosine from which two rows are practically one
ANIMALS = {"cat": (0.2, 0.9, 0.1), "dog": (0.3, 0.8, 0.2), "car": (0.9, 0.1, 0.4)}
SPLITS = ("cat sat", "someunknownPlace")

# By table, which all texts share and an edit replaces: what was asked of its rows.
_near, _twins = WeakTensorKeyDictionary(), WeakTensorKeyDictionary()


def table_rows(look: Look) -> list[int]:
    """The rows of W_E to show: all of a small table, else those around the token's own."""
    n_vocab, own = look.trace.model.config.n_vocab, look.trace.ids[look.token]
    if n_vocab <= SMALL:
        return list(range(n_vocab))
    first = max(0, min(own - AROUND, n_vocab - 2 * AROUND - 1))
    return list(range(first, first + 2 * AROUND + 1))


def table(look: Look, title: str, note: str = "") -> Cut:
    """W_E, or the part of it around the token's row, which has an arrow."""
    rows, own = table_rows(look), look.trace.ids[look.token]
    text = look.trace.model.tokenizer.token_text
    labels = [f"{'▶ ' if row == own else ''}{shown(text(row), 12)} {row}" for row in rows]
    name, index = "embed.W_E", (rows, None)
    return matrix.cut(look.trace, name, index, title=title, note=note, row_labels=labels)


def own_row(look: Look, name: str, title: str, note: str = "") -> Cut:
    """The row of the token where we look."""
    label = f"{shown(look.trace.tokens[look.token], 12)} {look.token}"
    index = (look.token, None)
    return matrix.cut(look.trace, name, index, title=title, note=note, row_labels=[label])


def written_product(look: Look, most: int = 7) -> str:
    """The first number of the product written out: nothing but zeros and one row that counts.

    Of a long sum only the terms around the token's own are shown.
    """
    own = look.trace.ids[look.token]
    column = look.trace.weights["embed.W_E"][:, 0].tolist()
    first = 0 if len(column) <= most else max(0, min(own - 1, len(column) - 3))
    last = len(column) if len(column) <= most else first + 3
    terms = []
    for i in range(first, last):
        cls = "one" if i == own else "zero"
        value = exact.number(column[i])
        written = f"({value})" if column[i] < 0 else value
        terms.append(tag("span", esc(f"{1 if i == own else 0}·{written}"), cls=cls))
    parts = [*(["…"] if first else []), *terms, *(["…"] if last < len(column) else [])]
    result = exact.number(analysis.onehot_product(look.trace, look.token).product[0].item())
    return div("arithmetic", " + ".join(parts), tag("b", esc(f" = {result}")))


def onehot_lines(look: Look, rows: Sequence[int | range]) -> str:
    """One-hot rows drawn to scale: a line for the whole vocabulary, a mark where the 1 is."""
    n_vocab, trace = look.trace.model.config.n_vocab, look.trace
    lines = []
    for row in rows:
        if isinstance(row, range):
            lines.append(look.gap("onehot", row))
            continue
        own = trace.ids[row]
        says = look.t("path.one_at", id=str(own))
        mark = tag("i", style=f"left:{100 * own / n_vocab:.2f}%;background:{token_colour(row)}")
        lines.append(chip(trace.tokens[row], row, None))
        lines.append(div("line", mark, role="img", aria_label=says, title=says))
    ends = div("ends", tag("span", "0"), tag("span", esc(f"{n_vocab - 1:,}")))
    return div("onehots", *lines, tag("span", ""), ends)


def both_ways(look: Look) -> str:
    """The row by multiplying and by looking up, and what each takes."""
    t, trace, here = look.t, look.trace, look.token
    done = analysis.onehot_product(trace, here)
    rows = {"product": done.product, "lookup": trace["embed.token"][here]}
    looked_up = trace.cost("embed.token").multiply_adds // len(trace)
    work = {"product": (done.multiply_adds, done.zeros), "lookup": (looked_up, 0)}
    lines = [
        [
            t(f"embedding.ways.{way}"),
            look.some_numbers(row.double().cpu().numpy(), 3),
            f"{work[way][0]:,}",
            f"{work[way][1]:,}",
        ]
        for way, row in rows.items()
    ]
    heads = [t(f"embedding.ways.{key}") for key in ("way", "row", "work", "zeros")]
    said = t("embedding.ways.same", n=len(done.product), difference=tiny(done.difference))
    return facts(heads, lines, "plain stacked") + tag("p", esc(said), cls="result")


def zero_share(n_vocab: int) -> float:
    """The share of a one-hot row that is zero."""
    return (n_vocab - 1) / n_vocab


def written_share(share: float) -> str:
    """As many digits as it takes not to round up to everything."""
    return f"{100 * share:.1f} %" if share < 0.999 else f"{100 * share:.3f} %"


def animals(look: Look) -> str:
    """Three made-up vectors of three numbers, and the two cosines between them."""
    return div("pairs", *(_pair(look, other) for other in ("dog", "car")))


def _pair(look: Look, other: str) -> str:
    t = look.t
    a, b = (torch.tensor(ANIMALS[name], dtype=torch.float64) for name in ("cat", other))
    cos, dot = analysis.cosine(a, b), (a @ b).item()
    one, two = t("embedding.animals.cat"), t(f"embedding.animals.{other}")
    terms = " + ".join(f"{x:g}·{y:g}" for x, y in zip(a.tolist(), b.tolist(), strict=True))
    lines = [
        f"{one} {vector_text(a.tolist())}",
        f"{two} {vector_text(b.tolist())}",
        f"a·b = {terms} = {dot:.4g}",
        f"|a| = {a.norm().item():.4f}, |b| = {b.norm().item():.4f}",
    ]
    picture = angle_picture(a.norm().item(), b.norm().item(), cos, (one, two))
    result = tag("p", esc("cos = "), tag("b", esc(f"{cos:.4f}")), cls="cos")
    body = div("sums", *(tag("p", esc(line)) for line in lines), result)
    return tag("figure", picture, body, cls="pair")


def neighbours(look: Look) -> str:
    """The tokens whose rows of W_E point most nearly where this token's row points."""
    own = look.trace.ids[look.token]
    found = nearest(look.trace, own)
    bars = []
    for one in found:
        width = f"width:{100 * max(one.cosine, 0.0):.1f}%;background:{SHARE}"
        bar = tag("span", tag("i", style=width), cls="bar")
        word = tag("code", esc(shown(one.text, 18)), tag("small", esc(f" {one.id}")))
        bars.append(tag("li", word, bar, tag("span", esc(number(one.cosine, 3)), cls="value")))
    return tag("ol", *bars, cls="near")


def nearest(trace: PromptTrace, token_id: int) -> list[analysis.Neighbour]:
    """The nearest few, the nearest first."""
    known = _near.setdefault(trace.weights["embed.W_E"], {})
    if token_id not in known:
        known[token_id] = analysis.nearest(trace, token_id, NEIGHBOURS)
    return known[token_id]


def twins(trace: PromptTrace, token_id: int) -> int:
    """How many other tokens have practically the same row."""
    rows = trace.weights["embed.W_E"]
    known = _twins.setdefault(rows, {})
    if token_id not in known:
        alike = analysis.cosines(trace, token_id) >= SAME
        alike[token_id] = False
        known[token_id] = int(alike.sum())
    return known[token_id]


@lru_cache(maxsize=8)
def chance(n_vocab: int, d_model: int) -> float:
    """The largest cosine of one random vector with as many others as there are tokens."""
    make = torch.Generator().manual_seed(0)
    others = torch.randn(n_vocab, d_model, generator=make)
    one = torch.randn(d_model, generator=make)
    cosines = others @ one / (others.norm(dim=-1) * one.norm())
    return cosines.max().item()


@lru_cache(maxsize=1)
def made_up() -> tuple[str, str, float]:
    """Two words of the worked example and the cosine of their rows of W_E, which nobody trained."""
    model = core.load("worked-example", preset="part-1")
    first, second = model.weights["embed.W_E"][:2]
    text = model.tokenizer.token_text
    return text(0), text(1), analysis.cosine(first, second)


def splits() -> str:
    """Texts cut by GPT-2's real tokenizer: pieces and IDs."""
    tokenizer = gpt2_tokenizer()
    lines = []
    for text in SPLITS:
        ids = tokenizer.encode(text)
        pieces = (
            tag("span", tag("b", esc(shown(tokenizer.token_text(i)))), tag("small", esc(str(i))))
            for i in ids
        )
        arrow = tag("span", "→", cls="arrow", aria_hidden="true")
        lines.append(tag("li", tag("code", esc(shown(text))), arrow, *pieces))
    return tag("ul", *lines, cls="splits")


def sizes(look: Look) -> str:
    """The same few sizes of this model and of GPT-3, all computed."""
    t, config = look.t, look.trace.model.config
    rows = []
    for key, count in {
        "vocab": lambda c: f"{c.n_vocab:,}",
        "width": lambda c: f"{c.d_model:,}",
        "table": lambda c: f"{c.n_vocab:,} × {c.d_model:,} = {c.n_vocab * c.d_model:,}",
        "zeros": lambda c: written_share(zero_share(c.n_vocab)),
        "ctx": lambda c: f"{c.n_ctx:,}",
        "places": lambda c: f"{c.n_ctx:,} × {c.d_model:,} = {c.n_ctx * c.d_model:,}",
    }.items():
        rows.append([t(f"embedding.sizes.{key}"), count(config), count(GPT3)])
    heads = ["", title(t, look.trace.model.key), "GPT-3"]
    return facts(heads, rows, "plain stacked")
