"""The list of changes in the sidebar: each in plain words, to be switched off or removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from core.changes import Changes, Entry, Patch, decode
from core.view import change_words as words
from core.view import changes
from core.view.compare import Comparison
from core.view.html import div, esc, para, tag
from core.view.look import Look
from core.view.texts import Text

MANY = 4  # cells of one matrix that become one foldable line
LINES = 8  # lines before the rest is folded
MOST = 60  # lines in a fold; a very long one says how many are missing
LONGEST = 60  # characters of a text


def draw(look: Look, text: str, was: str) -> None:
    """Everything that this visitor changed, and what to do about it."""
    st.html(html(look, text, was))


def html(look: Look, text: str, was: str) -> str:
    """The list as HTML; one friendly line if there is nothing in it."""
    t, found = look.t, decode(st.session_state[changes.EDITS])
    heading = tag("h2", esc(t("change_list.title")), cls="group")
    items = [_text_line(look, text, was)] if was else []
    if look.compared is not None:
        items += _List(look, look.compared, found).lines()
    empty = "" if items else para(t("change_list.empty"), "aside")
    listed = _listed(t, items) if items else ""
    listed += "".join(_waiting(look, *one) for one in changes.waiting(look.trace.model))
    history = _history(look, bool(found))
    return tag("section", heading, empty, listed, history, cls="changes")


def _waiting(look: Look, preset: str, size: str, n: int) -> str:
    """Changes of this model in another variant or size, and a link that leads there."""
    model, t = look.trace.model, look.t
    if preset != model.preset:
        place = t("change_list.in_variant", name=t(f"presets.{preset}"))
    else:
        place = t("change_list.in_size" if size else "change_list.in_usual_size")
    link = look.state.link(preset=preset, size=size)
    there = tag("a", esc(t("change_list.go_there")), **link)
    said = tag("span", esc(t("change_list.waiting", n=n, place=place)), cls="note")
    return div("waiting", said, " ", there)


def _listed(t: Text, items: Sequence[str]) -> str:
    """The lines; beyond a few, the rest is folded."""
    first, rest = items[:LINES], items[LINES:]
    if len(rest) < 2:
        first, rest = items, ()
    folded = ""
    if rest:
        more = tag("summary", esc(t("change_list.more", n=len(rest))))
        folded = tag("details", more, _capped(t, rest, len(rest)))
    return tag("ol", *first) + folded


def _capped(t: Text, items: Sequence[str], n: int) -> str:
    """The lines of a fold, or the first of `n`."""
    items, left = items[:MOST], n - MOST
    missing = [tag("li", esc(t("change_list.unseen", n=left)), cls="aside")] if left > 0 else []
    return tag("ol", *items, *missing)


def _text_line(look: Look, text: str, was: str) -> str:
    """The text before and the text now."""
    t = look.t
    name, value = t("change_list.text"), _both(t, was, text)
    links = (
        _link(look, "old_text", t("change_list.old_text"), value),
        _link(look, "new_text", t("change_list.new_text"), value),
    )
    return _line(name, value, links)


def _both(t: Text, was: str, text: str) -> str:
    old, new = (f"“{words.quoted(one, LONGEST)}”" for one in (was, text))
    return t("change_list.from_to", old=old, new=new)


def _line(name: str, value: str, links: Sequence[str], note: str = "", cls: str = "") -> str:
    said = tag("span", esc(name), cls="what") + tag("b", esc(value))
    return tag(
        "li",
        said,
        tag("small", esc(note), cls="note") if note else "",
        div("acts", *links),
        cls=cls or None,
    )


def _link(look: Look, do: str, label: str, of: str) -> str:
    """A link of a line; to who cannot see the line it also says which one."""
    return tag("a", esc(label), aria_label=f"{label}: {of}", **look.state.link(do=do))


def _history(look: Look, any_change: bool) -> str:
    """Undo, redo and reset; what cannot be done now is there, but no link."""
    possible = {
        "undo": changes.can_undo(),
        "redo": changes.can_redo(),
        "reset": any_change,
    }
    if not any(possible.values()):
        return ""
    pieces = (
        tag("a", esc(look.t(f"change_list.{do}")), **look.state.link(do=do))
        if can
        else tag("span", esc(look.t(f"change_list.{do}")), aria_disabled="true")
        for do, can in possible.items()
    )
    return div("history", *pieces)


class _List:
    """Draws the entries; many cells of one matrix, made one after the other, as one line."""

    def __init__(self, look: Look, compared: Comparison, found: Changes) -> None:
        self.look, self.t = look, look.t
        self.compared, self.found = compared, found
        self.unfit = set(compared.applied.unfit)

    def lines(self) -> list[str]:
        lines = []
        numbered = enumerate(self.found.entries)
        for group, run in groupby(numbered, key=lambda pair: words.group(pair[1])):
            entries = list(run)
            if group and len(entries) >= MANY:
                lines.append(self._group(entries))
            else:
                lines += [self._entry(i, entry) for i, entry in entries]
        return lines

    def _entry(self, i: int, entry: Entry) -> str:
        what = words.what(self.t, self.compared, entry.change)
        value = words.values(self.t, self.compared, entry.change)
        links = self._links(str(i), entry.on, what)
        if isinstance(entry.change, Patch):
            what = self.t("change_list.named", what=what)
        return _line(what, value, links, self._note(i, entry), self._cls([(i, entry)]))

    def _group(self, entries: Sequence[tuple[int, Entry]]) -> str:
        """All cells of a matrix that were changed together, folded."""
        first, last = entries[0][0], entries[-1][0]
        matrix = words.matrix(self.t, self.compared, entries[0][1].change)
        name = self.t("change_list.cells", n=len(entries), matrix=matrix)
        lines = [self._entry(*pair) for pair in entries[:MOST]]
        own = [entry for _, entry in entries]
        links = self._links(f"{first}-{last}", any(entry.on for entry in own), name)
        folded = tag(
            "details",
            tag("summary", tag("span", esc(name), cls="what")),
            _capped(self.t, lines, len(entries)),
            open="" if self._acted(first, last) else None,
        )
        return tag("li", folded, div("acts", *links), cls=self._cls(entries) or None)

    def _links(self, numbers: str, on: bool, what: str) -> tuple[str, str]:
        flip = self.t("change_list.switch_off" if on else "change_list.switch_on")
        remove = self.t("change_list.remove")
        return (
            _link(self.look, f"flip.{numbers}", flip, what),
            _link(self.look, f"drop.{numbers}", remove, what),
        )

    def _note(self, i: int, entry: Entry) -> str:
        if entry.on and entry.change in self.unfit:
            return words.reason(self.t, self.compared, entry.change)
        if entry.on and self._covered(i, entry):
            return self.t("change_list.covered")
        if words.is_tied(self.compared, entry.change):
            return self.t("change_list.tied")
        return "" if entry.on else self.t("change_list.is_off")

    def _covered(self, i: int, entry: Entry) -> bool:
        """Whether one further down, which is in force, sets the same and perhaps more."""
        return any(
            later.on and later.change not in self.unfit and words.covers(later.change, entry.change)
            for later in self.found.entries[i + 1 :]
        )

    def _cls(self, entries: Sequence[tuple[int, Entry]]) -> str:
        """Greyed if nothing of it is in force."""
        dead = all(
            not entry.on or entry.change in self.unfit or self._covered(i, entry)
            for i, entry in entries
        )
        return "idle" if dead else ""

    def _acted(self, first: int, last: int) -> bool:
        """Whether the click that led here was on a line of this fold, which then stays open."""
        asked = re.fullmatch(r"(?:drop|flip)\.([0-9]{1,5})", self.look.state.asked.get("do", ""))
        return asked is not None and first <= int(asked[1]) <= last + 1
