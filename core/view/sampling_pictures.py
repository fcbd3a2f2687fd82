"""A stage of sampling as bars: before, after, and what was taken out."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.analysis.sampling import Effect, Row, likeliest
from core.view.html import div, esc, number, percent, shown, tag
from core.view.look import Look

TOP = 8  # tokens with a row of their own


@dataclass(frozen=True)
class Bars:
    """A token, or all others: its probability before, the part of it that went, and after.

    gone, came: whether it is out after, or was out before. note: under its name.
    """

    name: str
    before: float
    lost: float
    after: float
    beside: str = ""
    note: str = ""
    gone: bool = False
    came: bool = False


def token(look: Look, token_id: int, longest: int = 14) -> str:
    """A token's text for the eye."""
    return shown(look.trace.model.tokenizer.token_text(token_id), longest)


def rows_for(name: str, logits: torch.Tensor, previous: list[int]) -> list[int]:
    """The tokens with a row: the likeliest, and for a penalty also those that it reaches."""
    if name != "repetition_penalty" or len(logits) <= TOP:
        return likeliest(logits, TOP)
    ids = {*likeliest(logits, TOP // 2), *likeliest(logits, TOP // 2, previous)}
    return likeliest(logits, TOP, sorted(ids))


def stage(look: Look, found: Effect, previous: list[int]) -> str:
    """The tokens before and after a stage, and all others as one."""
    t, seen = look.t, set(previous)
    rows = [_token_bars(look, found, row, seen) for row in found.rows]
    if found.rest.n:
        rest = found.rest
        name = t("sampling.rest", n=rest.n)
        beside = t("sampling.rest_kept", n=rest.kept) if 0 < rest.kept < rest.n else ""
        rows.append(Bars(name, rest.before, rest.lost, rest.after, beside, gone=not rest.kept))
    return bars(look, rows, t(f"sampling.stage.{found.name}.column"))


def _token_bars(look: Look, found: Effect, row: Row, seen: set[int]) -> Bars:
    punished = found.name == "repetition_penalty" and row.id in seen
    note = look.t("sampling.seen") if punished else ""
    lost, name = 0.0 if row.stays else row.before, token(look, row.id)
    beside = _beside(found.name, row)
    return Bars(name, row.before, lost, row.after, beside, note, gone=not row.stays)


def _beside(name: str, row: Row) -> str:
    """What decides about a token, in numbers."""
    if name == "top_k":
        return str(int(row.decides))
    if name in ("top_p", "min_p"):
        return percent(row.decides)
    if row.turned is None or row.turned == row.decides:
        return number(row.decides)
    return f"{number(row.decides)} → {number(row.turned)}"


def bars(look: Look, rows: list[Bars], column: str) -> str:
    """Bars of one scale, before above after; hatched is what goes."""
    t, longest = look.t, max((max(row.before, row.after) for row in rows), default=1.0) or 1.0
    heads = (t("sampling.bars.token"), column, "", t("sampling.bars.probability"))
    head = tag("li", *(tag("span", esc(text)) for text in heads), cls="sift head")
    drawn = [_bars(look, row, longest) for row in rows]
    return tag("ol", head, *drawn, cls="sifted") + _legend(look, rows)


def _bars(look: Look, row: Bars, longest: float) -> str:
    same = row.before == row.after and not row.gone
    kept = _part(row.before - row.lost, longest) + _part(row.lost, longest, "lost")
    was = "" if same else tag("span", kept, cls="was")
    now = tag("span", _part(row.after, longest), cls="now")
    note = tag("small", esc(row.note)) if row.note else ""
    name = tag("span", tag("s" if row.gone else "span", esc(row.name)), note, cls="name")
    beside, told = tag("span", esc(row.beside), cls="decides"), _told(look, row, same)
    return tag("li", name, beside, tag("span", was, now), told, cls="sift")


def _told(look: Look, row: Bars, same: bool) -> str:
    """Its probability before and after, in numbers."""
    out = tag("b", esc(look.t("sampling.out")))
    before = out if row.came else esc(percent(row.before))
    after = out if row.gone else esc(percent(row.after))
    return tag("span", after if same else f"{before} → {after}", cls="value")


def _part(share: float, longest: float, cls: str | None = None) -> str:
    return tag("i", style=f"width:{share / longest:.3%}", cls=cls) if share > 0 else ""


def _legend(look: Look, rows: list[Bars]) -> str:
    """What the bars are that are there; none where all is as before."""
    if not any(row.gone or row.before != row.after for row in rows):
        return ""
    marks = [("was", "before"), ("now", "after")]
    if any(row.lost > 0 for row in rows):
        marks.append(("lost", "lost"))
    items = (
        tag("span", tag("i", cls=cls), esc(look.t(f"sampling.bars.{key}"))) for cls, key in marks
    )
    return div("sift-legend", *items)


def most(held: float, lost: float) -> str:
    """A share that is not written as the whole where something is missing from it."""
    written = percent(held)
    return "> 99.9 %" if lost > 0 and written == percent(1) else written


def counts(look: Look, found: Effect) -> str:
    """How many tokens stay, how much they held, and where the cut falls."""
    t = look.t
    if found.kept == found.n:
        return t("sampling.counts.all", n=found.n)
    shares = {"held": most(found.held, found.lost), "lost": percent(found.lost)}
    says = t("sampling.counts.some", kept=found.kept, n=found.n, out=found.n - found.kept, **shares)
    edge = {"last": token(look, found.last), "first": token(look, found.first)}
    return f"{says} {t('sampling.counts.edge', **edge)}"
