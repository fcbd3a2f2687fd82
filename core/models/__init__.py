"""Models: config, the GPT in data-flow order, tokenizers, weights, the catalogue.

`core.models` is this package and also the call that lists the catalogue: `core.models()`.
"""

import sys
from types import ModuleType

from core.models.catalogue import ModelEntry, models


class _Catalogue(ModuleType):
    def __call__(self) -> list[ModelEntry]:
        """The models that `core.load` knows."""
        return models()


sys.modules[__name__].__class__ = _Catalogue
