"""The text as it is written: its tokens, what can be done with it, and what may come next."""

from __future__ import annotations

import streamlit as st
import torch

from core.analysis.sampling import likeliest
from core.view import sampling_settings
from core.view.component import component
from core.view.generation_writer import AT_MOST, LIMITS, PAUSE, TICK, TYPED, WRITE, Writer
from core.view.html import bar, chip, div, esc, para, percent, picks, shown, tag
from core.view.lesson import Lesson
from core.view.sampling_drawn import Drawn
from core.view.strip import page_link

FIRST, LATEST = 24, 120  # tokens that are shown: the last of the text, the last that were written
TOP = 8
PACE = 900  # milliseconds between two tokens while it plays
SETTINGS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")
BOX = "write_own"


def write(lesson: Lesson, writer: Writer, found: Drawn | None) -> None:
    """The text, the controls, and the candidates for what comes next."""
    lesson.part("write")
    st.html(_text(lesson, writer, found))
    _controls(lesson, writer, found)
    _notices(lesson, writer, found)
    if found is not None and not writer.ending:
        st.html(_candidates(lesson, writer, found) + _other_side(lesson, writer))
        with st.container(key="write_own_row"):
            st.text_input(lesson.text("own.label"), key=BOX, on_change=_typed, max_chars=400)
    with st.expander(lesson.text("settings.title")):
        lesson.say("settings.says")
        for key in SETTINGS:
            sampling_settings.control(lesson.view.t, key)
        st.html(page_link(writer.state, lesson.text("settings.link"), "sampling"))


def _typed() -> None:
    st.session_state[TYPED] = str(st.session_state[BOX])
    st.session_state[BOX] = ""


def _text(lesson: Lesson, writer: Writer, found: Drawn | None) -> str:
    """The tokens of the text, then those that were written, each a way back to its place."""
    tokenizer, path, ids = writer.model.tokenizer, writer.tree.path(), writer.prompt
    start, later = max(0, len(ids) - FIRST), max(0, len(path) - LATEST)
    more = [lesson.text("write.more", n=start)] if start else []
    given = [
        tag("span", esc(shown(tokenizer.token_text(token_id))), cls="given")
        for token_id in ids[start:]
    ]
    here = tag(
        "a",
        *(tag("span", esc(text), cls="more") for text in more),
        *given,
        cls="given-text",
        title=lesson.text("write.to_start"),
        **writer.state.link(**{WRITE: "to-p"}),
    )
    skipped = [tag("span", esc(lesson.text("write.more", n=later)), cls="more")] if later else []
    written = [_written(writer, i, node) for i, node in enumerate(path) if i >= later]
    coming = []
    if found is not None and not writer.ending:
        token = shown(tokenizer.token_text(found.id))
        title = lesson.text("write.coming", token=token)
        coming = [tag("span", esc(token), cls="coming", title=title)]
    return div("text-so-far", here, *skipped, *written, *coming)


def _written(writer: Writer, i: int, node: int) -> str:
    text = writer.model.tokenizer.token_text(writer.tree.nodes[node][1])
    cls = "tok here" if node == writer.tree.at else "tok"
    return chip(text, len(writer.prompt) + i, cls=cls, **writer.state.link(**{WRITE: f"to-{node}"}))


def _controls(lesson: Lesson, writer: Writer, found: Drawn | None) -> None:
    """Back, step, play, all at once; while it runs, how far it is and a way to stop it."""
    can = found is not None and not writer.ending
    _player(lesson, writer)
    if not writer.playing["left"]:
        acts = (
            ("back", writer.depth > 0),
            ("step", can),
            ("play", can),
            ("all", can),
            ("new", len(writer.tree) > 0),
        )
        links = (_act(lesson, writer, verb, on) for verb, on in acts)
        st.html(div("write-acts", *links, _take(lesson, writer)))
    with st.container(key="write_limits", horizontal=True, vertical_alignment="bottom"):
        label = lesson.text("write.at_most")
        st.number_input(label, 1, 500, key=AT_MOST, persist_state="session", width=190)
        link = writer.state.link
        options = (
            (lesson.text(f"limit.{name}", n=writer.n_ctx), name == writer.limit, link(limit=name))
            for name in LIMITS
        )
        st.html(picks(lesson.text("limit.label", n=writer.n_ctx), options))


def _act(lesson: Lesson, writer: Writer, verb: str, on: bool) -> str:
    label = esc(lesson.text(f"write.{verb}", n=writer.at_most))
    if not on:
        return tag("span", label, cls="act", aria_disabled="true")
    cls = "act main" if verb == "step" else "act"
    return tag("a", label, cls=cls, **writer.state.link(**{WRITE: verb}))


def _take(lesson: Lesson, writer: Writer) -> str:
    """All of it becomes the text of every page, and the box where it can be edited."""
    if not writer.depth:
        return ""
    text = writer.model.tokenizer.decode(list(writer.ids))
    label = esc(lesson.text("write.take"))
    return tag("a", label, cls="act", **writer.state.link(prompt=text, branches=""))


def _player(lesson: Lesson, writer: Writer) -> None:
    """While it plays: how far it is, and a button to stop it, which no run replaces."""
    play = writer.playing
    done, of = play["of"] - play["left"], play["of"]
    data = {
        "playing": bool(play["left"]),
        "run": str(play["run"]),
        "turn": f"{play['run']}.{play['left']}",
        "wait": 0 if play["all"] else PACE,
        "share": done / max(of, 1),
        "says": lesson.text("write.progress", done=done, of=of),
        "stop": lesson.text("write.cancel" if play["all"] else "write.pause"),
    }
    component("player", "player")(
        key="player",
        data=data,
        on_tick_change=lambda: st.session_state.update({TICK: True}),
        on_pause_change=lambda: st.session_state.update({PAUSE: True}),
    )


def _notices(lesson: Lesson, writer: Writer, found: Drawn | None) -> None:
    """Why it goes no further, or reads on differently."""
    if writer.ending:
        says = lesson.text(f"ending.{writer.ending}", n=writer.n_ctx)
        st.html(div("notice", para(says), role="status"))
    elif found is None:
        st.html(div("notice", para(lesson.text("broken")), role="status"))
    elif writer.slid:
        says = lesson.text("limit.slid", n=writer.slid, kept=writer.n_ctx)
        st.html(div("notice", para(says), role="status"))


def _candidates(lesson: Lesson, writer: Writer, found: Drawn) -> str:
    """The likeliest tokens: what the model gives them, what the settings leave, which is drawn."""
    first, last = found.chosen.stages[0], found.chosen.stages[-1]
    ids = likeliest(first.logits, TOP)
    ids += [found.id] if found.id not in ids else []
    top = max(last.probs[torch.tensor(ids)].max().item(), first.probs.max().item())
    heads = ("token", "given", "left")
    head = tag("li", *(tag("span", esc(lesson.text(f"next.{k}"))) for k in heads), cls="may head")
    rows = [
        _candidate(lesson, writer, i, first.probs[i].item(), last.probs[i].item(), top, found.id)
        for i in ids
    ]
    says = lesson.text("next.says", nth=found.nth + 1, number=f"{found.number:.4f}")
    return para(says, "says") + tag("ol", head, *rows, cls="may-come")


def _other_side(lesson: Lesson, writer: Writer) -> str:
    """What would be drawn with and without what was changed."""
    if lesson.view.look.compared is None:
        return ""
    found = {side: writer.next(side) for side in ("before", "after")}
    if None in found.values():
        return ""
    text = writer.model.tokenizer.token_text
    tokens = {side: shown(text(drawn.id), 16) for side, drawn in found.items()}
    same = found["before"].id == found["after"].id
    return para(lesson.text("next.unchanged" if same else "next.changed", **tokens), "says outcome")


def _candidate(
    lesson: Lesson, writer: Writer, i: int, given: float, left: float, top: float, drawn: int
) -> str:
    token = shown(writer.model.tokenizer.token_text(i), 16)
    mark = tag("small", esc(lesson.text("next.drawn")), cls="drawn") if i == drawn else ""
    cells = (
        tag("span", tag("code", esc(token)), mark, cls="name"),
        tag("span", esc(percent(given)), cls="value"),
        tag("span", esc(percent(left) if left else lesson.text("next.out")), cls="value"),
        bar(left / top if top else 0.0),
    )
    says = lesson.text("next.pick", token=token)
    cls = "may drawn" if i == drawn else "may" if left else "may out"
    link = writer.state.link(**{WRITE: f"pick-{i}"})
    return tag("li", tag("a", *cells, cls=cls, title=says, aria_label=says, **link))
