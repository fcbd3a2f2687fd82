"""Tensors in safetensors files: mapped into memory, checked by name and shape, turned into ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.models.checkpoint.error import CheckpointError

NUMBERS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
PICKLE_BEGINS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")  # torch.save's archive, a bare pickle
MOST_NAMED = 3


@dataclass(frozen=True)
class Source:
    """Where one of our weights lies in a file: the tensor's name and shape there.

    turn: from that tensor to ours; it only looks at it from another side, so nothing is copied.
    """

    name: str
    shape: tuple[int, ...]
    turn: Callable[[Tensor], Tensor] = lambda tensor: tensor


def read(paths: Iterable[Path], lasting: bool) -> dict[str, Tensor]:
    """All tensors of these files by name; none is read from the disk before it is used.

    lasting: whether the files are never rewritten. Then these are inference tensors, and a model
    keeps those that it need not convert. Others are copied: a process that looks into a mapped
    file while it is cut short does not survive. Raises CheckpointError.
    """
    tensors: dict[str, Tensor] = {}
    for path in paths:
        try:
            with torch.inference_mode(lasting), safe_open(path, framework="pt") as file:
                tensors |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise _unreadable(path, str(error)) from error
        except OSError as error:
            raise CheckpointError("no_access", path=path, reason=error.strerror) from error
    return tensors


def _unreadable(path: Path, reason: str) -> CheckpointError:
    with path.open("rb") as file:
        is_pickle = file.read(4).startswith(PICKLE_BEGINS)
    if is_pickle:
        return CheckpointError("pickle", file=path.name)
    return CheckpointError("damaged", file=path.name, reason=reason)


def convert(tensors: Mapping[str, Tensor], sources: Mapping[str, Source]) -> dict[str, Tensor]:
    """Our weights by name. Raises CheckpointError for a missing, surplus or misshaped tensor."""
    wanted = {source.name: source.shape for source in sources.values()}
    if missing := [name for name in wanted if name not in tensors]:
        raise CheckpointError("tensor_missing", names=listed(missing))
    if surplus := [name for name in tensors if name not in wanted]:
        raise CheckpointError("tensor_surplus", names=listed(surplus))
    for name, shape in wanted.items():
        found = tensors[name]
        if tuple(found.shape) != shape:
            values = {"found": sized(found.shape), "wanted": sized(shape)}
            raise CheckpointError("tensor_shape", name=name, **values)
        if found.dtype not in NUMBERS:
            kind = str(found.dtype).removeprefix("torch.")
            raise CheckpointError("tensor_type", name=name, kind=kind)
    with torch.inference_mode():
        return {ours: source.turn(tensors[source.name]) for ours, source in sources.items()}


def check_blocks(tensors: Iterable[str], stem: str, n_layers: int) -> None:
    """Raise CheckpointError unless the tensors `stem.0.…`, `stem.1.…` are those of `n_layers`."""
    starts = (name.split(".", 2) for name in tensors)
    found = len({start[1] for start in starts if start[0] == stem and len(start) > 1})
    if found != n_layers:
        raise CheckpointError("blocks", found=found, said=n_layers)


def without_copy(tensors: Mapping[str, Tensor], head: str, embedding: str) -> dict[str, Tensor]:
    """The tensors without a head that only repeats the embedding.

    A file may also have the one table under the head's name alone, as safetensors' `save_model`
    leaves it. Raises CheckpointError for a head that is another one.
    """
    if head not in tensors:
        return dict(tensors)
    table = tensors.get(embedding, tensors[head])
    if not same_bits(tensors[head], table):
        raise CheckpointError("head_differs", head=head, embedding=embedding)
    others = {name: tensor for name, tensor in tensors.items() if name != head}
    return others | {embedding: table}


def same_bits(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a, b)


def listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" … (+{more})" if more > 0 else "")


def sized(shape: Iterable[int]) -> str:
    """A shape to read: 768 × 2304."""
    return " × ".join(map(str, shape))
