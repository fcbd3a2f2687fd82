"""Texts that were read token by token, kept so that one more token costs one row.

The steps are those of `generate`: one wide pass over what there was at first, then single rows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from copy import copy

from torch import Tensor

from core.generate.cache import KVCache
from core.graph import EditError, Edits
from core.graph.edit import Changes, EditIndex
from core.models.model import Model, PromptTrace

MEGABYTE = 2**20
MOST = 256  # steps that are kept


class Reader:
    """Decode steps of texts that begin alike, in a bounded memory. Threads may share one.

    Every text is given as its full trace. Those given to one reader must have the same edits.
    """

    def __init__(self, memory: int = 64 * MEGABYTE) -> None:
        """memory: of the keys and values that are kept, in bytes; the last step always is."""
        self._memory = memory
        self._steps: OrderedDict[tuple[int, ...], tuple[PromptTrace, KVCache]] = OrderedDict()
        self._model: Model | None = None
        self._lock = threading.Lock()

    def step(self, full: PromptTrace, n_first: int) -> PromptTrace:
        """What the last token of `full` needs, after the others: a single row.

        The full trace itself where nothing precedes it: for the first `n_first` tokens, and for
        a model that is not causal, in which no key or value stays what it was.
        """
        if len(full) <= n_first or not full.model.config.causal:
            return full
        return self._step(full)[0]

    def cache(self, full: PromptTrace, n_first: int) -> KVCache:
        """Keys and values of all tokens of `full`. Raises ValueError if it is not causal."""
        if not full.model.config.causal:
            raise ValueError("Only a causal model has a cache.")
        if len(full) <= n_first:
            return _filled(full)
        trace, past = self._step(full)
        return _grown(past, trace)

    def _step(self, full: PromptTrace) -> tuple[PromptTrace, KVCache]:
        """The last row's trace, and the cache it read: that of the step before, if it is known."""
        ids = tuple(full.ids)
        if (known := self._known(ids)) is not None:
            return known
        before = self._known(ids[:-1])
        # One model for all steps: each full trace has copies of the weights that were edited.
        model = self._model = self._model or edited_model(full)
        if before is None:
            past = _filled(_edited(model.trace(ids[:-1]), full.edits))
        else:
            past = _grown(before[1], before[0])
        trace = _edited(model.decode(ids[-1:], past), full.edits)
        self._keep(ids, (trace, past))
        return trace, past

    def _known(self, ids: tuple[int, ...]) -> tuple[PromptTrace, KVCache] | None:
        with self._lock:
            if ids in self._steps:
                self._steps.move_to_end(ids)
            return self._steps.get(ids)

    def _keep(self, ids: tuple[int, ...], found: tuple[PromptTrace, KVCache]) -> None:
        with self._lock:
            self._steps[ids] = found
            held = sum(past.nbytes for _, past in self._steps.values())
            while len(self._steps) > 1 and (held > self._memory or len(self._steps) > MOST):
                held -= self._steps.popitem(last=False)[1][1].nbytes


def edited_model(trace: PromptTrace) -> Model:
    """The model of a trace with the weights as they were edited; they are shared, not copied."""
    model = copy(trace.model)
    model.weights = trace.weights
    return model


def _filled(trace: PromptTrace) -> KVCache:
    cache = KVCache(trace.model, len(trace))
    cache.append(trace)
    return cache


def _grown(past: KVCache, trace: PromptTrace) -> KVCache:
    """A copy with one step more: others may go on from `past` in another way."""
    cache = past.copy(capacity=len(past) + len(trace))
    cache.append(trace)
    return cache


def _edited(trace: PromptTrace, edits: Edits) -> PromptTrace:
    """A trace of some of a text's tokens with those of the text's edits that concern them.

    The edits of weights are in its model already.
    """
    found: dict[str, Changes] = {}
    for name, changes in edits.items():
        if name not in trace:
            continue
        axes = trace.step(name).axes
        moved = dict(filter(None, (_moved(trace, axes, *change) for change in changes.items())))
        try:
            trace.check_edits({name: moved})
        except EditError:
            continue
        found[name] = moved
    return trace.edit(found) if any(found.values()) else trace


def _moved(
    trace: PromptTrace, axes: tuple[str, ...], index: EditIndex, value: float | Tensor
) -> tuple[EditIndex, float | Tensor] | None:
    """An edit of the whole text as one of the tokens from `n_past` on; None if it has no part."""
    start, n = trace.n_past, len(trace)
    ends = {"pos": (start, n), "query": (start, n), "key": (0, start + n)}
    place: list[int | None] = []
    for word, part in zip(axes, index, strict=True):
        low, count = ends.get(word, (0, 0))
        if count and part is not None and not low <= part < low + count:
            return None
        place.append(part if part is None else part - low)
    if isinstance(value, Tensor):
        open_axes = [word for word, part in zip(axes, index, strict=True) if part is None]
        for axis, word in zip(range(-1, -value.ndim - 1, -1), open_axes[::-1], strict=False):
            low, count = ends.get(word, (0, 0))
            if count and value.shape[axis] > 1:
                value = value.narrow(axis, *_within(value.shape[axis], low, count))
    return tuple(place), value


def _within(size: int, low: int, count: int) -> tuple[int, int]:
    """Start and length of a stretch, no further than there is something."""
    start = min(low, size)
    return start, min(count, size - start)
