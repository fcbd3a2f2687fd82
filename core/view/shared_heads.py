"""Which query heads use which keys and values, drawn: a box for each pair of K and V."""

from __future__ import annotations

from core.view.figures import TOKEN_COLOURS
from core.view.html import div, esc, tag
from core.view.look import Look


def picture(look: Look) -> str:
    """A box for each pair of keys and values, with the query heads that ask it as links."""
    config = look.trace.model.config
    each = config.n_heads // config.n_kv_heads
    boxes = []
    for group in range(config.n_kv_heads):
        style = f"--ink:{TOKEN_COLOURS[group % len(TOKEN_COLOURS)]}"
        asking = (_asking(look, head) for head in range(group * each, (group + 1) * each))
        used = tag("span", esc(look.t("generation.sharing.kv", i=str(group))), cls="kv-head")
        boxes.append(div("kv-group", div("q-heads", *asking), used, style=style))
    return div("sharing", *boxes)


def _asking(look: Look, head: int) -> str:
    here = head == look.head
    return tag(
        "a",
        esc(look.t("generation.sharing.q", i=str(head))),
        cls="q-head here" if here else "q-head",
        aria_current="true" if here else None,
        **look.state.link(head=head),
    )
