"""Why a model cannot be loaded, in one sentence that also says what to do."""

from __future__ import annotations

import tomllib
from functools import cache

from core.models.assets import ASSETS


class CheckpointError(ValueError):
    """A model that cannot be loaded.

    kind, values: the sentence by name and what is filled in, for who speaks another language than
    English; see `assets/texts/*/checkpoint.toml`.
    """

    def __init__(self, kind: str, /, **values: object) -> None:
        self.kind, self.values = kind, values
        super().__init__(_sentences()[kind].format(**{k: _shown(v) for k, v in values.items()}))


def _shown(value: object) -> object:
    return f"{value:,}" if isinstance(value, int) else value


@cache
def _sentences() -> dict[str, str]:
    path = ASSETS / "texts" / "en" / "checkpoint.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["checkpoint"]
