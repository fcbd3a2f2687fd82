"""What a person calls a change, what it replaced, and why it does not fit."""

from __future__ import annotations

import math

import numpy as np

from core.changes import Change, Patch, Put, Switch, chosen
from core.changes.change import Entry
from core.graph import Ref
from core.graph.explain import tens
from core.models.model import PromptTrace
from core.models.tokenizer import UnknownWord
from core.view import elements
from core.view.compare import Comparison
from core.view.html import MINUS, shown
from core.view.texts import Text, UnknownText

LONGEST = 40  # characters of a text that a patch comes from
WHOLE = {"attn.heads": "head", "attn.out": "attention", "mlp.out": "mlp"}
NEURONS = ("mlp.act", "mlp.product")


def what(t: Text, compared: Comparison, change: Change) -> str:
    """What is changed: `W_Q, from number 0 to number 2 of the query (block 0, head 1)`."""
    if isinstance(change, Switch):
        return t(f"switch.{change.setting}.name")
    try:
        return _what(t, _trace(compared, change), change)
    except (KeyError, IndexError, UnknownText):
        return _unknown(t, change)


def _unknown(t: Text, change: Put | Patch) -> str:
    """What this model has nothing of: as far as it can be said without it."""
    index = ", ".join("…" if i is None else str(i) for i in change.index)
    try:
        short = t(f"opened.role.{elements.role(change.name)}.short")
    except UnknownText:
        return f"{change.name} [{index}]"
    block = elements.block(change.name)
    places = [] if block is None else [t("opened.place.block", i=str(block))]
    return _placed(short, ", ".join([*places, t("change_list.place", index=index)]))


def covers(later: Change, earlier: Change) -> bool:
    """Whether one change sets everything that another one sets."""
    if isinstance(later, Switch) or isinstance(earlier, Switch) or later.name != earlier.name:
        return False
    return len(later.index) == len(earlier.index) and all(
        new is None or new == old for new, old in zip(later.index, earlier.index, strict=True)
    )


def values(t: Text, compared: Comparison, change: Change) -> str:
    """From what to what: `0.10 → 0.80`, `on → off`, `switched off`."""
    if isinstance(change, Switch):
        own = chosen(change.setting, compared.before.model.config)
        words = [t(f"switch.{change.setting}.{value}") for value in (own, change.value)]
        return t("change_list.from_to", old=words[0], new=words[1])
    if isinstance(change, Patch):
        return t("change_list.taken", text=quoted(change.text))
    if change.value == 0 and kind(change):
        return t("change_list.off")
    new, old = plainly(change.value), _old(compared, change)
    if None in change.index:
        return t("change_list.all", new=new)
    return t("change_list.from_to", old=plainly(old), new=new) if old is not None else f"→ {new}"


def plainly(value: float) -> str:
    """Five digits that say something, no zeros behind them; 1·10⁹ as in a matrix."""
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return tens(f"{value:.5g}")


def kind(change: Put | Patch) -> str:
    """What part of a model it is all of: head, attention, mlp, neuron; else empty."""
    role, index = elements.role(change.name), change.index
    if role in WHOLE and all(i is None for i in index[1 if role == "attn.heads" else 0 :]):
        return WHOLE[role] if role != "attn.heads" or index[0] is not None else ""
    return "neuron" if role in NEURONS and index[:1] == (None,) != index else ""


def is_tied(compared: Comparison, change: Change) -> bool:
    """Whether the matrix is used a second time, for the output."""
    name = getattr(change, "name", "")
    return name == "embed.W_E" and compared.after.model.config.tied


def group(entry: Entry) -> tuple:
    """What single cells of one matrix have in common; nothing for all other entries."""
    change = entry.change
    if not isinstance(change, Put) or None in change.index:
        return ()
    return change.name, change.index[:-2]


def matrix(t: Text, compared: Comparison, change: Put) -> str:
    """The matrix that a cell belongs to: `W_Q (block 0, head 1)`."""
    try:
        trace = _trace(compared, change)
        found = elements.called(t, trace, Ref(change.name, change.index))
    except (KeyError, IndexError, UnknownText):
        return change.name
    return _placed(_short(t, trace, change.name), found.place)


def reason(t: Text, compared: Comparison, change: Change) -> str:
    """Why a change is not in force, though it is switched on."""
    after = compared.after
    if isinstance(change, Switch):
        return t("change_list.unfit.switch")
    if change.name not in after and change.name not in after.weights:
        return t("change_list.unfit.gone")
    axes, shape = elements.axes(after, change.name), after.shape(change.name)
    if len(axes) != len(change.index):
        return t("change_list.unfit.place")
    outside = [
        axis
        for axis, i, size in zip(axes, change.index, shape, strict=True)
        if i is not None and i >= size
    ]
    if set(outside) & set(elements.TOKEN_AXES):
        return t("change_list.unfit.short", n=len(after))
    if outside:
        return t("change_list.unfit.place")
    if isinstance(change, Patch):
        return _reason_of_text(t, after, change)
    return t("change_list.unfit.value")


def _reason_of_text(t: Text, after: PromptTrace, change: Patch) -> str:
    try:
        n = len(after.model.tokenizer.encode(change.text))
    except UnknownWord as error:
        return t("change_list.unfit.word", word=shown(error.word))
    return t("change_list.unfit.text", n=n, here=len(after))


def _trace(compared: Comparison, change: Put | Patch) -> PromptTrace:
    """The trace that has a step or weight, the changed one first. Raises KeyError, IndexError."""
    after, name = compared.after, change.name
    trace = after if name in after or name in after.weights else compared.before
    if len(change.index) != len(elements.axes(trace, name)):
        raise IndexError(f"{name} has other axes than {change.index}")
    return trace


def _what(t: Text, trace: PromptTrace, change: Put | Patch) -> str:
    if part := kind(change):
        i = next((str(i) for i in change.index if i is not None), "")
        return t(f"change_list.part.{part}", block=str(elements.block(change.name)), i=i)
    if None not in change.index:
        found = elements.called(t, trace, Ref(change.name, change.index))
        return _placed(found.name, found.place)
    short = _short(t, trace, change.name)
    block = elements.block(change.name)
    places = [] if block is None else [t("opened.place.block", i=str(block))]
    for axis, i in zip(elements.axes(trace, change.name), change.index, strict=True):
        if i is not None:
            word = elements.index_word(t, trace, axis, i)
            at_head = axis in ("head", "kv_head")
            places.append(t("opened.place.head", i=word) if at_head else word)
    said = _placed(short, ", ".join(places))
    return t("change_list.row_of", what=said) if isinstance(change, Patch) else said


def _short(t: Text, trace: PromptTrace, name: str) -> str:
    """The kind of value; of a norm's also which norm it is."""
    short = t(f"opened.role.{elements.role(name)}.short")
    norm = elements.norm_word(t, trace, name)
    return t("change_list.of_norm", what=short, norm=norm) if norm else short


def _placed(name: str, place: str) -> str:
    return f"{name} ({place})" if place else name


def _old(compared: Comparison, change: Put) -> float | None:
    """What one element was; nothing if there was none."""
    if None in change.index or _outside(compared.after, change):
        return None
    value = compared.values_before(change.name, change.index)
    return None if value is None or np.isnan(value).any() else float(value)


def _outside(trace: PromptTrace, change: Put) -> bool:
    if change.name not in trace and change.name not in trace.weights:
        return True
    shape = trace.shape(change.name)
    return len(shape) != len(change.index) or any(
        i is not None and i >= size for i, size in zip(change.index, shape, strict=True)
    )


def quoted(text: str, longest: int = LONGEST) -> str:
    """A text on one line, not too long, with nothing invisible in it but spaces."""
    words = " ".join(shown(word, longest) for word in text.split())
    return words if len(words) <= longest else words[: longest - 1] + "…"
