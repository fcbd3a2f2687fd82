"""The pictures of the Q, K, V page: three jobs, three projections, what is kept and what is not."""

from __future__ import annotations

import math

import torch

from core.view import matrix, scale
from core.view.cut import Cut
from core.view.figures import signed_picture
from core.view.html import chip, div, esc, image, para, shown, tag
from core.view.look import Look
from core.view.marks import marks
from core.view.sketch import choice, facts, row_of_values

LETTERS = ("Q", "K", "V")
LETTER = "letter"  # the state: which of the three matrices is read
FEW_TOKENS = 6  # of a text in a drawing
UNITS = ("B", "KB", "MB", "GB")


def name(look: Look, part: str) -> str:
    """A step or weight of attention in the block where we look."""
    return f"blocks.{look.layer}.attn.{part}"


def head_of(look: Look, letter: str) -> int:
    """The head to show: keys and values may be shared by several query heads."""
    return look.head if letter == "Q" else look.kv_head


def source(look: Look) -> str:
    """The step that is projected: the stream, or the norm of it."""
    return look.trace.step(name(look, "q")).inputs[0]


def projected(look: Look, letter: str, title: str = "", note: str = "") -> Cut:
    """Q, K or V of the head where we look."""
    index = (head_of(look, letter), None, None)
    return matrix.cut(look.trace, name(look, letter.lower()), index, title=title, note=note)


def weights(look: Look, letter: str, title: str = "") -> Cut:
    """W_Q, W_K or W_V of the head where we look."""
    index = (head_of(look, letter), None, None)
    return matrix.cut(look.trace, name(look, f"W_{letter}"), index, title=title)


def jobs(look: Look) -> str:
    """Question, index card, content: each with the row that the token has for it."""
    t, cards = look.t, []
    for letter in LETTERS:
        step = name(look, letter.lower())
        row = look.trace[step][head_of(look, letter), look.token].double().cpu().numpy()
        changed = marks(look, step, (head_of(look, letter), look.token, None))
        says = t(f"steps.attn.{letter.lower()}.title")
        cards.append(
            div(
                "job",
                tag("h3", tag("b", esc(letter)), esc(t(f"qkv.jobs.{letter}.name"))),
                para(t(f"qkv.jobs.{letter}.says"), "says"),
                row_of_values(row, scale.end(look.trace, step), says, changed),
            )
        )
    return div("jobs", *cards) + scale.legend(t, ("", scale.end(look.trace, name(look, "q"))))


def projection(look: Look, here: str) -> str:
    """For wide models: the token's row, the three matrices, and the three rows that come out.

    here: the letter of the matrix that is chosen to be read.
    """
    t, trace = look.t, look.trace
    x = trace[source(look)][look.token].double().cpu().numpy()
    changed = marks(look, source(look), (look.token, None))
    strip = row_of_values(x, scale.end(trace, source(look)), t("qkv.projection.x"), changed)
    token = chip(trace.tokens[look.token], look.token, None)
    parts = []
    for letter in LETTERS:
        matrix_name, step = name(look, f"W_{letter}"), name(look, letter.lower())
        head = head_of(look, letter)
        values = trace.weights[matrix_name][head].double().cpu().numpy()
        rows, columns = values.shape
        says = t("qkv.projection.alt", letter=letter, rows=rows, columns=columns)
        some = marks(look, matrix_name, (head, None, None)).some()
        drawn = signed_picture(values, scale.end(trace, matrix_name))
        cls = "weights changed" if some else "weights"
        picture = image(drawn, f"{says} {some}".strip(), cls=cls, title=some)
        row = trace[step][head, look.token].double().cpu().numpy()
        title, changed = (
            t(f"steps.attn.{letter.lower()}.title"),
            marks(look, step, (head, look.token, None)),
        )
        result = row_of_values(row, scale.end(trace, step), title, changed)
        shape = tag("small", esc(f" {rows} × {columns}"))
        name_of = tag("b", esc(f"· W_{letter}"), shape)
        parts.append(
            div(
                "through",
                choice(look, LETTER, letter, here, [name_of, picture]),
                tag("p", tag("b", esc(f"= {letter.lower()}")), tag("small", esc(f" {columns}"))),
                result,
            )
        )
    start = div("start", tag("b", "x "), token, tag("small", esc(f" {len(x)}")), strip)
    shown_here = {"x": source(look), "W": name(look, "W_Q"), "q, k, v": name(look, "q")}
    ends = ((label, scale.end(trace, drawn)) for label, drawn in shown_here.items())
    return start + div("throughs", *parts) + scale.legend(t, *ends)


def identity(look: Look) -> float | None:
    """The largest difference between Q, K, V and X where every W is the identity, else None."""
    trace = look.trace
    for letter in LETTERS:
        matrices = trace.weights[name(look, f"W_{letter}")]
        square = matrices.shape[1] == matrices.shape[2]
        if not square or not torch.equal(
            matrices, torch.eye(matrices.shape[1]).to(matrices).expand_as(matrices)
        ):
            return None
    x = trace[source(look)]
    return max((trace[name(look, part)] - x).abs().max().item() for part in "qkv")


def kept_and_gone(look: Look) -> str:
    """Weights against values: how many numbers, for this text and for the longest one."""
    t, trace = look.t, look.trace
    n, n_ctx = len(trace), trace.model.config.n_ctx
    rows = []
    for letter in LETTERS:
        shape = trace.shape(name(look, f"W_{letter}"))
        count = math.prod(shape)
        rows.append(_line(look, f"W_{letter}", shape, count, count, "kept"))
    turned = trace.model.config.position == "rotary"  # then what is turned is kept
    parts = {"q": "Q", "k": "K", "v": "V"}
    parts |= {"q_rotated": "Q′", "k_rotated": "K′"} if turned else {}
    for part, label in (parts | {"weights": "A"}).items():
        shape = trace.shape(name(look, part))
        longest = [n_ctx if size == n and i > 0 else size for i, size in enumerate(shape)]
        if part != "weights":
            longest = [shape[0], n_ctx, shape[2]]
        count, most = math.prod(shape), math.prod(longest)
        kept = part in ("k_rotated" if turned else "k", "v") and trace.model.config.causal
        rows.append(_line(look, label, shape, count, most, "cached" if kept else "gone"))
    heads = ["", *(t(f"qkv.table.{key}") for key in ("shape", "now"))]
    heads += [t("qkv.table.longest", n=n_ctx), t("qkv.table.life")]
    return facts(heads, rows, "plain stacked worded")


def _line(
    look: Look, label: str, shape: tuple[int, ...], count: int, most: int, life: str
) -> list[str]:
    each = look.trace.weights["embed.W_E"].element_size()
    return [
        label,
        " × ".join(f"{size:,}" for size in shape),
        f"{count:,} · {bytes_text(count * each)}",
        f"{most:,} · {bytes_text(most * each)}",
        look.t(f"qkv.life.{life}"),
    ]


def bytes_text(count: int) -> str:
    """Bytes in the largest unit that leaves at least 1."""
    power = min(int(math.log(max(count, 1), 1000)), len(UNITS) - 1)
    return f"{count / 1000**power:.3g} {UNITS[power]}"


def one_or_two_texts(look: Look) -> str:
    """Self-attention beside attention between two texts."""
    t, tokens = look.t, look.trace.tokens
    own = [chip(token, i, None) for i, token in enumerate(tokens[:FEW_TOKENS])]
    if len(tokens) > FEW_TOKENS:
        own.append(look.left_out(len(tokens) - FEW_TOKENS))
    original, translation = (
        [tag("span", esc(word), cls="piece") for word in t(f"qkv.two.{key}").split()]
        for key in ("original", "translation")
    )
    return div(
        "jobs", _asking(look, "self", own, own), _asking(look, "cross", translation, original)
    )


def _asking(look: Look, key: str, asks: list[str], answers: list[str]) -> str:
    """Who asks and who answers."""
    t = look.t
    return div(
        "job",
        tag("h3", esc(t(f"qkv.two.{key}.name"))),
        para(t(f"qkv.two.{key}.says"), "says"),
        div("asking", tag("b", "Q ←"), div("chips", *asks)),
        div("asking", tag("b", "K, V ←"), div("chips", *answers)),
    )


def words(look: Look) -> dict[str, object]:
    """What the texts say about where we look."""
    config = look.trace.model.config
    return {
        "token": shown(look.trace.tokens[look.token]),
        "head": str(look.head),
        "layer": str(look.layer),
        "heads": config.n_heads,
        "n": config.n_heads,
        "kv": config.n_kv_heads,
        "each": config.n_heads // config.n_kv_heads,
        "kv_head": str(look.kv_head),
        "d": config.d_model,
        "d_head": config.d_head,
        "both": config.n_heads * config.d_head,
    }
