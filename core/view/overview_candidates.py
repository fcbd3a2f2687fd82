"""What comes next: the most probable tokens, and how much of the whole they are."""

from __future__ import annotations

from core.graph import Ref
from core.models.model import Candidate
from core.view.html import bar, cell, div, esc, numbered, para, percent, shown, tag
from core.view.look import Look
from core.view.marks import was

MOST = 8


def next_section(look: Look) -> str:
    """What comes next, with how to go on."""
    says = look.t("overview.next.says", token=shown(look.trace.tokens[-1]))
    return tag(
        "section",
        numbered(2, look.t("overview.next.title")),
        para(says),
        candidates(look),
    )


def candidates(look: Look) -> str:
    """Bars for the likeliest tokens; a click adds one to the text."""
    t, total = look.t, look.trace.model.config.n_vocab
    top = look.trace.top(MOST)
    share = sum(candidate.prob for candidate in top)
    rows = [_row(look, candidate, top[0].prob) for candidate in top]
    body = tag("ol", *rows, cls="bars")
    rest = total - len(top)
    if rest:
        says = t(
            "overview.next.share",
            n=len(top),
            share=percent(share),
            rest=rest,
            others=percent(1 - share),
            total=total,
        )
    else:
        says = t("overview.next.all", n=total)
    return body + _whole(share if rest else 1.0, says)


def _whole(share: float, says: str) -> str:
    """One bar for 100 %, filled as far as the shown tokens reach."""
    bar = div("whole", tag("span", style=f"width:{share:.4%}"), role="img", aria_label=says)
    return bar + tag("p", esc(says), cls="says")


def _row(look: Look, candidate: Candidate, top: float) -> str:
    seen, value = shown(candidate.text, 14), percent(candidate.prob)
    length = bar(candidate.prob / top)
    old = was(look, Ref("probs", (len(look.trace) - 1, candidate.id)))
    share = cell("span", esc(value), old, cls="value")
    inner = tag("code", esc(seen)) + length + share
    says = look.t("overview.next.add", token=seen, share=value)
    if "⟨" in candidate.text:  # only part of a character: no text that could be added
        return tag("li", tag("span", inner, cls="row"))
    link = tag(
        "a", inner, cls="row", aria_label=says, title=says, **look.state.link(add=candidate.id)
    )
    return tag("li", link)
