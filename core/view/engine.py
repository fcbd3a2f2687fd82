"""Models and traces, loaded once for everybody and never written to."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
import torch

import core
from core.changes import align, apply, decode
from core.models import catalogue
from core.models.heap import keep_heap
from core.models.model import Model, PromptTrace
from core.models.shelf import Shelf
from core.models.tokenizer import WordTokenizer
from core.view.compare import Comparison
from core.view.precision import ROUGH

FIRST_CHOICE = "bundled"
LONG = 256  # tokens beyond which few traces are kept: the stream alone may take 150 MB
# How a cache tells token IDs apart; one by one, as Streamlit does it, a thousand take 20 ms.
BY_TEXT = {tuple: repr}
_holders: list = []  # see `holds_traces`


@dataclass(frozen=True)
class Reading:
    """What a model makes of the text that was typed.

    ids: the tokens it runs on. cut: how many were dropped from the front.
    unknown: words that its vocabulary lacks. instead: why it runs on something else than the
    text, "" if it does not.
    """

    ids: tuple[int, ...]
    cut: int = 0
    unknown: tuple[str, ...] = ()
    instead: str = ""


def entries() -> dict[str, catalogue.ModelEntry]:
    """The models whose files are here, the one to begin with first."""
    found = [entry for entry in catalogue.models() if entry.available]
    found.sort(key=lambda entry: entry.key != FIRST_CHOICE)
    return {entry.key: entry for entry in found}


def is_here(key: str) -> bool:
    """Whether the files of this one are here: the others are not looked for."""
    entry = catalogue.entry(key)
    return entry is not None and entry.available


def load(key: str, variant: str) -> Model:
    """A model, loaded when first asked for. variant: see `Model.variant`.

    Raises what `core.load` raises for a model that is not one of ours.
    """
    if variant == ROUGH:
        return shelf().get(f"{key}~{ROUGH}", lambda: catalogue.load(key, dtype=torch.bfloat16))
    if variant:
        return _variant(key, variant)
    return shelf().get(key, lambda: catalogue.load(key))


def reload(path: str) -> None:
    """Read a model anew the next time it is shown."""
    shelf().drop(path)
    shelf().drop(f"{path}~{ROUGH}")


@st.cache_resource(show_spinner=False)
def shelf() -> Shelf:
    """The models that everybody shares."""
    keep_heap()
    return Shelf(forget=_drop_traces)


@st.cache_resource(max_entries=64, show_spinner=False)
def _variant(key: str, variant: str) -> Model:
    """A form of the worked example, of which there are many, each a few numbers."""
    preset, _, size = variant.partition("~")
    return catalogue.load(key, preset=preset, size=size)


def holds_traces(cached):
    """Mark a cache whose values hold models, to be emptied when a model leaves; a decorator."""
    _holders.append(cached)
    return cached


def _drop_traces() -> None:
    for cached in _holders:
        cached.clear()


@st.cache_resource(show_spinner=False)
def settle(page: str) -> None:
    """Once per page, when all that it imports is there: take it out of the garbage collection.

    Streamlit collects after every run, over some 230,000 objects of torch and plotly that stay.
    """
    gc.collect()
    gc.freeze()


def trace(key: str, variant: str, ids: tuple[int, ...]) -> PromptTrace:
    """The steps for these tokens; shared between people, computed as far as anybody looked."""
    return (_short_trace if len(ids) <= LONG else _long_trace)(key, variant, ids)


@holds_traces
@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_TEXT)
def _short_trace(key: str, variant: str, ids: tuple[int, ...]) -> PromptTrace:
    return load(key, variant).trace(ids)


@holds_traces
@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=BY_TEXT)
def _long_trace(key: str, variant: str, ids: tuple[int, ...]) -> PromptTrace:
    return load(key, variant).trace(ids)


def compared(
    key: str, variant: str, ids: tuple[int, ...], ids_before: tuple[int, ...], edits: str
) -> Comparison:
    """The trace without changes and the one with those in force; `edits` as in a link."""
    longest = max(len(ids), len(ids_before))
    made = _short_compared if longest <= LONG else _long_compared
    return made(key, variant, ids, ids_before, edits)


@holds_traces
@st.cache_resource(max_entries=24, show_spinner=False, hash_funcs=BY_TEXT)
def _short_compared(*what) -> Comparison:
    return _compare(*what)


@holds_traces
@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=BY_TEXT)
def _long_compared(*what) -> Comparison:
    return _compare(*what)


def _compare(
    key: str, variant: str, ids: tuple[int, ...], ids_before: tuple[int, ...], edits: str
) -> Comparison:
    before, unedited = trace(key, variant, ids_before), trace(key, variant, ids)
    applied = apply(unedited, decode(edits).in_force)
    rows = align(ids_before, ids) if ids != ids_before else tuple(range(len(ids)))
    return Comparison(before, applied, rows)


@st.cache_data(max_entries=48, show_spinner=False, hash_funcs=BY_TEXT)
def drawn(name: str, identity: tuple, _draw: Callable[[], str]) -> str:
    """HTML that takes a while to build, kept for whoever looks at the same thing again.

    identity: everything that it depends on; see `View.identity`.
    """
    return _draw()


def read(model: Model, prompt: str) -> Reading:
    """Tokens for any text at all."""
    unknown: tuple[str, ...] = ()
    try:
        ids = model.tokenizer.prompt_ids(prompt)
    except core.UnknownWord:
        ids, unknown = _known_words(model, prompt)
    if not ids:
        instead = "unknown" if unknown else "empty"
        return Reading(_beginning(model), 0, unknown, instead)
    fitting, cut = model.fit(ids)
    return Reading(tuple(fitting), cut, unknown)


def extend(model: Model, prompt: str, token_id: int) -> str:
    """The text with one more token; a word vocabulary joins its words with spaces."""
    tokenizer = model.tokenizer
    if not isinstance(tokenizer, WordTokenizer):
        return prompt + tokenizer.decode([token_id])
    reading = read(model, prompt)
    kept = () if reading.instead else reading.ids
    return tokenizer.decode([*kept, token_id])


def _known_words(model: Model, prompt: str) -> tuple[list[int], tuple[str, ...]]:
    """The IDs of the words that the vocabulary has, and the words that it lacks."""
    ids: list[int] = []
    unknown: dict[str, None] = {}
    for word in prompt.split():
        try:
            ids += model.tokenizer.encode(word)
        except core.UnknownWord as error:
            unknown[error.word] = None
    return ids, tuple(unknown)


def _beginning(model: Model) -> tuple[int, ...]:
    """What stands in for a text without tokens: the mark between texts, or the model's own."""
    end = model.tokenizer.end_of_text_id
    return (end,) if end is not None else tuple(model.tokenizer.encode(model.default_prompt))
