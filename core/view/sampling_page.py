"""The Sampling page, part by part: the stages in their order, one draw, many draws, the whys."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
import torch

from core.analysis import sampling
from core.generate.sampling import ORDERS, Stage
from core.view import logits_pictures, sampling_code, sampling_draws, sampling_lessons
from core.view import sampling_pictures as pictures
from core.view import sampling_settings as controls
from core.view.html import div, esc, para, percent, picks, shown, tag
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sampling_change import change
from core.view.sampling_drawn import DRAWS, MANY, Drawn, draw_at
from core.view.sampling_limits import limits
from core.view.sampling_settings import written

__all__ = ["change", "draw", "many", "stage", "start", "way", "whys"]


def start(lesson: Lesson, look: Look, found: Drawn) -> None:
    """Where sampling begins."""
    first = found.chosen.stages[0]
    lesson.part("start", token=shown(look.trace.tokens[look.token]), total=len(first.probs))
    candidates = [c for c in logits_pictures.candidates(look) if c.prob > 0]
    st.html(logits_pictures.bars(look, candidates))
    st.html(para(logits_pictures.share(look, candidates), "says"))
    lesson.pictures("bars", ["logits", "probs"])
    left = first.logits[first.logits.isfinite()]
    if len(left) == 1:
        lesson.say("start.single", token=pictures.token(look, int(first.logits.argmax())))
    elif left.max() == left.min():
        lesson.say("start.equal", n=len(left))
    if place := sampling_lessons.open_place(look):
        pos, best, share = place
        text = lesson.text("start.open", token=shown(look.trace.tokens[pos]))
        link = tag("a", esc(text), cls="pill", **look.state.link(token=pos))
        sure = lesson.text("start.sure", best=best, share=percent(share))
        st.html(div("try", tag("span", esc(sure)), link))


def way(lesson: Lesson, look: Look, found: Drawn) -> None:
    """The stages in their order, how many tokens each leaves; another order, other settings."""
    lesson.part("way")
    link = look.state.link
    named = ((lesson.text(f"way.{name}"), controls.preset(name)) for name in controls.PRESETS)
    now = {key: written(getattr(found.settings, key)) for key in controls.preset("plain")}
    st.html(picks(lesson.text("way.begin"), ((text, p == now, link(**p)) for text, p in named)))
    orders = ((name, name == found.settings.order, link(order=name)) for name in ORDERS)
    st.html(picks(lesson.text("way.order"), orders))
    lesson.say("way.why")
    st.html(_funnel(lesson, found) + para(_other_order(lesson, look, found), "says"))


def _funnel(lesson: Lesson, found: Drawn) -> str:
    """One row for each stage: its setting, the tokens it leaves, and what they held before it."""
    heads = (
        tag("th", esc(lesson.text(f"way.{key}")), scope="col")
        for key in ("stage", "value", "kept", "held")
    )
    first = found.chosen.stages[0]
    rows = [_step(esc(lesson.text("way.all")), "", first.kept, percent(1))]
    for name, before, after in found.stages():
        on = found.settings.is_on(name)
        value = written(getattr(found.settings, name)) if on else lesson.text("way.off")
        held = pictures.most(*sampling.shares(before, after))
        place = {"data_page": "sampling", "data_anchor": f"stage-{name}", "href": f"#stage-{name}"}
        label = tag("a", esc(lesson.text(f"control.{name}")), cls="block-name", **place)
        rows.append(_step(label, value, after.kept, held, None if on else "off"))
    return div("scroll", tag("table", tag("tr", *heads), *rows, cls="plain funnel"))


def _step(label: str, value: str, kept: int, held: str, cls: str | None = None) -> str:
    cells = (value, f"{kept:,}", held)
    return tag("tr", tag("th", label, scope="row"), *(tag("td", esc(c)) for c in cells), cls=cls)


def _other_order(lesson: Lesson, look: Look, found: Drawn) -> str:
    """What the other order would leave."""
    other = next(name for name in ORDERS if name != found.settings.order)
    theirs = draw_at(look.trace, look.token, replace(found.settings, order=other), found.nth)
    ours, kept = found.chosen.stages[-1].kept, theirs.chosen.stages[-1].kept
    same = torch.equal(found.chosen.probs > 0, theirs.chosen.probs > 0) and torch.allclose(
        found.chosen.probs, theirs.chosen.probs, atol=5e-4
    )
    key = "same" if same else "shares" if ours == kept else "differ"
    return lesson.text(f"way.{key}", n=ours, other=other, kept=kept, order=found.settings.order)


def stage(lesson: Lesson, look: Look, found: Drawn, at: tuple[str, Stage, Stage]) -> None:
    """One setting: what it does, its control, what is special here, the picture, the counts."""
    name, before, after = at
    lesson.part(f"stage.{name}", anchor=f"stage-{name}")
    controls.control(look.t, name, most=len(before.probs) if name == "top_k" else None)
    ids = pictures.rows_for(name, before.logits, found.previous)
    done = sampling.effect(name, before, after, ids)
    for sentence in limits(look, done, found.settings, before.logits):
        st.html(para(sentence, "says limit"))
    st.html(pictures.stage(look, done, found.previous) + para(pictures.counts(look, done), "says"))


def draw(lesson: Lesson, look: Look, found: Drawn) -> None:
    """The random number, where it falls, and the token, which can be taken."""
    kept, token = found.chosen.stages[-1].kept, pictures.token(look, found.id)
    lesson.part("draw", n=kept)
    controls.control(look.t, "seed")
    st.html(sampling_draws.line(look, found.chosen, found.number, found.id))
    lesson.say(
        "draw.only" if kept == 1 else "draw.falls", cls="says outcome", **_place(found, token)
    )
    nth, link = found.nth, look.state.link
    again = link(draw=(nth + 1) % DRAWS)
    links = [tag("a", esc(lesson.text("draw.again")), cls="pill", **again)]
    if nth:
        links.append(tag("a", esc(lesson.text("draw.first")), cls="pill", **link(draw=0)))
    st.html(div("try", *links, _take(lesson, look, found, token)))
    lesson.say("draw.seed", nth=nth + 1, seed=str(found.settings.seed))


def _place(found: Drawn, token: str) -> dict[str, object]:
    """The number and the ends of the token, in as many digits as tell them apart."""
    low, high = sampling.interval(found.chosen, found.id)
    places = sampling_draws.digits(low, found.number, high)
    values = {"low": low, "high": high, "number": found.number}
    written_out = {key: f"{value:.{places}f}" for key, value in values.items()}
    return written_out | {"token": token, "share": percent(found.chosen.probs[found.id].item())}


def _take(lesson: Lesson, look: Look, found: Drawn, token: str) -> str:
    """A link that adds the token and goes on to the next number; or why there is none."""
    text, last = look.trace.model.tokenizer.token_text(found.id), len(look.trace) - 1
    if look.token < last:
        there = tag(
            "a", esc(lesson.text("draw.look_last")), cls="pill", **look.state.link(token=last)
        )
        return tag("span", esc(lesson.text("draw.middle"))) + there
    if found.id in look.trace.model.tokenizer.stop_ids:
        return tag("span", esc(lesson.text("draw.end")))
    if "⟨" in text:
        return tag("span", esc(lesson.text("draw.part")))
    link = look.state.link(add=found.id, draw=(found.nth + 1) % DRAWS)
    return tag("a", esc(lesson.text("draw.take", token=token)), cls="pill take", **link)


def many(lesson: Lesson, look: Look, found: Drawn) -> None:
    """Many draws beside what is expected of them."""
    lesson.part("many")
    asked = look.state.choice("draws", MANY, MANY[0])
    options = (
        (
            f"{int(n):,}" if n != MANY[0] else lesson.text("many.none"),
            n == asked,
            look.state.link(draws=n),
        )
        for n in MANY
    )
    st.html(picks(lesson.text("many.choose"), options))
    if asked == MANY[0]:
        return
    numbers = sampling.draws(found.settings.seed, int(asked))
    st.html(sampling_draws.counts(look, found.chosen, numbers))
    lesson.say("many.range")


def whys(lesson: Lesson, look: Look, found: Drawn) -> None:
    """Questions, two of them answered with a picture, and the whole in PyTorch."""
    lesson.why("why_greedy")
    with st.expander(lesson.text("why_warm.asks")):
        lesson.say("why_warm.says")
        st.html(sampling_lessons.temperatures(look, found.chosen.stages[0].logits))
        lesson.say("why_warm.after")
    with st.expander(lesson.text("why_adapts.asks")):
        _adapts(lesson, look)
    lesson.why("why_seed")
    with st.expander(look.t("lesson.code")):
        lesson.say("code_says")
        st.code(sampling_code.code(found.settings, found.previous, found.nth), language="python")


def _adapts(lesson: Lesson, look: Look) -> None:
    places = sampling_lessons.places(look)
    if places is None:
        lesson.say("why_adapts.single")
        return
    p, k = f"{100 * sampling_lessons.P:g}\u00a0%", sampling_lessons.k_of(look)
    lesson.say("why_adapts.says", p=p, k=k)
    st.html(sampling_lessons.adapts(look, places))
    key, values = sampling_lessons.outcome(look, places)
    lesson.say(f"why_adapts.{key}", **values)
