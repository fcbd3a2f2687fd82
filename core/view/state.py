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
GO = "_go"  # session: the page that a clicked link leads to
NOTICES = "_notices"
PUBLISHED = "_published"  # session: the parameters that the address was given last
TOLD = "_told"  # session: notices from outside a run
VISITED = "_visited"
NUMBER = re.compile(r"[-+]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e[-+]?[0-9]{1,3})?", re.I)
LONGEST_QUERY = 200  # characters, of a link's address
SIZES = "_sizes"
SPOKEN = "_spoken"  # session: the language of the run before
BASES = "_bases"  # session: the defaults of texts, to tell an untouched text from a typed one

Notice = tuple[str, dict[str, object]]


class State:
    """The parameters of one run: each is declared by whoever needs it, and is then in the link.

    Declaring returns a value that is certainly valid. What a link asks for and cannot have is
    said in a notice and replaced by the default.
    """

    def __init__(self, clicked: bool = False) -> None:
        """clicked: whether a link changed the address, and not somebody who went back."""
        self.defaults: dict[str, object] = {}
        arrived = VISITED not in st.session_state or (went_back() and not clicked)
        self.asked: Mapping[str, str] = st.query_params.to_dict() if arrived else _clicked()
        self._arrived = arrived
        self._found: list[Notice] = st.session_state.pop(TOLD, [])
        self._query: dict[str, str] | None = None  # of links, until a parameter changes
        self._seen: dict[str, tuple[Any, Any]] = {}  # default and value, as declared last
        self._renamed = False  # whether all labels are others than in the run before
        st.session_state[VISITED] = True

    def speak(self, language: str) -> None:
        """Say in which language the run draws; before anything whose labels depend on it."""
        self._renamed = st.session_state.get(SPOKEN, language) != language
        st.session_state[SPOKEN] = language

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        """One of `options`."""
        asked = self.asked.get(key)
        if asked is not None and asked not in options:
            self.say("link.unknown", what=key, value=asked[:40], used=default)
            asked = None
        value = self._keep(key, asked, default, lambda value: value in options)
        if self._renamed:  # a box says its label, which after this run would be nobody's any more
            st.session_state[key] = value
        return value

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

    def number(
        self, key: str, low: float, high: float, default: float, *, whole: bool = False
    ) -> float:
        """A number from `low` to `high`; a whole one is an int."""
        asked: float | None = None
        if (raw := self.asked.get(key)) is not None:
            asked = read_number(raw, low, high, whole=whole)
            if asked is None:
                span = {"low": _plain(low), "high": _plain(high), "used": _plain(default)}
                self.say("link.between", what=key, value=raw[:40], **span)
        kinds = int if whole else (int, float)
        return self._keep(
            key, asked, default, lambda value: isinstance(value, kinds) and low <= value <= high
        )

    def text(self, key: str, default: str) -> str:
        """Any text. One that nobody touched follows its default when that changes."""
        value = st.session_state.get(key)
        if self._seen.get(key) == (default, value):
            return value  # a page asks for each of its numbers whether it is open
        bases = st.session_state.setdefault(BASES, {})
        untouched = value == bases.get(key)
        bases[key] = default
        asked = self._unpacked(key)
        if asked is None and untouched:
            asked = default
        value = self._keep(key, asked, default, lambda value: isinstance(value, str))
        if (clean := clean_text(value)) != value:
            self.put(key, clean)
        return clean

    def put(self, key: str, value: Any) -> None:
        """Change a parameter; only before its widget is drawn in this run."""
        st.session_state[key] = value
        self._query = None

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

    def whole(self) -> dict[str, str]:
        """All parameters of this view, those at their defaults too."""
        return {key: pack(str(st.session_state[key])) for key in self.defaults}

    def address(self, **changes: object) -> str:
        """The query of a link to this view with `changes`.

        A very long text is left out, since a page has a hundred links; the page's script fills
        it in from the address bar.
        """
        return self.link(**changes)["href"]

    def link(self, **changes: object) -> dict[str, str]:
        """Attributes of a link to this view with `changes`; the page's script spares a reload."""
        if self._query is None:  # a page has hundreds of links to itself
            self._query = _parts(self.query())
        changed = _parts(changes)
        query, short = ("&".join(parts.values()) for parts in (self._query | changed, changed))
        return {"href": "?" + (query if len(query) <= LONGEST_QUERY else short), "data_set": short}

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
        if asked is not None:
            st.session_state[key] = asked
        elif self._arrived or not valid(st.session_state.get(key)):
            st.session_state[key] = default
        value = st.session_state[key]
        if self._seen.get(key) != (default, value):
            self._query = None
        self._seen[key] = default, value
        self.defaults[key] = default
        return value


def _parts(values: Mapping[str, object]) -> dict[str, str]:
    """Each parameter as it stands in an address."""
    return {key: urlencode({key: value}) for key, value in values.items()}


def _plain(value: float) -> str:
    """A limit as people write it: 0.8, 1,000,000."""
    return f"{value:,.12g}"


def read_number(text: str, low: float, high: float, *, whole: bool = False) -> float | None:
    """The number that a text is, with point or comma; None if it is none from `low` to `high`."""
    text = text.strip().replace(",", ".").replace("\u2212", "-")
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    if not low <= value <= high or (whole and value != int(value)):
        return None
    return int(value) if whole else value


def tell(key: str, **values: object) -> None:
    """A notice for the run that follows. For callbacks."""
    st.session_state.setdefault(TOLD, []).append((key, values))


def went_back() -> bool:
    """Whether this run comes from the browser's back or forward button."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def _clicked() -> dict[str, str]:
    return dict(parse_qsl(st.session_state.pop(CLICK, ""), keep_blank_values=True))
