"""The ready experiments on screen: cards that start them, and the banner while one is running.

A running experiment is a parameter of the view. It ends when the model, the text or the changes
are no longer its own, or with a link that brings back the view from before the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import streamlit as st

from core.changes import BadLink, Changes, decode
from core.experiments import BY_KEY, EXPERIMENTS, Experiment
from core.view import engine, predict
from core.view.changes import EDITS, SHOWN
from core.view.html import div, esc, para, tag
from core.view.look import Look
from core.view.model_names import title
from core.view.state import State
from core.view.strip import EXPERIMENTS as PAGE
from core.view.strip import OVERVIEW, target
from core.view.texts import Text

RUNNING = "experiment"  # session and address: the key of the experiment
BEFORE = "_experiment_before"  # session: the parameters of the view that it took the place of
RESTORED = (
    *("model", "preset", "size", "prompt", "was", "edits"),
    *("layer", "head", "token", "side", "open", predict.MODE),
)


def begin(state: State) -> None:
    """Note the view that a link to an experiment leaves, unless that is one already."""
    asked = state.asked.get(RUNNING)
    left = st.session_state.get(SHOWN, {})
    if asked and left and not left.get(RUNNING):
        st.session_state[BEFORE] = left
    state.choice(RUNNING, ("", *BY_KEY), "")


def running(look: Look) -> Experiment | None:
    """The experiment that this view still is; what is none any more is forgotten.

    Switching its changes off and on again leaves it running.
    """
    experiment = BY_KEY.get(st.session_state[RUNNING])
    if experiment is None:
        return None
    if _subject(look) != (experiment.subject(), experiment.changes):
        st.session_state[RUNNING] = ""
        return None
    return experiment


def _subject(look: Look) -> tuple[dict[str, str], tuple]:
    """What is shown, in the form of `Experiment.subject`, and what is changed in it."""
    model, session = look.trace.model, st.session_state
    try:
        changes = decode(session[EDITS])
    except BadLink:
        changes = Changes()
    found = {"model": model.key, "prompt": session["prompt"], "was": session["was"]}
    if model.preset:
        found["preset"] = model.preset
    if model.size:
        found["size"] = model.size
    return found, tuple(entry.change for entry in changes.entries)


def available() -> list[Experiment]:
    """Those whose model is here."""
    here = engine.entries()
    return [experiment for experiment in EXPERIMENTS if experiment.model in here]


def banner(look: Look, experiment: Experiment | None) -> str:
    """What the running experiment asks, what to look at, where, and the way out."""
    if experiment is None:
        return ""
    t, key = look.t, f"experiments.of.{experiment.key}"
    hidden = look.hidden is not None
    head = tag("b", esc(t("experiments.banner", title=t(f"{key}.title"))))
    answer = para(t("experiments.later")) if hidden else para(t(f"{key}.look"))
    places = [_page_link(look, page) for page in experiment.pages]
    end = tag("a", esc(t("experiments.end")), cls="pill end", **_way_back(look.state))
    where = div("where", tag("span", esc(t("experiments.where"))), *places, end)
    return tag(
        "section",
        div("head", head),
        para(t(f"{key}.asks"), "asks"),
        answer,
        where,
        cls="experiment-banner",
        aria_label=t("experiments.name"),
    )


def _page_link(look: Look, page: str) -> str:
    goal = _goal(look.state, page, {})
    return tag("a", esc(look.t(f"{page}.name")), cls="pill", **goal)


def _way_back(state: State) -> dict[str, object]:
    """Attributes of a link to the view before, or to the same text without the changes."""
    before = st.session_state.get(BEFORE)
    if before:
        values = {key: before[key] for key in RESTORED if key in before}
        return _goal(state, before.get("page", OVERVIEW), values | {RUNNING: ""})
    prompt = st.session_state["was"] or st.session_state["prompt"]
    return state.link(**{"prompt": prompt, "was": "", "edits": "", RUNNING: ""})


def _goal(state: State, page: str, values: dict[str, str]) -> dict[str, object]:
    """Attributes of a link to a page with these parameters."""
    path = "./" if page == OVERVIEW else page
    return {
        "href": path + state.address(**values),
        "data_page": page,
        "data_set": urlencode(values) or None,
    }


def start(state: State, experiment: Experiment, **more: str) -> dict[str, object]:
    """Attributes of the link that starts an experiment on the first of its pages."""
    return _goal(state, experiment.pages[0], experiment.state() | {"open": ""} | more)


def row(look: Look, page: str) -> str:
    """At the end of a page: the experiments that belong there."""
    here = [e for e in EXPERIMENTS if target(e.stop)[0] == page and engine.is_here(e.model)]
    if not here or page == PAGE:
        return ""
    t, state = look.t, look.state
    links = [tag("a", *_named(look, e), cls="pill", **start(state, e)) for e in here]
    every = tag("a", esc(t("experiments.every")), cls="all", **_goal(state, PAGE, {}))
    label = tag("span", esc(t("experiments.row")))
    return tag("nav", div("try", label, *links, every), cls="experiment-row")


def _named(look: Look, experiment: Experiment) -> Iterator[str]:
    """The title of an experiment, with the model that it leads to where that is another one."""
    yield esc(look.t(f"experiments.of.{experiment.key}.title"))
    if experiment.model != look.trace.model.key:
        yield " " + tag("small", esc(title(look.t, experiment.model)), cls="gloss")


def cards(look: Look) -> str:
    """All experiments in the order of the path."""
    return tag("ul", *(_card(look, experiment) for experiment in available()), cls="cards")


def _card(look: Look, experiment: Experiment) -> str:
    t, key = look.t, f"experiments.of.{experiment.key}"
    here = st.session_state[RUNNING] == experiment.key
    name, stop = t(f"{key}.title"), experiment.stop
    place = t("experiments.whole") if stop == "text" else t(f"stops.{stop}")
    links = [_start(look, experiment, name)]
    if predict.offered(experiment.model):
        links.append(
            tag(
                "a",
                esc(t("experiments.guess")),
                cls="pill",
                aria_label=f"{t('experiments.guess')}: {name}",
                **start(look.state, experiment, predict="on"),
            )
        )
    return tag(
        "li",
        tag("h2", tag("small", esc(place)), esc(name)),
        para(t(f"{key}.asks"), "asks"),
        tag("p", tag("span", esc(t("experiments.does"))), " ", esc(t(f"{key}.does")), cls="does"),
        div("try", *links, tag("span", esc(title(t, experiment.model)), cls="model")),
        cls="card here" if here else "card",
    )


def _start(look: Look, experiment: Experiment, name: str) -> str:
    t = look.t
    return tag(
        "a",
        esc(t("experiments.start")),
        cls="pill begin",
        aria_label=f"{t('experiments.start')}: {name}",
        **start(look.state, experiment),
    )


def intro(t: Text) -> str:
    """The heading of the page."""
    return tag("h1", esc(t("experiments.title"))) + para(t("experiments.lead"), "lead")
