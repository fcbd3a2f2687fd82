"""Traces on disk: save one, and later find the first step that came out differently.

A snapshot is a safetensors file with one tensor per step; its metadata hold the token IDs, the
model's config and the order of the steps.

    core.snapshot.save(trace, "expected.safetensors")
    comparison = core.snapshot.compare(trace, "expected.safetensors")
    assert comparison.ok, comparison.text
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.graph import StepDiff
from core.graph import compare as compare_values
from core.graph.explain import number
from core.models.model import PromptTrace

FORMAT = "ripple-snapshot-1"


class SnapshotError(ValueError):
    """A file that is not a snapshot, or one of another prompt."""


@dataclass(frozen=True)
class Comparison:
    """How a trace stands against a snapshot.

    steps: one StepDiff per step of the file, in execution order, then those that only the trace
    has, when the file was to hold them all. first: the first one beyond the tolerance, or None.
    """

    steps: tuple[StepDiff, ...]
    first: StepDiff | None

    @property
    def ok(self) -> bool:
        return self.first is None

    @property
    def text(self) -> str:
        """One sentence: where the trace first diverges and by how much."""
        if self.first is None:
            return f"All {len(self.steps)} steps agree."
        name, (expected, found) = self.first.name, self.first.shapes
        if expected is None or found is None:
            return f"{name} is only in the {'trace' if expected is None else 'snapshot'}."
        if expected != found:
            return f"{name} has the shape {found}; the snapshot has {expected}."
        return (
            f"{name} is the first step that diverges: by {number(self.first.largest)} at index "
            f"{self.first.where} ({number(self.first.relative)} of the largest value, "
            f"{self.first.count} elements differ)."
        )


def save(trace: PromptTrace, path: str | Path, steps: Iterable[str] | None = None) -> None:
    """Write a trace's values to `path`; all steps unless `steps` names some.

    The file is complete or not there: it is written beside and then moved into place.
    """
    names = trace.steps if steps is None else list(steps)
    metadata = {
        "format": FORMAT,
        "ids": json.dumps(trace.ids),
        "config": json.dumps(trace.model.config.to_dict()),
        "steps": json.dumps(names),
        "complete": json.dumps(steps is None),
    }
    path = Path(path)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    values = {name: _own(trace[name]) for name in names}
    try:
        save_file(values, partial, metadata)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def compare(trace: PromptTrace, path: str | Path, *, tolerance: float = 0.0) -> Comparison:
    """Compare a trace with the snapshot at `path`, step by step in execution order.

    tolerance: the largest difference allowed, relative to the largest absolute value of the step
    in the file; 0 asks for the same bits. Raises SnapshotError for a file that is no snapshot or
    one of other token IDs, FileNotFoundError.
    """
    with _open(path) as file:
        metadata = file.metadata()
        _check_ids(trace, json.loads(metadata["ids"]))
        names = json.loads(metadata["steps"])
        if missing := set(names) - set(file.keys()):
            raise SnapshotError(f"{path} is damaged: it lacks {', '.join(sorted(missing))}.")
        diffs = [_step_diff(trace, name, file.get_tensor(name)) for name in names]
    if json.loads(metadata["complete"]):
        extra = [name for name in trace.steps if name not in set(names)]
        diffs += [_step_diff(trace, name, None) for name in extra]
    first = next((step for step in diffs if step.changed and not step.relative <= tolerance), None)
    return Comparison(tuple(diffs), first)


def _step_diff(trace: PromptTrace, name: str, expected: Tensor | None) -> StepDiff:
    if name not in trace:
        return compare_values(name, (), expected, None)
    return compare_values(name, trace.step(name).axes, expected, trace[name])


def _open(path: str | Path) -> safe_open:
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no snapshot at {path}.")
    try:
        file = safe_open(path, framework="pt")
    except SafetensorError as error:
        raise SnapshotError(f"{path} is not a snapshot: {error}") from error
    if (file.metadata() or {}).get("format") != FORMAT:
        raise SnapshotError(f"{path} is a safetensors file, but not a snapshot made by `save`.")
    return file


def _check_ids(trace: PromptTrace, ids: list[int]) -> None:
    if ids != trace.ids:
        raise SnapshotError(
            f"The snapshot is of the token IDs {ids}, the trace of {trace.ids}: compare traces of "
            "the same prompt."
        )


def _own(value: Tensor) -> Tensor:
    """A contiguous copy: safetensors stores no views, and two steps can share their memory."""
    return value.contiguous().clone()
