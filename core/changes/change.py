"""The three kinds of change, and a list of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.graph.edit import EditIndex


@dataclass(frozen=True)
class Put:
    """Elements of a weight or a step set by hand; None in the index stands for all of that axis.

    A head is switched off by 0 for all of its part of `attn.heads`, an MLP by 0 for `mlp.out`.
    """

    name: str
    index: EditIndex
    value: float


@dataclass(frozen=True)
class Patch:
    """Elements of a step taken from the same step of the same model for another text."""

    name: str
    index: EditIndex
    text: str


@dataclass(frozen=True)
class Switch:
    """A setting of the model, as `Switch("scaled", "off")`; see `core.changes.switches`."""

    setting: str
    value: str


Change = Put | Patch | Switch


@dataclass(frozen=True)
class Entry:
    """One line of the list: a change, and whether it is in force."""

    change: Change
    on: bool = True

    @property
    def place(self) -> tuple:
        """What it changes: of two entries with the same place only the later one can matter."""
        change = self.change
        return (change.setting,) if isinstance(change, Switch) else (change.name, change.index)


@dataclass(frozen=True)
class Changes:
    """A list of changes in the order in which they were made. Each place occurs once."""

    entries: tuple[Entry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def in_force(self) -> tuple[Change, ...]:
        return tuple(entry.change for entry in self.entries if entry.on)

    def with_change(self, *changes: Change) -> Changes:
        """With these at the end; what was changed at the same places before is replaced."""
        return self.with_entries(map(Entry, changes))

    def with_entries(self, entries: Iterable[Entry]) -> Changes:
        new: dict[tuple, Entry] = {}
        for entry in entries:
            new.pop(entry.place, None)  # so that the later one of two comes last
            new[entry.place] = entry
        kept = tuple(entry for entry in self.entries if entry.place not in new)
        return Changes(kept + tuple(new.values()))

    def without(self, *numbers: int) -> Changes:
        """Without the entries of these numbers, counted from 0."""
        return Changes(tuple(e for i, e in enumerate(self.entries) if i not in numbers))

    def toggled(self, number: int) -> Changes:
        """With one entry switched off, or on again."""
        entries = list(self.entries)
        entries[number] = replace(entries[number], on=not entries[number].on)
        return Changes(tuple(entries))

    def at(self, *places: tuple) -> tuple[int, ...]:
        """The numbers of the entries that change exactly these places."""
        return tuple(i for i, entry in enumerate(self.entries) if entry.place in places)
