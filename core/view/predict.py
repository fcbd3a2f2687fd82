"""Predict first: what a change does stays hidden until the student has guessed which steps change.

While it is hidden, every page is drawn from the trace before the change and knows of no other:
`look.compared` is None, and only `look.hidden` has the two traces. A guess is checked once; then
that state is open, also when one comes back to it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict

import streamlit as st

from core.changes import decode
from core.models.worked_example import KEY
from core.prediction import Verdict, guessable, judge, score
from core.view import change_words, elements
from core.view.changes import EDITS
from core.view.compare import Comparison
from core.view.html import div, esc, para, picks, shown, tag
from core.view.look import Look
from core.view.overview_path import group_of
from core.view.state import State
from core.view.strip import step_goal
from core.view.texts import Text

MODE, OPTIONS = "predict", ("off", "on")  # session and address
GUESSES = "_guesses"  # session: what was guessed, by the state that it was about
FRESH = "_guess_fresh"  # session: a guess was checked just now
MOST = 50  # guesses that are kept


def offered(model: str) -> bool:
    """The small example alone: its few steps can be thought through one by one."""
    return model == KEY


def mode(state: State) -> bool:
    return state.choice(MODE, OPTIONS, "off") == "on"


def hides(state: State, compared: Comparison | None) -> bool:
    """Whether what followed from the change is not to be seen yet."""
    on = mode(state)
    if not on or compared is None or not offered(compared.after.model.key):
        return False
    return _about(compared) not in _guesses()


def switch(t: Text, state: State) -> str:
    """The links in the sidebar that turn it on and off."""
    now = st.session_state[MODE]
    options = (
        (t(f"predict.{value}"), value == now, state.link(predict=value)) for value in OPTIONS
    )
    return picks(t("predict.name"), options) + para(t("predict.about"), "aside")


def panel(look: Look) -> None:
    """Under the strip: what was changed and what is asked; or how the guess turned out."""
    if st.session_state[MODE] != "on" or not offered(look.trace.model.key):
        return
    if look.hidden is not None:
        _ask(look, look.hidden)
    elif look.compared is not None:
        st.html(_result(look, look.compared))
    else:
        st.html(div("predict", para(look.t("predict.waiting")), role="note"))


def _ask(look: Look, compared: Comparison) -> None:
    """The steps of the model to choose from, part by part, and the button that checks."""
    t, about = look.t, _about(compared)
    with st.container(key="predict"):
        head = tag("b", esc(t("predict.asks")))
        changed = tag("ul", *(tag("li", esc(line)) for line in _changed(t, compared)))
        st.html(head + changed + para(t("predict.hidden"), "aside"))
        keys = []
        for title, names in _groups(look, compared):
            key = f"predict.{_digest(about)}.{len(keys)}"
            keys.append(key)
            st.pills(
                title,
                names,
                selection_mode="multi",
                key=key,
                format_func=lambda name: _short(t, name),
                persist_state="session",
            )
        st.button(
            t("predict.check"),
            type="primary",
            key="predict_check",
            on_click=_check,
            args=(about, keys),
        )


def _changed(t: Text, compared: Comparison) -> list[str]:
    """Everything that was changed, in words."""
    lines = []
    if compared.before.ids != compared.after.ids:
        old, new = (" ".join(map(shown, one.tokens)) for one in (compared.before, compared.after))
        lines.append(t("predict.text", old=old, new=new))
    for change in decode(st.session_state[EDITS]).in_force:
        if change not in compared.applied.unfit:
            what = change_words.what(t, compared, change)
            lines.append(
                t("predict.change", what=what, values=change_words.values(t, compared, change))
            )
    return lines


def _groups(look: Look, compared: Comparison) -> list[tuple[str, list[str]]]:
    """The steps to guess, by the part of the model that they belong to."""
    found: dict[str, list[str]] = defaultdict(list)
    has_mlp = bool(compared.before.model.config.d_mlp)
    for name in guessable(compared.before):
        group, block = group_of(elements.within(name), has_mlp), elements.block(name)
        found[look.t(f"path.groups.{group}.title", i=str(block))].append(name)
    return list(found.items())


def _short(t: Text, name: str) -> str:
    """A step within its part: the block is in the heading. There are several norms."""
    short = t(f"opened.role.{elements.role(name)}.short")
    norm = elements.within(name).partition(".")[0]
    return f"{short} ({norm})" if norm.startswith("ln_") else short


def _check(about: str, keys: list[str]) -> None:
    """Keep what was guessed; what followed may be seen from now on."""
    guessed = {name for key in keys for name in st.session_state.get(key) or ()}
    kept = _guesses()
    kept[about] = frozenset(guessed)
    while len(kept) > MOST:
        del kept[next(iter(kept))]
    st.session_state[FRESH] = True


def _result(look: Look, compared: Comparison) -> str:
    """The score, and every step with what happened to it and why."""
    t = look.t
    guessed = _guesses().get(_about(compared), frozenset())
    verdicts = judge(compared.before, compared.after, compared.ripple, guessed)
    points = score(verdicts)
    line = (
        t("predict.score", found=points["found"], n=points["of"])
        if points["of"]
        else t("predict.nothing")
    )
    wrong = t("predict.wrong_too", n=points["wrong"]) if points["wrong"] else ""
    kinds = {
        "missed": [v for v in verdicts if v.changed and not v.guessed],
        "wrong": [v for v in verdicts if v.guessed and not v.changed],
        "found": [v for v in verdicts if v.guessed and v.changed],
        "rightly": [v for v in verdicts if not v.guessed and not v.changed],
    }
    body = "".join(_kind(look, kind, some) for kind, some in kinds.items() if some)
    opened = {"open": "open"} if st.session_state.pop(FRESH, False) else {}
    inside = div("verdicts", body, para(t("predict.left_out"), "aside"))
    folded = tag("details", tag("summary", esc(t("predict.each"))), inside, **opened)
    again = tag("a", esc(t("predict.again")), cls="pill", **_next(look.state))
    head = div("head", tag("b", esc(line)), tag("span", esc(wrong)), again)
    return tag("section", head, folded, cls="predict", aria_label=t("predict.name"), role="status")


def _kind(look: Look, kind: str, verdicts: list[Verdict]) -> str:
    """One sort of verdict; what was rightly left out is folded, since it is little news."""
    title = esc(look.t(f"predict.kind.{kind}", n=len(verdicts)))
    items = tag("ul", *(_verdict(look, verdict) for verdict in verdicts))
    if kind == "rightly":
        return tag("details", tag("summary", title), items)
    return tag("section", tag("h3", title), items)


def _verdict(look: Look, verdict: Verdict) -> str:
    t, through = look.t, verdict.through
    name = _full(look, verdict.name)
    brought = _full(look, through) if through else ""
    key = "changed" if verdict.changed else "same"
    why = verdict.why
    if why == "absorbed" and not through:
        why = "absorbed_itself"
    says = t(f"predict.why.{key}.{why}", step=brought)
    link = tag("a", esc(name), **step_goal(look.state, verdict.name))
    return tag("li", link, tag("span", esc(says)))


def _full(look: Look, name: str) -> str:
    """A step or weight in words; with its block where there are several."""
    t = look.t
    block = elements.block(name)
    several = block is not None and look.n_layers > 1
    return t("ripple.step", step=_short(t, name), i=str(block)) if several else _short(t, name)


def _next(state: State) -> dict[str, object]:
    """Attributes of a link that takes the change back, so that another can be guessed."""
    prompt = st.session_state["was"] or st.session_state["prompt"]
    return state.link(prompt=prompt, was="", edits="", experiment="")


def _about(compared: Comparison) -> str:
    """The state that a guess is about: model, both texts and the changes in force."""
    model = compared.after.model
    texts = compared.before.ids, compared.after.ids
    force = decode(st.session_state[EDITS]).in_force
    return repr((model.key, model.variant, texts, force))


def _digest(about: str) -> str:
    return hashlib.sha256(about.encode()).hexdigest()[:12]


def _guesses() -> dict[str, frozenset[str]]:
    return st.session_state.setdefault(GUESSES, {})
