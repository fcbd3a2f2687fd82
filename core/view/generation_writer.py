"""The text that is being written: what was read, where in its tree one is, what comes next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.analysis.sampling import draws
from core.changes import align, apply, decode
from core.generate.branches import MOST, PROMPT, BadBranches, Branches
from core.generate.cache import FirstPass, KVCache
from core.generate.generate import pick
from core.generate.reader import Reader
from core.generate.sampling import SamplingError
from core.models.model import PromptTrace
from core.models.tokenizer import UnknownWord, WordTokenizer, clean_text
from core.view import changes, engine, sampling_settings
from core.view.compare import Comparison
from core.view.frame import View
from core.view.look import Look
from core.view.sampling_drawn import Drawn

BRANCHES, LIMIT, AT_MOST = "branches", "limit", "new"  # the address
LIMITS = ("stop", "slide")
WRITE = "write"  # what a link asks for: step, back, to-<place>, pick-<token>, play, all, new
OWNER, KEPT = "_write_of", "_write_kept"  # session: which text the tree belongs to; those of others
PLAY, TICK, PAUSE = "_write_play", "_write_tick", "_write_pause"  # session: what is to be done
TYPED = "_write_typed"
TEXTS = 16  # whose trees are kept
LONGEST_TYPED = 400  # characters
SECONDS = 0.4  # of writing in one run where many tokens are written at once


@engine.holds_traces
@st.cache_resource(max_entries=8, show_spinner=False)
def reader(key: str, variant: str, edits: str) -> Reader:
    """The steps of everybody who writes with this model and these changes."""
    return Reader(memory=32 * 2**20)


def _trace(key: str, variant: str, ids: tuple[int, ...]) -> PromptTrace:
    """As `engine.trace`, a short text in a place of its own: who writes should not push out others.

    Of long texts, each of which takes much memory, there is one place for all.
    """
    return (engine.trace if len(ids) > engine.LONG else _short_trace)(key, variant, ids)


@engine.holds_traces
@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=engine.BY_TEXT)
def _short_trace(key: str, variant: str, ids: tuple[int, ...]) -> PromptTrace:
    return engine.load(key, variant).trace(ids)


def _compared(
    key: str, variant: str, ids: tuple[int, ...], before: tuple[int, ...], edits: str
) -> Comparison:
    """As `engine.compared`; see `_trace`."""
    is_long = max(len(ids), len(before)) > engine.LONG
    return (engine.compared if is_long else _short_compared)(key, variant, ids, before, edits)


@engine.holds_traces
@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=engine.BY_TEXT)
def _short_compared(
    key: str, variant: str, ids: tuple[int, ...], before: tuple[int, ...], edits: str
) -> Comparison:
    applied = apply(_trace(key, variant, ids), decode(edits).in_force)
    rows = align(before, ids) if ids != before else tuple(range(len(ids)))
    return Comparison(_trace(key, variant, before), applied, rows)


class Writer:
    """One person's text. Everything that it depends on is in the address.

    settings: how a token is drawn. tree: the ways the text went on. limit: what happens where the
    context is full. at_most: how many tokens are written in one go.
    """

    def __init__(self, view: View) -> None:
        self.state, self._look = view.state, view.look
        self.settings = sampling_settings.read(self.state)
        self.at_most = int(self.state.number(AT_MOST, 1, 500, 20, whole=True))
        self.limit = self.state.choice(LIMIT, LIMITS, LIMITS[0])
        self.model = view.look.trace.model
        self.prompt = tuple(view.look.trace.ids)
        self.tree = self._read_tree()

    def _read_tree(self) -> Branches:
        """The tree of the link or the session; another text or model has one of its own."""
        compared = self._look.compared
        text = tuple(compared.after.ids) if compared else self.prompt  # whichever side is shown
        self._owner = (self.model.key, self.model.variant, text)
        written = self.state.text(BRANCHES, "")
        moved = st.session_state.get(OWNER, self._owner) != self._owner
        if moved and BRANCHES not in self.state.asked:
            written = st.session_state[KEPT].get(self._owner, "")
        st.session_state[OWNER] = self._owner
        try:
            return Branches.decode(written, self.model.config.n_vocab)
        except BadBranches:
            self.state.say("link.damaged", what=BRANCHES)
            return Branches()

    @property
    def depth(self) -> int:
        """How many tokens were written."""
        return len(self.tree.path())

    @property
    def ids(self) -> tuple[int, ...]:
        """The text, the written tokens included."""
        return (*self.prompt, *self.tree.ids())

    @property
    def n_ctx(self) -> int:
        return self.model.config.n_ctx

    @property
    def slid(self) -> int:
        """How many tokens no longer fit in the context, and were left behind at the front."""
        return max(0, len(self.ids) - self.n_ctx) if self.limit == "slide" else 0

    @property
    def n_first(self) -> int:
        """How many tokens are read in one wide pass before single rows follow."""
        return self.n_ctx if self.slid else len(self.prompt)

    @property
    def ending(self) -> str:
        """Why nothing more can be written: end, full or most; "" if something can."""
        if self.depth and self.ids[-1] in self.model.tokenizer.stop_ids:
            return "end"
        if self.limit == "stop" and len(self.ids) > self.n_ctx:
            return "full"
        return "most" if self.depth >= MOST else ""

    def _window(self, ids: Sequence[int]) -> tuple[int, ...]:
        """What the model reads of a text: as much as it has positions for."""
        fits = ids[-self.n_ctx :] if self.limit == "slide" else ids[: self.n_ctx]
        return tuple(fits)

    def look(self, side: str = "") -> Look:
        """All that was read as one full pass, with its last token looked at.

        side: before or after a change, as far as there is one; by default the one that is shown.
        """
        look, names = self._look, (self.model.key, self.model.variant)
        ids = self._window(self.ids)
        if look.compared is None:
            return replace(look, trace=_trace(*names, ids), token=len(ids) - 1, hidden=None)
        path = self.tree.ids()
        texts = (self._window([*self._text(side), *path]) for side in ("after", "before"))
        compared = _compared(*names, *texts, st.session_state[changes.EDITS])
        trace = compared.before if (side or look.side) == "before" else compared.after
        return replace(look, trace=trace, compared=compared, token=len(trace) - 1)

    def _text(self, side: str) -> Sequence[int]:
        """The text that the written tokens follow; it may be another one before a change."""
        compared = self._look.compared
        if compared is None or not side:
            return self.prompt
        return (compared.before if side == "before" else compared.after).ids

    def _reader(self, side: str = "") -> Reader:
        look = self._look
        changed = look.compared is not None and (side or look.side) != "before"
        edits = st.session_state[changes.EDITS] if changed else ""
        return reader(self.model.key, self.model.variant, edits)

    def step(self, full: PromptTrace) -> PromptTrace:
        """The pass that read the last token: a single row, or all of the text at once."""
        return self._reader().step(full, self.n_first)

    def cache(self, full: PromptTrace) -> KVCache | FirstPass:
        """Keys and values of all that was read. Raises ValueError without a mask."""
        if len(full) <= self.n_first:
            return FirstPass(full)
        return self._reader().cache(full, self.n_first)

    def next(self, side: str = "") -> Drawn | None:
        """The token that comes next; None where the logits are no numbers to draw from.

        side: see `look`.
        """
        text, full = self._text(side), self.look(side).trace
        step = self._reader(side).step(full, self.n_ctx if self.slid else len(text))
        logits, previous = step.row("logits"), [*text, *self.tree.ids()]
        try:
            chosen = self.settings.distribution(logits, previous)
        except SamplingError:
            return None
        number = draws(self.settings.seed, self.depth + 1)[-1].item()
        token = pick(chosen, number)
        return Drawn(self.settings, previous, chosen, self.depth, number, token)

    def act(self) -> None:
        """Do what was clicked, typed, or is due while it plays; then the address follows."""
        verb, _, what = self.state.asked.get(WRITE, "").partition("-")
        due, typed = st.session_state.pop(TICK, False), st.session_state.pop(TYPED, "")
        if st.session_state.pop(PAUSE, False):
            self.playing.update(left=0)
        if verb in ("play", "all"):
            runs = st.session_state.get(PLAY, {}).get("run", 0) + 1
            start = {"left": self.at_most, "of": self.at_most, "all": verb == "all"}
            st.session_state[PLAY] = start | {"run": runs}
        elif verb:
            self._edit(verb, what)
        elif typed:
            self._type(typed)
        elif due:
            self._play()
        if self.ending:
            self.playing.update(left=0)
        written = self.tree.encode()
        self.state.put(BRANCHES, written)
        kept = st.session_state.setdefault(KEPT, {})
        kept.pop(self._owner, None)
        st.session_state[KEPT] = dict([*kept.items(), (self._owner, written)][-TEXTS:])

    @property
    def playing(self) -> dict:
        """left: how many tokens are still to be written, `of` so many; all: as fast as it goes."""
        nothing = {"left": 0, "of": 0, "all": False, "run": 0}
        return st.session_state.setdefault(PLAY, nothing)

    def _edit(self, verb: str, what: str) -> None:
        if verb == "step":
            self._grow()
        elif verb == "back":
            self.tree = self.tree.back()
        elif verb == "new":
            self.tree = Branches()
        elif verb == "pick" and what.isascii() and what.isdigit():
            self._add(int(what[:9]))
        elif verb == "to" and (what == "p" or (what.isascii() and what.isdigit())):
            place = PROMPT if what == "p" else int(what[:9])
            if place < len(self.tree):
                self.tree = self.tree.moved(place)

    def _add(self, token_id: int) -> None:
        if token_id < self.model.config.n_vocab and not self.ending:
            self.tree = self.tree.grown(token_id)

    def _grow(self) -> bool:
        """Write the next token; False if there is none."""
        found = None if self.ending else self.next()
        if found is not None:
            self._add(found.id)
        return found is not None

    def _play(self) -> None:
        """One token, or where all are wanted at once as many as go in a moment."""
        end = time.monotonic() + SECONDS
        play = self.playing
        while play["left"]:
            play["left"] = play["left"] - 1 if self._grow() else 0
            if not play["all"] or time.monotonic() > end:
                return

    def _type(self, text: str) -> None:
        """Words that somebody wants to come next; in a BPE text a word begins with its space."""
        tokenizer, text = self.model.tokenizer, clean_text(text[:LONGEST_TYPED])
        if not isinstance(tokenizer, WordTokenizer) and text[:1].isalnum():
            text = f" {text}"
        try:
            for token_id in tokenizer.encode(text):
                self._add(token_id)
        except UnknownWord as error:
            self.state.say("generation.own.unknown", word=error.word[:40])
