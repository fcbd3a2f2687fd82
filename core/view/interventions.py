"""The larger things that can be done to a model's way: parts of it switched off, as links.

Each is one or more changes like any other (see `core.changes`), so it is listed, undone and linked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import streamlit as st

from core.changes import Changes, Entry, Put, decode, encode
from core.changes.link import VERSION
from core.graph import Ref
from core.models.model import PromptTrace
from core.view import changes, elements
from core.view.html import div, esc, tag
from core.view.look import Look
from core.view.texts import Text

Index = tuple[int | None, ...]


@dataclass(frozen=True)
class Intervention:
    """What is set to 0 together. kind, words: how it is called, under `off.<kind>`."""

    kind: str
    places: tuple[tuple[str, Index], ...]
    words: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def puts(self) -> tuple[Put, ...]:
        return tuple(Put(name, index, 0.0) for name, index in self.places)


def head(layer: int, i: int) -> Intervention:
    places = ((f"blocks.{layer}.attn.heads", (i, None, None)),)
    return Intervention("head", places, {"block": str(layer), "head": str(i)})


def attention(layer: int) -> Intervention:
    places = ((f"blocks.{layer}.attn.out", (None, None)),)
    return Intervention("attention", places, {"block": str(layer)})


def mlp(layer: int) -> Intervention:
    places = ((f"blocks.{layer}.mlp.out", (None, None)),)
    return Intervention("mlp", places, {"block": str(layer)})


def neuron(trace: PromptTrace, layer: int, i: int) -> Intervention:
    step = "product" if trace.model.config.gated else "act"
    places = ((f"blocks.{layer}.mlp.{step}", (None, i)),)
    return Intervention("neuron", places, {"block": str(layer), "neuron": str(i)})


def block(trace: PromptTrace, layer: int) -> Intervention:
    """Everything that a block adds."""
    parts = [attention(layer)] + ([mlp(layer)] if trace.model.config.d_mlp else [])
    places = tuple(place for part in parts for place in part.places)
    return Intervention("block", places, {"block": str(layer)})


def row(trace: PromptTrace, ref: Ref) -> Intervention | None:
    """The whole row of an element of a step or weight."""
    if len(ref.index) < 2 or None in ref.index:
        return None
    return Intervention("row", ((ref.name, (*ref.index[:-1], None)),))


def fitting(trace: PromptTrace, ref: Ref) -> list[Intervention]:
    """What can be switched off that an element is a part of, the smallest first."""
    found = [row(trace, ref)]
    layer, config = elements.block(ref.name), trace.model.config
    if layer is None or None in ref.index:
        return list(filter(None, found))
    place = dict(zip(elements.axes(trace, ref.name), ref.index, strict=True))
    part = elements.within(ref.name).split(".")[0]
    if part == "attn":
        i = place.get("head", place.get("kv_head"))
        if i is None and "concat" in place:
            i = place["concat"] // config.d_head
        if i is not None and ("kv_head" not in place or config.n_kv_heads == config.n_heads):
            found.append(head(layer, i))
        found.append(attention(layer))
    elif part == "mlp":
        if "d_mlp" in place:
            found.append(neuron(trace, layer, place["d_mlp"]))
        found.append(mlp(layer))
    found.append(block(trace, layer))
    return list(filter(None, found))


def in_force(found: Changes, one: Intervention) -> list[int]:
    """The numbers of the entries that are this intervention; empty if it is not in force."""
    entries = {entry: i for i, entry in enumerate(found.entries)}
    numbers = [entries.get(Entry(put)) for put in one.puts]
    return [] if None in numbers else numbers


def actions(
    t: Text, found: Changes, ones: Iterable[Intervention]
) -> Iterator[tuple[str, bool, str]]:
    """Of each its words, whether it is in force, and what a link to it, or back, does."""
    for one in ones:
        numbers = in_force(found, one)
        words = t(f"off.{one.kind}.{'back' if numbers else 'off'}", **one.words)
        entries = encode(Changes(tuple(map(Entry, one.puts)))).removeprefix(f"{VERSION}~~")
        do = f"drop.{'.'.join(map(str, numbers))}" if numbers else f"add.{entries}"
        yield words, bool(numbers), do


def of_heads(look: Look) -> list[Intervention]:
    """What the Heads page offers: the head where we look, and all of them."""
    return [head(look.layer, look.head), attention(look.layer)]


def of_mlp(look: Look) -> list[Intervention]:
    """What the MLP page offers: all of it, and to switch on again what is off."""
    step = neuron(look.trace, look.layer, 0).places[0][0]
    silent = [
        entry.change.index[1]
        for entry in now().entries
        if isinstance(entry.change, Put) and entry.change.name == step
        if len(entry.change.index) == 2 and entry.change.index[0] is None
    ]
    return [mlp(look.layer), *(neuron(look.trace, look.layer, i) for i in silent if i is not None)]


def of_block(look: Look) -> list[Intervention]:
    """What the Stream page offers: each part of the block where we look, and all of it."""
    parts = [attention(look.layer)]
    if look.trace.model.config.d_mlp:
        parts += [mlp(look.layer), block(look.trace, look.layer)]
    return parts


def now() -> Changes:
    """The changes of the model that is shown."""
    return decode(st.session_state.get(changes.EDITS, ""))


def links(look: Look, ones: Sequence[Intervention]) -> str:
    """A line of links under a picture."""
    pieces = [link(look, one) for one in ones]
    return div("off-links", tag("span", esc(look.t("off.label"))), *pieces) if pieces else ""


def link(look: Look, one: Intervention) -> str:
    """One of them, to be switched off or on again."""
    ((words, on, do),) = actions(look.t, now(), [one])
    return tag("a", esc(words), cls="off-link on" if on else "off-link", **look.state.link(do=do))
