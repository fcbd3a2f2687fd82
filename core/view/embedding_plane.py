"""Two vectors on a plane, to be dragged or moved with arrow keys; the link says where they are."""

from __future__ import annotations

import math
import re

import streamlit as st

from core.view.component import component, said
from core.view.state import State
from core.view.texts import Text

PARAMETER = "vectors"  # in the link and in the session: four whole tenths, a then b
DEFAULT = "9_3_4_8"
PRESETS = {"same": "8_6_4_3", "right": "8_6_-6_8", "opposite": "8_6_-8_-6"}
PLACES = re.compile(r"(-?(?:10|[0-9]))_(-?(?:10|[0-9]))_(-?(?:10|[0-9]))_(-?(?:10|[0-9]))")
CLOSE, SHARED = 20, 60  # degrees: below, two arrows point nearly, or partly, the same way
KEY = "vectors_plane"


def valid(places: object) -> bool:
    """Whether these are two vectors that can be shown: tenths from -10 to 10, none of length 0."""
    found = PLACES.fullmatch(places) if isinstance(places, str) else None
    if not found:
        return False
    ax, ay, bx, by = map(int, found.groups())
    return bool((ax or ay) and (bx or by))


def verdicts() -> dict[str, float]:
    """The kinds of directions, each with the least cosine that it takes."""
    close, shared = (math.cos(math.radians(degrees)) for degrees in (CLOSE, SHARED))
    more = 1e-9  # than exactly: cosines are compared to nine digits
    return {
        "same": 1.0,
        "close": close,
        "partly": shared,
        "little": more,
        "right": 0.0,
        "against": more - close,
        "apart": more - 1.0,
        "opposite": -1.0,
    }


def plane(t: Text, state: State) -> None:
    """Draw the plane with the vectors of the link."""
    at = state.text(PARAMETER, DEFAULT)
    if not valid(at):
        state.say("link.unknown", what=PARAMETER, value=at[:40], used=DEFAULT)
        state.put(PARAMETER, DEFAULT)
        at = DEFAULT
    component("vectors", "vectors")(key=KEY, data=content(t, at), on_at_change=_moved)


def content(t: Text, at: str) -> dict:
    """What the component draws."""
    words = {key: t(f"vectors.{key}") for key in ("label", "hint")}
    least = sorted(verdicts().items(), key=lambda one: -one[1])
    words |= {
        "vector": t("vectors.vector", name="{name}"),
        "value": t("vectors.value", x="{x}", y="{y}", cos="{cos}"),
        "ends": [t(f"vectors.ends.{key}") for key in ("opposite", "right", "same")],
        "verdicts": [{"least": cos, "text": t(f"vectors.verdict.{key}")} for key, cos in least],
    }
    presets = [{"text": t(f"vectors.preset.{key}"), "at": at} for key, at in PRESETS.items()]
    return {"at": at, "words": words, "presets": presets}


def _moved() -> None:
    """A vector was let go; what arrives is checked like a link."""
    at = said(KEY, "at")
    if valid(at):
        st.session_state[PARAMETER] = at
