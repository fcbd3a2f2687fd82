"""The models that are loaded: each once for everybody, and no more than fit into memory."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import torch

from core.models.checkpoint import CheckpointError
from core.models.heap import give_back
from core.models.model import Model


class Shelf:
    """Models by key, the one used last at the end.

    forget: called when a model left, to drop what still holds it, such as traces. Whoever is using
    the model at that moment keeps it until done.
    """

    def __init__(self, forget: Callable[[], None]) -> None:
        self._models: OrderedDict[str, Model] = OrderedDict()
        self._forget = forget
        self._lock, self._loading = Lock(), Lock()

    def __contains__(self, key: str) -> bool:
        return key in self._models

    def get(self, key: str, load: Callable[[], Model]) -> Model:
        """The model, loaded if it is not here. One is loaded at a time; others are given meanwhile.

        Raises what `load` raises, and CheckpointError where the graphics card is full; for lack of
        memory only when no other model is left to give up.
        """
        if (model := self._used(key)) is not None:
            return model
        with self._loading:
            if (model := self._used(key)) is not None:
                return model
            model = self._loaded(key, load)
            with self._lock:
                self._models[key] = model
            return model

    def drop(self, key: str) -> None:
        """Forget a model, to load it anew the next time."""
        with self._lock:
            self._models.pop(key, None)
        self._forget()

    def free(self) -> None:
        """After memory ran out: give up all models but the one used last, and what holds values."""
        with self._lock:
            for key in list(self._models)[:-1]:
                del self._models[key]
        self._clear()

    def _used(self, key: str) -> Model | None:
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def _loaded(self, key: str, load: Callable[[], Model]) -> Model:
        while True:
            try:
                return load()
            except CheckpointError as error:
                if error.kind != "memory" or not self._models:
                    raise
            except torch.OutOfMemoryError as error:
                if not self._models:
                    raise CheckpointError("card_full", name=key) from error
            self._let_go()

    def _let_go(self) -> None:
        """The model that was not used for longest leaves."""
        with self._lock:
            self._models.popitem(last=False)
        self._clear()

    def _clear(self) -> None:
        self._forget()
        gc.collect()
        give_back()
