"""What a change of the model or the text does to the distribution and to the token drawn."""

from __future__ import annotations

import streamlit as st
import torch

from core.analysis.sampling import likeliest
from core.generate.sampling import Distribution
from core.view.html import para
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sampling_drawn import Drawn, draw_at
from core.view.sampling_pictures import Bars, bars, token
from core.view.sampling_settings import Settings

EACH = 6  # of the likeliest tokens, before and after


def change(lesson: Lesson, look: Look, settings: Settings, nth: int) -> None:
    """Before and after what was changed: the end of all stages, and the same random number."""
    if look.compared is None:
        return
    lesson.part("change")
    pair = _both(look, settings, nth)
    if pair is None:
        lesson.say("change.new")
        return
    before, after = pair
    if (before.chosen.probs == after.chosen.probs).all():
        lesson.say("change.same")
        return
    st.html(_picture(look, before.chosen, after.chosen))
    names = {"before": token(look, before.id), "after": token(look, after.id)}
    key = "token_same" if before.id == after.id else "token_other"
    st.html(
        para(lesson.text(f"change.{key}", number=f"{after.number:.4f}", **names), "says outcome")
    )


def _both(look: Look, settings: Settings, nth: int) -> tuple[Drawn, Drawn] | None:
    """The draw before and after; None where there is no such row or draw."""
    compared = look.compared
    rows = list(compared.rows)
    if look.side == "before":
        was = look.token
        now = rows.index(was) if was in rows else None
    else:
        was, now = rows[look.token], look.token
    if was is None or now is None:
        return None
    before = draw_at(compared.before, was, settings, nth)
    after = draw_at(compared.after, now, settings, nth)
    return None if before is None or after is None else (before, after)


def _picture(look: Look, before: Distribution, after: Distribution) -> str:
    """The likeliest of both, and all others as one."""
    ids = {*likeliest(before.stages[-1].logits, EACH), *likeliest(after.stages[-1].logits, EACH)}
    was, now = before.probs, after.probs
    ordered = sorted(ids, key=lambda i: (-max(was[i].item(), now[i].item()), i))
    rows = []
    for i in ordered:
        out = [not d.stages[-1].logits[i].isfinite() for d in (before, after)]
        old, new = was[i].item(), now[i].item()
        lost = old if out[1] else 0.0
        rows.append(Bars(token(look, i), old, lost, new, gone=out[1], came=out[0]))
    mine = torch.tensor(ordered)
    left = [
        d.stages[-1].logits.cpu().isfinite().index_fill(0, mine, False) for d in (before, after)
    ]
    if any(one.any() for one in left):
        rest = [max(0.0, 1 - sum(probs[ordered].tolist())) for probs in (was, now)]
        rows.append(Bars(look.t("sampling.rest", n=len(was) - len(ids)), rest[0], 0.0, rest[1]))
    return bars(look, rows, "")
