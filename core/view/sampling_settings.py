"""The settings of sampling: in the address, always valid, each with a slider and a field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st
from torch import Tensor

import core
from core.generate.sampling import ORDERS, Distribution
from core.view.html import esc, tag
from core.view.state import State, read_number
from core.view.texts import Text

REFUSED = "_sampling_refused"  # session: the setting that was typed and cannot be, and the text


@dataclass(frozen=True)
class Range:
    """What a setting can be. off: where it changes nothing. marks: where its slider stops."""

    low: float
    high: float
    off: float | None
    marks: tuple[float, ...] = ()
    whole: bool = False


RANGES = {
    "repetition_penalty": Range(0.1, 10, 1, (0.5, 0.8, 1, 1.05, 1.1, 1.2, 1.5, 2, 5, 10)),
    "temperature": Range(
        0, 1000, 1, (*(round(0.1 * i, 1) for i in range(16)), 2, 3, 5, 10, 100, 1000)
    ),
    "top_k": Range(
        0,
        1_000_000,
        0,
        (0, 1, 2, 3, 4, 5, 10, 20, 40, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000),
        whole=True,
    ),
    "top_p": Range(0, 1, 1, (*(round(0.1 * i, 1) for i in range(10)), 0.95, 0.98, 0.99, 1)),
    "min_p": Range(0, 1, 0, (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1)),
    "seed": Range(0, 999_999, None, whole=True),
}


@dataclass(frozen=True)
class Settings:
    """How a token is drawn. A top_k of 0, top_p of 1, min_p of 0 and penalty of 1 are off."""

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    order: str = "transformers"
    seed: int = 0

    def distribution(self, logits: Tensor, previous: Iterable[int] = ()) -> Distribution:
        """Stage by stage from logits [vocab]; what is off is no stage. Raises SamplingError."""
        on = {key: getattr(self, key) if self.is_on(key) else None for key in OFF}
        return core.distribution(
            logits, self.temperature, previous=previous, order=self.order, **on
        )

    def is_on(self, key: str) -> bool:
        """Whether a setting changes anything by itself."""
        return getattr(self, key) != RANGES[key].off


OFF = ("repetition_penalty", "top_k", "top_p", "min_p")  # what can be no stage at all
START = Settings()
PRESETS = {
    "usual": START,
    "plain": Settings(1.0, 0, 1.0, 0.0, 1.0),
    "greedy": Settings(0.0, 0, 1.0, 0.0, 1.0),
}


def read(state: State) -> Settings:
    """The settings of this run, of the link or of the session. Before anything is linked."""
    values = {
        key: state.number(key, span.low, span.high, getattr(START, key), whole=span.whole)
        for key, span in RANGES.items()
    }
    return Settings(**values, order=state.choice("order", list(ORDERS), START.order))


def preset(name: str) -> dict[str, str]:
    """What a link asks for that sets all settings but order and seed."""
    settings = PRESETS[name]
    return {key: written(getattr(settings, key)) for key in RANGES if key != "seed"}


def written(value: float) -> str:
    """A setting as it is typed: 40, 0.95."""
    return str(int(value)) if value == int(value) else str(value)


def control(t: Text, key: str, most: float | None = None) -> None:
    """A slider and a field for one setting, and what is wrong with what was typed there last.

    most: where the slider ends if before its last mark; any valid number can be typed.
    """
    span, value = RANGES[key], st.session_state[key]
    with st.container(key=f"setting_{key}", horizontal=True, vertical_alignment="bottom"):
        if span.marks:
            _slider(t, key, most)
        st.session_state[f"{key}_typed"] = written(value)
        st.text_input(
            t("sampling.control.exact" if span.marks else f"sampling.control.{key}"),
            key=f"{key}_typed",
            on_change=_typed,
            args=(key,),
            width=150,
            max_chars=20,
        )
    refused, text = st.session_state.get(REFUSED, ("", ""))
    if refused == key:
        del st.session_state[REFUSED]
        kind = "whole" if span.whole else "any"
        says = t(
            f"sampling.control.refused.{kind}",
            typed=text,
            low=written(span.low),
            high=f"{int(span.high):,}",
            kept=written(value),
        )
        st.html(tag("p", esc(says), cls="notice", role="alert"))


def _slider(t: Text, key: str, most: float | None) -> None:
    span, value = RANGES[key], st.session_state[key]
    kind = int if span.whole else float
    marks = {kind(mark) for mark in span.marks if most is None or mark <= most} | {kind(value)}
    st.session_state[f"{key}_slider"] = kind(value)
    st.select_slider(
        t(f"sampling.control.{key}"),
        sorted(marks),
        key=f"{key}_slider",
        format_func=lambda mark: _mark(t, key, mark),
        on_change=_slid,
        args=(key,),
    )


def _mark(t: Text, key: str, mark: float) -> str:
    """How the slider says where it stands."""
    if key in OFF and mark == RANGES[key].off:
        return t("sampling.control.off", value=written(mark))
    return f"{mark:,}" if mark == int(mark) and isinstance(mark, int) else written(mark)


def _slid(key: str) -> None:
    st.session_state[key] = st.session_state[f"{key}_slider"]


def _typed(key: str) -> None:
    """What was typed: the new value, or a word about why it cannot be, and the value stays."""
    span, text = RANGES[key], str(st.session_state[f"{key}_typed"])
    value = read_number(text, span.low, span.high, whole=span.whole)
    if value is None:
        st.session_state[REFUSED] = (key, text)
    else:
        st.session_state[key] = value
