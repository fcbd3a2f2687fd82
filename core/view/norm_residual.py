"""What is drawn about the residual: sums of rows, and the gradients that shortcuts let through."""

from __future__ import annotations

from functools import cache

from core.analysis.gradients import layer_gradients
from core.view import matrix, scale
from core.view.cut import Cut
from core.view.html import div, esc, number, percent, tag
from core.view.look import Look
from core.view.marks import marks
from core.view.stripes import Row, share_bar, stack

PLACES = {"attn": "resid_mid", "mlp": "resid_out"}
SLOPE, LAYERS = 0.1, 5  # of an example: what each layer lets through


def additions(look: Look) -> list[str]:
    """The parts of this block that have a shortcut around them."""
    config = look.trace.model.config
    has = {"attn": True, "mlp": config.d_mlp > 0}
    return [part for part in config.residual if config.n_layers and has[part]]


def added(look: Look, part: str) -> str:
    """What the token carried, what a part adds, and what it carries on."""
    t, (name, inputs) = look.t, _sum(look, part)
    rows = [
        Row(
            esc(t(f"norm.add.{key}")),
            look.values(step)[look.token],
            sign,
            says=t(f"norm.add.{key}"),
            marks=marks(look, step, (look.token, None)),
        )
        for key, step, sign in (("carried", inputs[0], ""), (part, inputs[1], "+"))
    ]
    found, changed = look.values(name)[look.token], marks(look, name, (look.token, None))
    total = Row(esc(t("norm.add.total")), found, "=", total=True, marks=changed)
    return stack(t, [*rows, total], scale.end(look.trace, name))


def step(look: Look, part: str) -> str:
    """The step in which what a part found is added to the stream."""
    return f"blocks.{look.layer}.{PLACES[part]}"


def _sum(look: Look, part: str) -> tuple[str, tuple[str, ...]]:
    name = step(look, part)
    return name, look.trace.step(name).inputs


def sums(look: Look, part: str) -> list[Cut]:
    """The same for all tokens."""
    name, inputs = _sum(look, part)
    signs = ("", "+ ", "= ")
    keys = ("carried", part, "total")
    return [
        matrix.cut(look.trace, step, title=sign + look.t(f"norm.add.{key}"))
        for step, sign, key in zip((*inputs, name), signs, keys, strict=True)
    ]


@cache
def _gradients(shortcuts: bool) -> tuple[float, ...]:
    return tuple(layer_gradients(shortcuts))


def gradients(look: Look) -> str:
    """What reaches each of five layers, without and with shortcuts, against the last."""
    t = look.t
    columns = []
    for shortcuts in (False, True):
        found = _gradients(shortcuts)
        rows = [
            tag(
                "tr",
                tag("th", esc(t("norm.deep.layer", i=str(i))), scope="row"),
                tag("td", share_bar(value / found[-1], percent(value / found[-1])), cls="share"),
                tag("td", esc(f"{value:.5f}")),
            )
            for i, value in enumerate(found, 1)
        ]
        title = t("norm.deep.with" if shortcuts else "norm.deep.without")
        head = ("norm.deep.from", "norm.deep.share", "norm.deep.gradient")
        top = tag("tr", *(tag("th", esc(t(key)), scope="col") for key in head))
        table = tag("table", top, *rows, cls="followed")
        columns.append(
            tag("figure", tag("figcaption", esc(title)), div("scroll", table), cls="one")
        )
    return div("beside-each-other wide", *columns)


def depth() -> dict[str, object]:
    """Numbers for the sentences about the gradients."""
    without, through = _gradients(False), _gradients(True)
    return {
        "fraction": round(without[-1] / without[0]),
        "fraction_with": round(through[-1] / through[0]),
        "times": round(through[0] / without[0]),
        "slope": number(SLOPE, 1),
        "n": LAYERS,
        "product": f"{SLOPE**LAYERS:.5f}",
        "product_with": number((1 + SLOPE) ** LAYERS),
    }
