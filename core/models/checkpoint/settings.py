"""What a model's config.json says, read with the suspicion that a stranger's file deserves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from core.models.checkpoint.error import CheckpointError

_REQUIRED = object()


class Settings:
    """The settings of one config.json. Everything that it gives has the type that was asked for.

    file: the file that says them, where that is another one.
    """

    def __init__(self, values: Mapping[str, object], file: str = "config.json") -> None:
        self.values, self.file = values, file

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Raises CheckpointError for a file that is no JSON object."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise CheckpointError("no_json", file=path.name, reason=str(error)) from error
        if not isinstance(values, dict):
            raise CheckpointError("no_json", file=path.name, reason=type(values).__name__)
        return cls(values, path.name)

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def whole(self, *names: str, default: object = _REQUIRED) -> int:
        """A whole number, under the first of `names` that is there."""
        return self._typed(names, (int,), "1, 2, 3 …", default)

    def number(self, *names: str, default: object = _REQUIRED) -> float:
        return self._typed(names, (int, float), "1e-05", default)

    def flag(self, name: str, default: bool) -> bool:
        return self._typed((name,), (bool,), "true, false", default)

    def word(self, name: str) -> str:
        return self._typed((name,), (str,), "gpt2", _REQUIRED)

    def items(self, name: str, kind: type) -> list:
        """A list whose items are all of this kind."""
        found = self._typed((name,), (list,), "[…]", _REQUIRED)
        if not all(type(item) is kind for item in found):
            raise self._wrong(name, "[…]")
        return found

    def one_of(self, name: str, choices: Mapping[str, str], default: str) -> str:
        """What `choices` has for the setting. Raises CheckpointError for one that it lacks."""
        found = self.values.get(name) or default
        if not isinstance(found, str) or found not in choices:
            raise self.unsupported(name)
        return choices[found]

    def refuse_all_but(self, harmless: Mapping[str, object]) -> None:
        """Raise CheckpointError for a setting with another value than the one without effect."""
        for name, value in harmless.items():
            if name in self and self.values[name] != value:
                raise self.unsupported(name)

    def unsupported(self, name: str) -> CheckpointError:
        """The error for a setting that asks for what we do not compute."""
        value = _written(self.values[name])
        return CheckpointError("unsupported", file=self.file, name=name, value=value)

    def _typed(self, names: tuple[str, ...], kinds: tuple, example: str, default: object):
        name = next((name for name in names if name in self), None)
        if name is None:
            if default is _REQUIRED:
                raise CheckpointError("setting_missing", file=self.file, name=names[0])
            return default
        value = self.values[name]
        if type(value) not in kinds:  # True is no whole number here
            raise self._wrong(name, example)
        return value

    def _wrong(self, name: str, example: str) -> CheckpointError:
        value = _written(self.values[name])
        values = {"file": self.file, "name": name, "value": value, "example": example}
        return CheckpointError("setting_wrong", **values)


def _written(value: object) -> str:
    """A value as the file has it, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"
