"""The opened number: its arithmetic with the real values, each of which can be opened in turn.

What is opened is in the link: the whole trail of elements, the last one shown. See `elements`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from core.graph import Ref
from core.graph.explain import number
from core.graph.ops import Concat, Mask, Same
from core.models.model import PromptTrace
from core.view import elements, opened_change
from core.view.arithmetic import (
    LARGEST,
    Piece,
    Sum,
    row_sum,
    sign,
    symbol,
    value_text,
    where,
    written_out,
)
from core.view.component import component, said
from core.view.elements import BadLink, Trail
from core.view.html import shown
from core.view.look import Look
from core.view.texts import Text

KEY = "opened"  # of the component; the link is under OPEN, in the session and in the address
OPEN, ALL = "open", "_open_all"
AT = "_open_at"  # session: the key of the matrix in which the trail began or went on
LINK_AT = "at"  # in a picture's link: the picture's key
PASSING = (Same, Concat, Mask)  # where they change no number they are no stops on the way back
MOST = 400  # terms that are written out when all are asked for


def panel(look: Look) -> None:
    """Draw what is opened; nothing at all if nothing is."""
    link = look.state.text(OPEN, "")
    everything = bool(link) and st.session_state.get(ALL) == link
    data, trail = content(look.t, look.trace, link, everything), current(look)
    if trail:
        data["change"] = opened_change.content(look, trail[-1])
        data["says"] = opened_change.taken(look, trail[-1]) or data["says"]
    draw = component("opened", "opened-box")
    act = _acting(look.trace, trail)
    draw(key=KEY, data=data, on_go_change=_go, on_all_change=_all, on_change_change=act)


def current(look: Look) -> Trail:
    """The trail of what is opened; empty if that is nothing or nonsense."""
    try:
        return elements.checked(look.trace, elements.decode(look.state.text(OPEN, "")))
    except BadLink:
        return ()


def open_element(trace: PromptTrace, ref: Ref) -> None:
    """Open an element from a picture: on the trail if what is open was computed from it.

    For callbacks: it changes the session before the page runs.
    """
    trail: Trail = ()
    try:
        before = elements.checked(trace, elements.decode(st.session_state.get(OPEN, "")))
        if before and ref in operands(trace, before[-1]):
            trail = before
        elements.checked(trace, (ref,))
    except BadLink:
        trail = ()
    st.session_state[OPEN] = elements.encode((*trail, ref))


def operands(trace: PromptTrace, ref: Ref) -> set[Ref]:
    """The elements that an element was computed from."""
    parts = set(_read(trace, ref))
    return parts | {source(trace, part)[0] for part in parts}


def _read(trace: PromptTrace, ref: Ref) -> list[Ref]:
    """The elements that its arithmetic names, in order."""
    terms = () if None in ref.index else trace.explain(ref.name, ref.index).terms
    return [part for term in terms for part in term.refs]


def source(trace: PromptTrace, ref: Ref) -> tuple[Ref, tuple[Ref, ...]]:
    """Where an element's value was computed, and the elements that only pass it on from there."""
    passed = []
    while ref.name not in trace.weights and isinstance(trace.step(ref.name).op, PASSING):
        before = _read(trace, ref)
        # A number that was set by hand comes from nowhere else.
        if len(before) != 1 or _value(trace, before[0]) != _value(trace, ref):
            break
        passed.append(ref)
        ref = before[0]
    return ref, tuple(passed)


def _value(trace: PromptTrace, ref: Ref) -> float:
    return trace.value(ref.name, ref.index)


def content(t: Text, trace: PromptTrace, link: str, everything: bool = False) -> dict:
    """What the panel's component draws for a link."""
    words = {key: t(f"opened.{key}") for key in ("heading", "close", "trail", "all", "fewer")}
    try:
        trail = elements.checked(trace, elements.decode(link))
    except BadLink:
        return {"link": link, "words": words, "notice": t("opened.notice")}
    if not trail:
        return {"link": "", "words": words}
    ref, by_hand = trail[-1], False
    if None in ref.index:
        found = row_sum(trace, ref, MOST if everything else LARGEST)
    else:
        explained = trace.explain(ref.name, ref.index)
        by_hand = explained.edited
        found = written_out(trace, explained, MOST if everything else LARGEST)
    hidden = _hidden(trace, ref)
    name = elements.called(t, trace, ref, hidden)
    return {
        "link": link,
        "words": words,
        "trail": [_stop(t, trace, trail[: i + 1]) for i in range(len(trail))],
        "name": name.name,
        "place": name.place,
        "masked": t("opened.masked") if hidden else "",
        "says": t("opened.change.by_hand") if by_hand else _says(t, trace, ref) or name.says,
        "where": where(t, trace, ref),
        "passed": _passed(t, trace, trail),
        "everything": everything,
        **_arithmetic(t, trace, trail, found),
    }


def _says(t: Text, trace: PromptTrace, ref: Ref) -> str:
    """What is said instead of a share in whose row another one was set by hand."""
    row = (*ref.index[:-1], None)
    kept = ref.name in trace and not _hidden(trace, ref)
    if not (kept and elements.role(ref.name) == "attn.weights"):
        return ""
    if not elements.by_hand(trace, ref.name, row):
        return ""
    words = elements.axis_words(t, trace, ref)
    total = number(trace[ref.name][ref.index[:-1]].double().sum().item())
    return t("opened.role.attn.weights.by_hand_says", sum=total, **words)


def _hidden(trace: PromptTrace, ref: Ref) -> bool:
    """Whether it is the score or share of a key that its query may not look at."""
    if not ref.name.endswith(("attn.scores_masked", "attn.weights")) or None in ref.index:
        return False
    scores = ref.name.replace("attn.weights", "attn.scores_masked")
    return math.isinf(trace.value(scores, ref.index))


def _stop(t: Text, trace: PromptTrace, trail: Trail) -> dict:
    """One stop of the trail: opening it leads back to where it was the last."""
    ref = trail[-1]
    name = elements.called(t, trace, ref)
    value = "" if None in ref.index else f" {value_text(trace, ref)}"
    return {"text": name.short + value, "to": elements.encode(trail), "label": name.name}


def _passed(t: Text, trace: PromptTrace, trail: Trail) -> str:
    """Names what lies between the last two stops and only passed the number on."""
    for part in _read(trace, trail[-2]) if len(trail) > 1 else ():
        end, between = source(trace, part)
        if between and end == trail[-1]:
            names = [elements.called(t, trace, ref).name for ref in between]
            return t("opened.passed", names=", ".join(names))
    return ""


def _arithmetic(t: Text, trace: PromptTrace, trail: Trail, found: Sum) -> dict:
    ref = trail[-1]
    kind = elements.role(ref.name)
    value = number(found.value)
    if not found.terms:
        if kind == "tokens.ids":
            token = shown(trace.tokens[ref.index[0]])
            return {"left": t("opened.id", id=str(int(found.value))), "terms": [], "value": token}
        return {"left": "", "terms": [], "value": value_text(trace, ref), "exact": found.exact}
    if kind == "attn.scores_masked" and _hidden(trace, ref):
        return _replaced(t, trace, trail)
    rest = None
    if found.n_rest:
        text = t("opened.rest", n=found.n_rest)
        rest = {"sign": sign(found.rest), "value": number(abs(found.rest)), "text": text}
    left = "Σ exp(s)" if None in ref.index else symbol(trace, ref.name)
    terms = [[_drawn(t, trace, trail, piece) for piece in term] for term in found.terms]
    return {
        "left": left,
        "terms": terms,
        "rest": rest,
        "value": value,
        "exact": found.exact,
        "count": len(found.terms) + found.n_rest,
    }


def _replaced(t: Text, trace: PromptTrace, trail: Trail) -> dict:
    """A score that the mask replaced, and what it would be."""
    ref = trail[-1]
    score = Ref(trace.step(ref.name).inputs[0], ref.index)
    start, end = t("opened.replaced", score="{score}").split("{score}")
    pieces = (Piece(start), Piece(value_text(trace, score), score), Piece(f"{end} "))
    terms = [[_drawn(t, trace, trail, piece) for piece in pieces]]
    return {"left": "", "terms": terms, "joint": "", "value": value_text(trace, ref), "exact": ""}


def _drawn(t: Text, trace: PromptTrace, trail: Trail, piece: Piece) -> dict:
    if piece.ref is None:
        return {"text": piece.text}
    name = elements.called(t, trace, piece.ref).name
    return {
        "text": piece.text,
        "to": elements.encode((*trail, source(trace, piece.ref)[0])),
        "label": t("opened.open", text=piece.text, name=name),
        "colour": elements.colour(trace, piece.ref),
        "kind": "weight" if piece.ref.name in trace.weights else "step",
    }


def _go() -> None:
    """Open what a click asks for; nothing in it is trusted before the page reads it."""
    asked = said(KEY, "go")
    if isinstance(asked, str):
        st.session_state[OPEN] = asked


def _acting(trace: PromptTrace, trail: Trail) -> Callable[[], None]:
    """What is done when the number that is drawn is to change; nothing that arrives is trusted."""

    def act() -> None:
        asked = said(KEY, "change")
        if not trail or not isinstance(asked, dict) or asked.get("link") != elements.encode(trail):
            return
        if "put" in asked:
            opened_change.put(trace, trail[-1], asked["put"])
        elif "take" in asked:
            opened_change.take(trace, trail[-1], asked["take"])
        else:
            opened_change.do(asked.get("do"))

    return act


def _all() -> None:
    everything = said(KEY, "all")
    st.session_state[ALL] = st.session_state.get(OPEN) if everything else None
