"""One number of a step or weight: how a link writes it, and what a person calls it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.graph import Ref
from core.models.model import PromptTrace
from core.view.figures import token_colour
from core.view.html import shown
from core.view.texts import Text

LONGEST_LINK = 4000
LONGEST_TRAIL = 40
NAME = re.compile(r"[A-Za-z0-9_.]{1,60}")
INDEX = re.compile(r"(?:[0-9]{1,7}|x)(?:-(?:[0-9]{1,7}|x)){0,3}")
# What a softmax reads, a whole row at a time; scaled scores where a page leaves out the mask.
ROWS = ("attn.scores_scaled", "attn.scores_masked", "logits")
TOKEN_AXES = ("pos", "query", "key")

Trail = tuple[Ref, ...]


class BadLink(ValueError):
    """A link to a number that cannot be: nonsense, or nothing that this model and prompt have."""


def encode(trail: Sequence[Ref]) -> str:
    """`blocks.0.attn.weights~0-2-1~blocks.0.attn.scores_masked~0-2-x`, the first opened first.

    Only characters that stay as they are in an address. x stands for a whole line.
    """
    parts = (f"{ref.name}~{'-'.join(map(_written, ref.index))}" for ref in trail[-LONGEST_TRAIL:])
    return "~".join(parts)


def _written(index: int | None) -> str:
    return "x" if index is None else str(index)


def decode(link: str) -> Trail:
    """The elements of a link. Raises BadLink for anything that `encode` does not write."""
    if not link:
        return ()
    parts = link.split("~") if len(link) <= LONGEST_LINK else []
    pairs = list(zip(parts[::2], parts[1::2], strict=False))
    right = all(NAME.fullmatch(name) and INDEX.fullmatch(index) for name, index in pairs)
    if not pairs or len(parts) % 2 or len(pairs) > LONGEST_TRAIL or not right:
        raise BadLink("not a trail of names and indices")
    return tuple(Ref(name, tuple(map(_read, index.split("-")))) for name, index in pairs)


def _read(index: str) -> int | None:
    return None if index == "x" else int(index)


def checked(trace: PromptTrace, trail: Trail) -> Trail:
    """The trail, if every element of it exists. Raises BadLink."""
    for ref in trail:
        if ref.name not in trace and ref.name not in trace.weights:
            raise BadLink(f"no step or weight is called {ref.name}")
        shape = trace.shape(ref.name)
        inside = len(shape) == len(ref.index) and all(
            i is None or i < size for i, size in zip(ref.index, shape, strict=True)
        )
        lines = ref.index[-1:] == (None,) and role(ref.name) in ROWS
        if not inside or None in ref.index[: -1 if lines else None]:
            raise BadLink(f"{ref.name} has the shape {shape}")
    return trail


def axes(trace: PromptTrace, name: str) -> tuple[str, ...]:
    """The axis words of a step or weight."""
    return trace.graph.weights[name] if name in trace.weights else trace.step(name).axes


def block(name: str) -> int | None:
    """The block that a name belongs to."""
    return int(name.split(".")[1]) if name.startswith("blocks.") else None


def role(name: str) -> str:
    """What kind of value it is: the name without its block, and one word for all norms."""
    return generic(within(name))


def within(name: str) -> str:
    """A name without its block."""
    return name.split(".", 2)[2] if name.startswith("blocks.") else name


def generic(role: str) -> str:
    """The role of a step as the texts have it: the three norms share theirs."""
    return re.sub(r"^ln_[12f]\.", "norm.", role)


@dataclass(frozen=True)
class Called:
    """An element in words.

    short: the kind of value, as `score`. name: which one, `score of sat (2) on cat (1)`.
    place: `block 0, head 1`, or empty. says: one sentence on what it means.
    """

    short: str
    name: str
    place: str
    says: str


def by_hand(trace: PromptTrace, name: str, index: tuple[int | None, ...]) -> bool:
    """Whether any element at `index` was set by hand; None stands for a whole axis."""
    return any(
        all(None in (a, b) or a == b for a, b in zip(place, index, strict=True))
        for place in trace.edits.get(name, ())
    )


def called(t: Text, trace: PromptTrace, ref: Ref, hidden: bool = False) -> Called:
    """What a person calls an element. hidden: it is masked."""
    kind, words = _role(ref), _words(t, trace, ref)
    places = [t("opened.place.block", i=str(i)) for i in [block(ref.name)] if i is not None]
    for axis in ("head", "kv_head"):
        if axis in words:
            places.append(t("opened.place.head", i=words[axis]))
    sentence = "row_says" if None in ref.index else "hidden_says" if hidden else "says"
    learned = ref.name in trace.weights
    says = t("opened.learned" if learned else f"{kind}.{sentence}", **words)
    return Called(t(f"{kind}.short"), name(t, trace, ref), ", ".join(places), says)


def name(t: Text, trace: PromptTrace, ref: Ref) -> str:
    """Which element it is: `score of sat (2) on cat (1)`."""
    which = "row" if None in ref.index else "name"
    return t(f"{_role(ref)}.{which}", **_words(t, trace, ref))


def _role(ref: Ref) -> str:
    """The key of the texts about its kind of value."""
    return f"opened.role.{role(ref.name)}"


def _words(t: Text, trace: PromptTrace, ref: Ref) -> dict[str, str]:
    return axis_words(t, trace, ref) | {"norm": norm_word(t, trace, ref.name)}


def norm_word(t: Text, trace: PromptTrace, name: str) -> str:
    """`the norm before attention` for what belongs to one; else empty."""
    if not role(name).startswith("norm."):
        return ""
    moved = trace.model.config.norm_placement == "post" and not name.startswith("ln_f")
    return t(f"opened.norm.{within(name).partition('.')[0]}{'_post' if moved else ''}")


def axis_words(t: Text, trace: PromptTrace, ref: Ref) -> dict[str, str]:
    """Each index of an element in words, by axis; the key that is looked at is the `target`."""
    pairs = zip(axes(trace, ref.name), ref.index, strict=True)
    words = {axis: index_word(t, trace, axis, i) for axis, i in pairs if i is not None}
    return {"target" if axis == "key" else axis: word for axis, word in words.items()}


def index_word(t: Text, trace: PromptTrace, axis: str, index: int) -> str:
    """`·cat (1)` for a position, `“·cat” (ID 3797)` in the vocabulary, else the number.

    A position that this text does not reach is `token 7`.
    """
    if axis in TOKEN_AXES and index >= len(trace):
        return t("opened.place.beyond", i=str(index))
    if axis == "vocab" and index >= trace.model.config.n_vocab:
        return str(index)
    if axis in TOKEN_AXES:
        return t("opened.place.token", token=shown(trace.tokens[index]), i=str(index))
    if axis == "vocab":
        token = shown(trace.model.tokenizer.token_text(index))
        return t("opened.place.vocab", token=token, i=str(index))
    return str(index)


def colour(trace: PromptTrace, ref: Ref) -> str:
    """The colour of the token that an element belongs to; empty if it is nobody's.

    A weight of attention belongs to the token that is looked at.
    """
    words = axes(trace, ref.name)
    for axis in ("key", "pos", "query"):
        if axis in words and (index := ref.index[words.index(axis)]) is not None:
            return token_colour(index)
    return ""
