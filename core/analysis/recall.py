"""Lost in the middle: how well a fact is used, by where in a long text it stands."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.models.model import Model

# Written for this: a fact that no other sentence hints at, fillers that never name anybody.
QUESTION = " The servant’s name was"
NAMES = ("Samuel", "Emma", "Harriet")
FILLERS = (
    " The morning was cold, and nobody cared to walk in the garden before breakfast.",
    " A letter had come from town, but it said nothing that was not known already.",
    " They sat down to dinner at five, and spoke chiefly of the roads and the weather.",
    " In the evening there was a little music, and the younger people wished to dance.",
    " The next day it rained without ceasing, and every plan was given up.",
    " At last the carriage was ready, and they went home well satisfied with the visit.",
)


@dataclass(frozen=True)
class Recall:
    """The fact at one place. place: how many fillers stand before it; None: it is not there.

    n_tokens: of the whole text. prob: of the answer's first token after the question.
    """

    place: int | None
    n_tokens: int
    prob: float


def recall(model: Model, name: str = NAMES[0]) -> list[Recall]:
    """Without the fact, then with it at every place between the fillers, first to last.

    Raises ContextTooLong, and UnknownWord for a vocabulary of a few words.
    """
    places = (None, *range(len(FILLERS) + 1))
    return [_recall(model, name, place) for place in places]


def text_with_fact(name: str, place: int | None) -> str:
    """The fillers with the fact before the one of that number, and the question."""
    sentences = list(FILLERS)
    if place is not None:
        sentences.insert(place, f"{QUESTION} {name}.")
    return "".join([*sentences, QUESTION]).strip()


def _recall(model: Model, name: str, place: int | None) -> Recall:
    ids = model.tokenizer.encode(text_with_fact(name, place))
    answer = model.tokenizer.encode(f" {name}")[0]
    logits = model.trace(ids).row("logits")
    with torch.inference_mode():
        return Recall(place, len(ids), logits.double().softmax(-1)[answer].item())
