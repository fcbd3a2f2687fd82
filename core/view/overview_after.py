"""The next-token distribution before and after a change, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.view.compare import Comparison
from core.view.html import MINUS, bar, div, esc, para, percent, shown, tag
from core.view.look import Look

MOST = 8  # candidates of either side
LEAST = 0.0001  # percentage points that are written out
HEADS = ("token", "before", "after", "change")


@dataclass(frozen=True)
class Fate:
    """One token of the vocabulary as the next one: its probability before and after."""

    id: int
    before: float
    after: float


def fates(compared: Comparison) -> list[Fate] | None:
    """The likeliest tokens of either side, those with the largest probability of both first.

    None if the two do not have the same vocabulary.
    """
    rows = _last_rows(compared)
    if rows is None:
        return None
    before, after = rows
    best = torch.maximum(before, after).argsort(descending=True, stable=True)[:MOST]
    return [Fate(int(i), before[i].item(), after[i].item()) for i in best]


def moved(compared: Comparison) -> float:
    """How much of the probability is at other tokens than before: half of all differences."""
    before, after = _last_rows(compared)
    return (after.double() - before.double()).abs().sum().item() / 2


def _last_rows(compared: Comparison) -> tuple[torch.Tensor, torch.Tensor] | None:
    before, after = (trace.row("probs").cpu() for trace in (compared.before, compared.after))
    return (before, after) if before.shape == after.shape else None


def next_before_and_after(look: Look) -> str:
    """Bars before and after for the likeliest tokens, with the change in percentage points."""
    t, compared = look.t, look.compared
    found = fates(compared)
    head = tag("h3", esc(t("ripple.next.title")))
    if found is None:
        return tag("section", head, para(t("ripple.next.apart"), "says"), cls="fates")
    says = para(t("ripple.next.says"), "says")
    longest = max(max(fate.before, fate.after) for fate in found)
    heads = (tag("th", esc(t(f"ripple.next.{key}")), scope="col") for key in HEADS)
    rows = (_row(look, fate, longest) for fate in found)
    table = tag("table", tag("tr", *heads), *rows)
    return tag("section", head, says, div("scroll", table), _outcome(look), cls="fates")


def _row(look: Look, fate: Fate, longest: float) -> str:
    gap = fate.after - fate.before
    points = look.t("ripple.next.points", points=_points(gap)) if gap else "="
    name = tag("th", tag("code", esc(_text(look, fate.id))), scope="row")
    cells = (
        tag("td", bar(share / longest), tag("span", esc(percent(share))), cls=cls)
        for cls, share in (("was", fate.before), ("is", fate.after))
    )
    cls = "up" if gap > 0 else "down" if gap < 0 else "even"
    return tag("tr", name, *cells, tag("td", esc(points), cls=cls))


def _points(gap: float) -> str:
    """A change in percentage points with its sign."""
    sign, size = "+" if gap > 0 else MINUS, abs(100 * gap)
    if size >= 1:
        return f"{sign}{size:.1f}"
    return f"{sign}{size:.1g}" if size >= LEAST else f"{sign} < {LEAST}"


def _text(look: Look, token_id: int) -> str:
    return shown(look.compared.after.model.tokenizer.token_text(token_id), 14)


def _outcome(look: Look) -> str:
    """Which token is the likeliest now, and how much of the whole moved."""
    compared, t = look.compared, look.t
    before, after = (int(row.argmax()) for row in _last_rows(compared))
    old, new = _text(look, before), _text(look, after)
    key = "same_best" if before == after else "other_best"
    best = t(
        f"ripple.next.{key}", **({"token": new} if before == after else {"old": old, "token": new})
    )
    share = moved(compared)
    rest = t("ripple.next.moved", share=percent(share)) if share else t("ripple.next.still")
    return para(" ".join(filter(None, (_last(look), best, rest))), "result")


def _last(look: Look) -> str:
    """That the two distributions come after different tokens, where the text ends elsewhere."""
    compared = look.compared
    old, new = compared.before, compared.after
    if compared.rows[-1] == len(old) - 1 and old.ids[-1] == new.ids[-1]:
        return ""
    was, now = (shown(one.tokens[-1].strip() or one.tokens[-1]) for one in (old, new))
    return look.t("ripple.next.other_last", old=was, token=now)
