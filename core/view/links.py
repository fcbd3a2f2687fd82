"""Clicked links: what they ask for reaches the run that follows, and the page that they lead to.

The page's script sends a click in one of two ways: within a page as a trigger of its component;
to another page as the parameter `go` of the address, so that Streamlit draws that page in one run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.view.component import asset, said
from core.view.state import CLICK, GO, VISITED, went_back
from core.view.strip import FILES

ARRIVAL = "_arrival"
SCRIPT = "page_script"
HEARD = "_heard"  # session: the number of the last click that arrived


def hear_address() -> bool:
    """Whether this run comes from a click that stands in the address; it is remembered then."""
    if VISITED not in st.session_state:  # who just arrived has clicked nothing here
        return False
    try:
        go = json.loads(st.query_params.get("go", ""))
    except ValueError:
        return False
    number = go.get("n") if isinstance(go, dict) else None
    # In an address that is gone back to an old click may stand.
    if not isinstance(number, int | float) or number <= st.session_state.get(HEARD, 0):
        return False
    _remember(go)
    return True


def follow(page: str, clicked: bool) -> None:
    """Go where a clicked link leads; clicked: whether that stands in the address.

    That is kept until something is done there: what somebody did just before the click may reach
    us after it, from the page that they left.
    """
    go = st.session_state.get(GO)
    if not go:
        return
    if go["page"] != page and (clicked or not went_back()) and go["page"] in FILES:
        st.switch_page(FILES[go["page"]], query_params=st.query_params.to_dict())
    if go["page"] != page or go.get("there"):
        del st.session_state[GO]
    else:
        go["there"] = True
        count, _ = st.session_state.get(ARRIVAL, (0, ""))
        st.session_state[ARRIVAL] = (count + 1, go["anchor"] or "top")


def mount_script(page: str, language: str) -> None:
    """The page's script: it follows links, sends texts and scrolls to places."""
    count, anchor = st.session_state.get(ARRIVAL, (0, ""))
    script = st.components.v2.component("ripple_page", js=asset("js/page.js"))
    script(
        key=SCRIPT,
        data={
            "page": page,
            "language": language,
            "arrival": count,
            "anchor": anchor,
            "heard": st.session_state.get(HEARD),
        },
        on_go_change=remember_click,
    )


def remember_click() -> None:
    """A link was clicked: keep what it asks for until the run that follows."""
    _remember(said(SCRIPT, "go") or {})


def _remember(go: Mapping[str, Any]) -> None:
    if isinstance(go.get("n"), int | float):
        st.session_state[HEARD] = go["n"]
    if go.get("set"):
        st.session_state[CLICK] = str(go["set"])
    if go.get("page"):
        st.session_state[GO] = {key: str(go.get(key) or "") for key in ("page", "anchor")}
