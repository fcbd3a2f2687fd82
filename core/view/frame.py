"""The frame around every page: sidebar, path strip, notices.

app.py draws it around whichever page is shown, so that in the browser it stays from page to page;
a page asks for what it shows: `with page(name) as view`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.pages_manager import PagesManager

from core.models.id_tokenizer import IdTokenizer
from core.models.model import Model
from core.view import changes, engine, experiments, links, predict
from core.view.component import asset, bring_parts
from core.view.engine import Reading
from core.view.html import div, esc, para, shown, tag
from core.view.look import Look
from core.view.model_names import title
from core.view.ripple_bar import ripple_bar
from core.view.ripple_stops import shifts
from core.view.sidebar import sidebar
from core.view.state import Notice, State
from core.view.strip import strip
from core.view.texts import LANGUAGES, Text, gloss, speaker

LONGEST_LIST = 8
# What a link chooses among and the page has a title for.
TITLES = {
    "model": title,
    "preset": lambda t, name: t(f"presets.{name}"),
    "experiment": lambda t, name: t(f"experiments.of.{name}.title"),
    "side": lambda t, name: t(f"ripple.side.{name}"),
}
# Style sheets in assets/css, in the order in which later ones may refine earlier ones.
SHEETS = (
    *("frame", "ripple", "overview", "tokens", "lesson", "embedding"),
    *("mlp", "logits", "stream", "changes", "experiments", "size"),
    *("sampling", "sizes", "generation"),
)


@dataclass(frozen=True)
class View:
    """Everything a page needs to know: the texts, the state, the model and what it read."""

    page: str
    t: Text
    state: State
    prompt: str
    reading: Reading
    look: Look

    @property
    def model(self) -> Model:
        """The model of what is shown, with its switches as they are."""
        return self.look.trace.model

    @property
    def identity(self) -> tuple:
        """Everything that a picture of this view can depend on, in few and exact values."""
        model, look = self.model, self.look
        where = (look.layer, look.head, look.token, look.hidden is not None)
        state = tuple(sorted(self.state.query().items()))
        language = st.session_state["lang"]
        return (language, model.key, model.variant, self.reading.ids, where, state)


_shown: ContextVar[View] = ContextVar("shown")  # while a frame is being drawn: what is in it


@contextmanager
def page(name: str) -> Iterator[View]:
    """Within it a page draws what it shows; run by itself, with a frame of its own."""
    if view := _shown.get(None):
        yield view
        return
    if PagesManager.uses_pages_directory:
        # Until a server sees st.navigation it takes pages/ for an app of the old kind, without
        # app.py: so for the first visitor, if a deep link brought them.
        PagesManager.uses_pages_directory = False
        st.rerun()
    with frame(name) as view:
        yield view


@contextmanager
def frame(name: str) -> Iterator[View]:
    """Draw the frame of a page; within it the page is drawn."""
    clicked = links.hear_address()
    changes.before_run()
    links.follow(name, clicked)
    state = State(clicked)
    language = state.choice("lang", list(LANGUAGES), _language_of_browser())
    state.speak(language)
    t = speaker(language)
    st.set_page_config(page_title=f"{t(f'{name}.name')} · Ripple", page_icon="🌊", layout="wide")
    st.html(_style())
    bring_parts()
    experiments.begin(state)
    with st.sidebar:
        prompt, reading, look = sidebar(t, state, name)
    view = View(name, t, state, prompt, reading, look)
    way, about = st.container(key="way"), st.container(key="about_change")
    notices, shown = st.container(key="notices"), st.container(key="page")
    # What followed takes a while to compare: meanwhile the browser draws the page.
    last = look.compared is not None and not look.compared.is_compared
    with _within_memory(t):
        if not last:
            _draw_way(view, way, about)
        with shown, _in_frame(view):
            yield view
        _draw(experiments.row(look, name))
        if last:
            _draw_way(view, way, about)
    with notices:
        _say(view, state.publish())
    changes.after_run(state, name)
    links.mount_script(name, st.session_state["lang"])
    engine.settle(name)


@cache
def _style() -> str:
    """The style sheets, on one line: of each line Streamlit looks for the indent in every run."""
    sheets = "".join(asset(f"css/{sheet}.css") for sheet in SHEETS)
    return tag("style", re.sub(r"\s*\n\s*", " ", sheets))


@contextmanager
def _in_frame(view: View) -> Iterator[None]:
    """The page that is drawn here need not draw a frame of its own."""
    token = _shown.set(view)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def _within_memory(t: Text) -> Iterator[None]:
    """Where the graphics card is full, let go of what can be computed again, and say so."""
    full = False
    try:
        yield
    except torch.OutOfMemoryError:
        full = True
    if full:  # only now is what was just computed let go of
        engine.shelf().free()
        st.html(div("notice", para(t("input.card_full")), role="status"))


def _draw_way(view: View, way: DeltaGenerator, about: DeltaGenerator) -> None:
    """The path strip, and beneath it what is to be said about a change."""
    look = view.look
    with way:
        moved = shifts(look.compared) if look.compared else None
        st.html(strip(view.t, view.state, view.page, moved))
    with about:
        _draw(experiments.banner(look, experiments.running(look)))
        predict.panel(look)
        _draw(ripple_bar(look))


def _draw(body: str) -> None:
    if body:
        st.html(body)


def _say(view: View, about_link: list[Notice]) -> None:
    """What a person should know about the link or the text before looking at anything."""
    t, reading = view.t, view.reading
    said = [_about_link(t, key, values) for key, values in about_link]
    has_words = not isinstance(view.model.tokenizer, IdTokenizer)
    if reading.unknown:
        words = ", ".join(shown(word) for word in reading.unknown[:LONGEST_LIST])
        n, known = len(reading.unknown), view.model.config.n_vocab
        about = {"known": known} if has_words else {"last": known - 1}
        key = "input.unknown" if has_words else "input.no_ids"
        said.append(t(key, n=n, words=words, **about))
    if reading.instead:
        default = " ".join(shown(token) for token in view.look.trace.tokens)
        said.append(t(f"input.instead_{reading.instead}", default=default, n=len(reading.ids)))
    if reading.cut:
        said.append(t("input.cut", n=reading.cut, kept=len(reading.ids)))
    words = _known_words(view) if reading.unknown and has_words else ""
    if said:
        st.html(div("notice", *(para(line) for line in said), words, role="status"))


def _about_link(t: Text, key: str, values: dict[str, object]) -> str:
    """A notice in the words of the page, not in those of the address."""
    if key == "link.as_is":
        return str(values["says"])
    if key == "link.unknown" and values["what"] in TITLES:
        what, used = str(values["what"]), values["used"]
        key = "link.unknown" if used else "link.unknown_none"
        used = TITLES[what](t, used) if used else ""
        values = values | {"what": t(f"link.named.{what}"), "used": used}
    return t(key, **values)


def _known_words(view: View) -> str:
    """The words that can be used, each of them a link that adds it."""
    tokenizer, links = view.model.tokenizer, []
    for i in range(tokenizer.n_vocab):
        word = tokenizer.token_text(i)
        meaning = gloss(view.t, word)
        said = tag("small", esc(meaning), cls="gloss") if meaning else ""
        links.append(tag("a", esc(word), " ", said, cls="word", **view.state.link(add=i)))
    return div("words", tag("span", esc(view.t("input.known"))), *links)


def _language_of_browser() -> str:
    locale = (st.context.locale or "en").split("-")[0]
    return locale if locale in LANGUAGES else "en"


def examples(view: View, names: tuple[str, ...]) -> None:
    """Links that put an example into the box, each with the model that it is for."""
    links = []
    for name in names:
        prompt, model = view.t(f"overview.try.{name}.prompt"), view.t(f"overview.try.{name}.model")
        if engine.is_here(model):
            links.append(
                tag(
                    "a",
                    esc(prompt) + _other_model(view, model),
                    cls="pill",
                    lang=None,
                    **view.state.link(model=model, prompt=prompt),
                )
            )
    st.html(div("try", tag("span", esc(view.t("overview.try.label"))), *links))


def _other_model(view: View, model: str) -> str:
    """The model that an example leads to, where that is not the one that is shown."""
    if model == view.model.key:
        return ""
    return " " + tag("small", esc(title(view.t, model)), cls="gloss")
