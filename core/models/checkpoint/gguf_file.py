"""What a GGUF file says about itself, and its tensors as float32.

    magic, version, counts │ settings: key, type, value │ tensors: name, shape, type, offset │ data

The package `gguf` knows how each quantization packs its numbers. The settings are read here: its
own reader makes several objects of every token of a vocabulary, which takes seconds, and takes a
file that was cut off for one that is whole. Format: ggml-org/ggml, docs/gguf.md.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import Tensor

from core.models.checkpoint.error import CheckpointError

VERSIONS = (2, 3)
ALIGNMENT = "general.alignment"
# The types of settings by their number; 8 is a text, 9 an array.
NUMBERS = dict(zip((*range(8), *range(10, 13)), "BbHhIif?Qqd", strict=True))
TEXT, ARRAY = 8, 9
_TYPE = gguf.GGMLQuantizationType
QUANTIZATIONS = (
    *(_TYPE.F32, _TYPE.F16, _TYPE.BF16),
    *(_TYPE.Q8_0, _TYPE.Q4_0, _TYPE.Q4_1, _TYPE.Q5_0, _TYPE.Q5_1),
    *(_TYPE.Q4_K, _TYPE.Q5_K, _TYPE.Q6_K),
)


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor lies in the file. shape: as torch has it, the longest stride first."""

    shape: tuple[int, ...]
    quantization: gguf.GGMLQuantizationType
    start: int

    @property
    def n_values(self) -> int:
        return prod(self.shape)

    @property
    def n_bytes(self) -> int:
        n_values, n_bytes = gguf.GGML_QUANT_SIZES[self.quantization]
        return self.n_values // n_values * n_bytes


class GGUFFile:
    """A GGUF file, mapped into memory. settings, tensors: by name.

    Raises CheckpointError for a file that cannot be opened, is damaged or cut off, or is packed in
    a way that is not known.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError as error:
            raise CheckpointError("nothing_there", path=path) from error
        except OSError as error:
            raise CheckpointError("no_access", path=path, reason=error.strerror) from error
        except ValueError as error:  # an empty file
            raise self._damaged("empty") from error
        try:
            self.settings, self.tensors = self._header()
        except (struct.error, UnicodeDecodeError, RecursionError, OverflowError) as error:
            raise self._damaged(str(error)) from error

    def read(self, name: str) -> Tensor:
        """A tensor as float32, in memory of its own."""
        stored = self.tensors[name]
        rows = self._bytes(name).reshape(*stored.shape[:-1], -1)
        values = gguf.dequantize(rows, stored.quantization)
        if stored.quantization == gguf.GGMLQuantizationType.F32:
            values = values.copy()  # until now it was the file, which may be rewritten
        return torch.from_numpy(values)

    def same(self, name: str, other: str) -> bool:
        """Whether two tensors have the same bits."""
        kinds = {self.tensors[each].quantization for each in (name, other)}
        return len(kinds) == 1 and np.array_equal(self._bytes(name), self._bytes(other))

    def _bytes(self, name: str) -> np.ndarray:
        stored = self.tensors[name]
        return np.frombuffer(self._data, np.uint8, stored.n_bytes, stored.start)

    def _header(self) -> tuple[dict[str, object], dict[str, StoredTensor]]:
        if self._data[:4] != b"GGUF":
            raise self._damaged("GGUF?")
        cursor = _Cursor(self._data, 4)
        if (version := cursor.number("I")) not in VERSIONS:
            raise CheckpointError("gguf_version", file=self._name, version=version)
        n_tensors, n_settings = cursor.number("Q"), cursor.number("Q")
        settings = {cursor.text(): cursor.value(cursor.number("I")) for _ in range(n_settings)}
        entries = [self._entry(cursor) for _ in range(n_tensors)]
        alignment = settings.get(ALIGNMENT, gguf.GGUF_DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise self._damaged(f"{ALIGNMENT} = {alignment}")
        start = -(-cursor.at // alignment) * alignment
        return settings, {name: self._placed(stored, start) for name, stored in entries}

    def _entry(self, cursor: _Cursor) -> tuple[str, StoredTensor]:
        """A tensor whose start is counted from where the data begins."""
        name, n_axes = cursor.text(), cursor.number("I")
        shape = tuple(reversed([cursor.number("Q") for _ in range(n_axes)]))
        quantization = _quantization(name, cursor.number("I"))
        start = cursor.number("Q")
        if not shape or shape[-1] % gguf.GGML_QUANT_SIZES[quantization][0]:
            raise self._damaged(f"{name}: {shape}")
        return name, StoredTensor(shape, quantization, start)

    def _placed(self, stored: StoredTensor, data_start: int) -> StoredTensor:
        placed = replace(stored, start=data_start + stored.start)
        if placed.start + placed.n_bytes > len(self._data):
            raise self._damaged(f"{len(self._data):,} B < {placed.start + placed.n_bytes:,} B")
        return placed

    def _damaged(self, reason: str) -> CheckpointError:
        return CheckpointError("damaged", file=self._name, reason=reason)


class _Cursor:
    """Reads one value after the other; struct.error where the file ends too early."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self._data, self.at = data, at

    def number(self, kind: str) -> int | float | bool:
        (value,) = self._numbers(kind, 1)
        return value

    def text(self) -> str:
        (text,) = self._numbers("s", self.number("Q"))  # n of "s" is one text of n bytes
        return text.decode("utf-8")

    def value(self, kind: int) -> object:
        """A setting of the type with this number."""
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            kind, n = self.number("I"), self.number("Q")
            if kind in NUMBERS:
                return list(self._numbers(NUMBERS[kind], n))
            return [self.value(kind) for _ in range(n)]
        if kind not in NUMBERS:
            raise struct.error(f"type {kind}")
        return self.number(NUMBERS[kind])

    def _numbers(self, kind: str, n: int) -> tuple:
        layout = f"<{n}{kind}"
        values = struct.unpack_from(layout, self._data, self.at)
        self.at += struct.calcsize(layout)
        return values


def _quantization(name: str, number: int) -> gguf.GGMLQuantizationType:
    kinds = {kind.value: kind for kind in gguf.GGMLQuantizationType}
    kind = kinds.get(number)
    if kind not in QUANTIZATIONS:
        found = kind.name if kind else f"type {number}"
        known = ", ".join(kind.name for kind in QUANTIZATIONS)
        raise CheckpointError("gguf_quantization", name=name, found=found, known=known)
    return kind
