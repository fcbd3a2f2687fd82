"""What the view shows, kept in the session and in the address, so that every view is a link.

The session is the truth while somebody is here; the address follows it. The address is read on
arrival and when the browser goes back or forward, and nothing in it is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.models.tokenizer import clean_text
from core.view.packed import BadPacking, pack, unpack

CLICK = "_click"  # session: what a clicked picture asks for, e.g. "layer=3&token=2"
NOTICES = "_notices"
PUBLISHED = "_published"  # session: the parameters that the address was given last
VISITED = "_visited"
LONGEST_QUERY = 500  # characters, of a link's address
SIZES = "_sizes"
BASES = "_bases"  # session: the defaults of texts, to tell an untouched text from a typed one

Notice = tuple[str, dict[str, object]]


class State:
    """The parameters of one run: each is declared by whoever needs it, and is then in the link.

    Declaring returns a value that is certainly valid. What a link asks for and cannot have is
    said in a notice and replaced by the default.
    """

    def __init__(self) -> None:
        self.defaults: dict[str, object] = {}
        arrived = VISITED not in st.session_state or _went_back()
        self.asked: Mapping[str, str] = st.query_params.to_dict() if arrived else _clicked()
        self._arrived = arrived
        self._found: list[Notice] = []
        st.session_state[VISITED] = True

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        """One of `options`."""
        asked = self.asked.get(key)
        if asked is not None and asked not in options:
            self.say("link.unknown", what=key, value=asked[:40], used=default)
            asked = None
        return self._keep(key, asked, default, lambda value: value in options)

    def index(self, key: str, size: int, default: int) -> int:
        """A whole number from 0 to size - 1."""
        asked: int | None = None
        if (raw := self.asked.get(key)) is not None:
            asked = int(raw) if re.fullmatch(r"[0-9]{1,9}", raw) else None
            if asked is None or asked >= size:
                self.say("link.outside", what=key, value=raw[:40], last=size - 1, used=default)
                asked = None
        value = self._keep(
            key, asked, default, lambda value: isinstance(value, int) and 0 <= value < size
        )
        sizes = st.session_state.setdefault(SIZES, {})
        if sizes.get(key) != size:  # to Streamlit a slider with another range is a new widget
            st.session_state[key] = value
        sizes[key] = size
        return value

    def text(self, key: str, default: str) -> str:
        """Any text. One that nobody touched follows its default when that changes."""
        bases = st.session_state.setdefault(BASES, {})
        untouched = st.session_state.get(key) == bases.get(key)
        bases[key] = default
        asked = self._unpacked(key)
        if asked is None and untouched:
            asked = default
        value = self._keep(key, asked, default, lambda value: isinstance(value, str))
        if (clean := clean_text(value)) != value:
            st.session_state[key] = value = clean
        return value

    def put(self, key: str, value: Any) -> None:
        """Change a parameter; only before its widget is drawn in this run."""
        st.session_state[key] = value

    def say(self, key: str, **values: object) -> None:
        """Remember a notice about the link, until something changes."""
        self._found.append((key, values))

    def query(self, **changes: object) -> dict[str, str]:
        """The parameters of a link to this view, or to one with `changes`."""
        values = {key: st.session_state[key] for key in self.defaults} | changes
        return {
            key: pack(str(value))
            for key, value in values.items()
            if value != self.defaults.get(key)
        }

    def address(self, **changes: object) -> str:
        """The query of a link to this view with `changes`.

        A very long text is left out, since a page has a hundred links; the page's script fills
        it in from the address bar.
        """
        query = urlencode(self.query() | changes)
        return "?" + (query if len(query) <= LONGEST_QUERY else urlencode(changes))

    def link(self, **changes: object) -> dict[str, str]:
        """Attributes of a link to this view with `changes`; the page's script spares a reload."""
        return {"href": self.address(**changes), "data_set": urlencode(changes)}

    def publish(self) -> list[Notice]:
        """Bring the address up to date; return the notices to show."""
        wanted = self.query()
        # A run that was asked for before the last one ended has the address from before that.
        last = wanted if self._arrived else st.session_state.get(PUBLISHED, wanted)
        if st.query_params.to_dict() != wanted or last != wanted:
            st.query_params.from_dict(wanted)
        st.session_state[PUBLISHED] = wanted
        if self._found:
            st.session_state[NOTICES] = (wanted, self._found)
        seen, notices = st.session_state.get(NOTICES, ({}, []))
        return notices if seen == wanted else []

    def _unpacked(self, key: str) -> str | None:
        """The text that a link asks for."""
        try:
            return unpack(self.asked[key]) if key in self.asked else None
        except BadPacking:
            self.say("link.damaged", what=key)
            return None

    def _keep(self, key: str, asked: Any, default: Any, valid: Callable[[Any], bool]) -> Any:
        self.defaults[key] = default
        if asked is not None:
            st.session_state[key] = asked
        elif self._arrived or not valid(st.session_state.get(key)):
            st.session_state[key] = default
        return st.session_state[key]


def _went_back() -> bool:
    """Whether this run comes from the browser's back or forward button."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def _clicked() -> dict[str, str]:
    return dict(parse_qsl(st.session_state.pop(CLICK, ""), keep_blank_values=True))
