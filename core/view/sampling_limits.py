"""What is special about a setting at its ends, said where it occurs."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from core.analysis.sampling import Effect, likeliest
from core.view.look import Look
from core.view.sampling_pictures import token
from core.view.sampling_settings import RANGES, Settings

HOT, COLD = 20, 0.1  # temperatures from which on, and up to which, it is nearly at the end

Said = tuple[str, dict[str, object]]


def limits(look: Look, found: Effect, settings: Settings, before: Tensor) -> list[str]:
    """Sentences about a stage; `before` are the logits [vocab] that it gets."""
    key, value = found.name, getattr(settings, found.name)
    if found.n == 1:
        return [look.t("sampling.limit.single", token=_best(look, before))]
    if key == "temperature":
        said = _temperature(look, value, found, before)
    elif value == RANGES[key].off:
        said = iter([("off", {})])
    elif key == "top_k":
        said = _top_k(value, found)
    else:
        said = _others(key, value, found)
    return [look.t(f"sampling.limit.{key}.{name}", **values) for name, values in said]


def _temperature(look: Look, value: float, found: Effect, before: Tensor) -> Iterator[Said]:
    ties = int((before == before.max()).sum())
    if value == 0:
        yield "zero", {"token": _best(look, before)}
        if ties > 1:
            yield "tie", {"n": ties, "token": _best(look, before)}
    elif value <= COLD:
        yield "cold", {}
    elif value == 1:
        yield "one", {}
    elif value >= HOT:
        yield "hot", {"n": found.n}


def _top_k(value: float, found: Effect) -> Iterator[Said]:
    if value >= found.n:
        yield "many", {"n": found.n}
    elif found.kept > value:
        yield "tie", {"n": found.kept}
    elif value == 1:
        yield "one", {}


def _others(key: str, value: float, found: Effect) -> Iterator[Said]:
    if key == "top_p" and value == 0:
        yield "zero", {}
    elif key == "min_p" and value == 1:
        yield "one", {"n": found.kept}
    elif key == "repetition_penalty" and value < 1:
        yield "below", {}


def _best(look: Look, logits: Tensor) -> str:
    return token(look, likeliest(logits, 1)[0])
