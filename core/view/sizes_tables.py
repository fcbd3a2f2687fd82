"""Arithmetic as tables: each figure with the product or sum that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from core import sizes
from core.models.config import Config
from core.sizes import GIB, Line
from core.view.html import bar, div, esc, number, percent, tag
from core.view.texts import Text

UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
WORDS = ("norms", "bytes", "tokens", "batch")  # factors that are words, not symbols


def whole(value: float) -> str:
    """124,439,808; a number that is not whole keeps two digits."""
    return f"{int(value):,}" if value == int(value) else f"{value:,.2f}"


def short(value: float) -> str:
    """8.03 B, as people say it."""
    for size, unit in UNITS:
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return whole(value)


def bytes_text(value: float) -> str:
    """9.00 GiB; KiB, MiB or bytes where that is more readable."""
    for size, unit in ((GIB * 1024, "TiB"), (GIB, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= size:
            return f"{value / size:,.2f} {unit}"
    return f"{whole(value)} B"


def seconds_text(value: float) -> str:
    """3.2 ms, 12 s, 5 min."""
    for size, unit in ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s")):
        if value < 1000 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 60:,.0f} min"


def product(t: Text, line: Line) -> str:
    """`12 × 768 × 3,072`, and beneath it what each factor is."""
    numbers = " × ".join(whole(factor) for _, factor in line.factors)
    names = " × ".join(
        t(f"sizes.factor.{name}") if name in WORDS else name for name, _ in line.factors
    )
    return tag("span", esc(numbers), cls="n") + tag("small", esc(names))


def parameters(t: Text, config: Config) -> str:
    """Every matrix with its product, and what it is of all."""
    lines = sizes.parameters(config)
    total = sizes.total(lines)
    rows = []
    for group, some in groupby(lines, key=lambda line: line.group):
        some = list(some)
        held = sizes.total(some)
        head = tag("th", esc(t(f"sizes.group.{group}")), colspan="2", scope="rowgroup")
        share = bar(held / total) + tag("span", esc(percent(held / total)), cls="n")
        sums = tag("td", esc(whole(held)), cls="n")
        rows.append(tag("tr", head, sums, tag("td", share, cls="part"), cls="group"))
        rows += [_line(t, line) for line in some]
    sums = tag("td", tag("b", esc(whole(total))), cls="n")
    name = tag("th", esc(t("sizes.total")), colspan="2")
    end = tag("tr", name, sums, tag("td", esc(short(total)), cls="part"))
    return div("scroll", tag("table", *rows, end, cls="sums matrices"), tabindex="0")


def _line(t: Text, line: Line) -> str:
    name = tag("th", esc(t(f"sizes.line.{line.key}")), scope="row")
    return tag(
        "tr",
        name,
        tag("td", product(t, line), cls="made"),
        tag("td", esc(whole(line.value)), cls="n"),
        tag("td"),
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    here: int | None = None,
    *,
    cls: str = "sums plain stacked",
) -> str:
    """A plain table; cells are HTML. here: the row that is marked.

    A stacked one is a list of rows on a phone, each cell behind the head of its column.
    """
    top = tag("tr", *(tag("th", esc(name), scope="col") for name in head))
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(
                tag("td", cell, cls="n", data_head=name)
                for name, cell in zip(head[1:], row[1:], strict=True)
            ),
            cls="here" if i == here else None,
        )
        for i, row in enumerate(rows)
    ]
    return div("scroll", tag("table", top, *body, cls=cls), tabindex="0")


def precisions(t: Text, config: Config) -> str:
    """The weights in memory, for each precision."""
    count = sizes.total(sizes.parameters(config))
    most = sizes.weight_bytes(config, "fp32")
    rows = []
    for precision, each in sizes.PRECISIONS.items():
        held = sizes.weight_bytes(config, precision)
        made = f"{whole(count)} × {number(each, 1 if each < 1 else 0)} B"
        rows.append((esc(precision), esc(made), esc(bytes_text(held)), bar(held / most)))
    return table([t(f"sizes.head.{key}") for key in ("precision", "made", "memory", "bar")], rows)


def cache(t: Text, config: Config, n_tokens: int, batch: int, precision: str) -> str:
    """The cache's product, written out."""
    line = sizes.cache(config, n_tokens, batch, precision)
    result = tag("b", esc(f"= {whole(line.value)} B = {bytes_text(line.value)}"))
    return div("written", product(t, line), result)


def sharing(t: Text, config: Config, precision: str) -> str:
    """The cache per token, if every query head had its own keys and values, and if all shared."""
    rows, wanted = [], {config.n_heads: "mha", config.n_kv_heads: "own", 1: "mqa"}
    most = sizes.cache(_sharing(config, config.n_heads), 1, 1, precision).value
    for heads, key in sorted(wanted.items(), reverse=True):
        held = sizes.cache(_sharing(config, heads), 1, 1, precision).value
        name = t(f"sizes.sharing.{key}", heads=config.n_heads, n=heads)
        part = f"1/{config.n_heads // heads}" if heads < config.n_heads else "1"
        rows.append((esc(name), esc(whole(held) + " B"), esc(part), bar(held / most)))
    heads = [t(f"sizes.head.{key}") for key in ("heads", "per_token", "against", "bar")]
    here = sorted(wanted, reverse=True).index(config.n_kv_heads)
    return table(heads, rows, here)


def _sharing(config: Config, heads: int) -> Config:
    return Config.from_dict(config.to_dict() | {"n_kv_heads": heads})


def fits(t: Text, needed: Sequence[tuple[str, float]], memory: float) -> str:
    """The sum of what is needed beside what there is, and the verdict."""
    total = sum(value for _, value in needed)
    most = max(total, memory)
    rows = [
        (esc(t(f"sizes.need.{name}")), esc(bytes_text(value)), bar(value / most))
        for name, value in needed
    ]
    rows.append(
        (tag("b", esc(t("sizes.total"))), tag("b", esc(bytes_text(total))), bar(total / most))
    )
    rows.append((esc(t("sizes.need.memory")), esc(bytes_text(memory)), bar(memory / most)))
    heads = [t(f"sizes.head.{key}") for key in ("what", "memory", "bar")]
    key = "yes" if total <= memory else "no"
    left = t(f"sizes.fit.{key}", left=bytes_text(abs(memory - total)))
    return table(heads, rows, len(needed)) + div(f"verdict {key}", esc(left), role="status")
