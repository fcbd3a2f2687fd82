"""Results as a table to read and as JSON to keep."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from core.models.packing import trial
from tools.bench.rows import Row
from tools.bench.timing import Timing

HEAD = ("what", "size", "Ripple ms", "peer", "peer ms", "ratio", "middle half", "target", "verdict")
LEFT = ("what", "size", "peer", "verdict")  # these columns hold words, the others numbers


@dataclass(frozen=True)
class Result:
    """A row with its times; `theirs` is None where it has no peer."""

    row: Row
    ours: Timing
    theirs: Timing | None

    @property
    def verdict(self) -> str:
        if self.theirs is None or self.row.at_most is None:
            return ""
        return "met" if self.ours.ratio(self.theirs) <= self.row.at_most else "MISSED"

    def cells(self) -> dict[str, str]:
        """The words and numbers of one line of the table."""
        cells = {"what": self.row.what, "size": self.row.size, "peer": self.row.peer}
        cells["Ripple ms"] = milliseconds(self.ours)
        if self.theirs:
            low, high = self.ours.spread(self.theirs)
            cells["peer ms"] = milliseconds(self.theirs)
            cells["ratio"] = f"{self.ours.ratio(self.theirs):.2f}"
            cells["middle half"] = f"{low:.2f}–{high:.2f}"
        if self.row.at_most is not None:
            cells["target"] = f"≤ {self.row.at_most:.2f}"
        return cells | {"verdict": self.verdict}

    def to_dict(self) -> dict:
        return {
            "what": self.row.what,
            "size": self.row.size,
            "seconds": self.ours.seconds,
            "peer": self.row.peer or None,
            "peer_seconds": self.theirs and self.theirs.seconds,
            "ratio": self.theirs and self.ours.ratio(self.theirs),
            "at_most": self.row.at_most,
            "verdict": self.verdict or None,
        }


def table(results: list[Result]) -> str:
    """One line per result under a head, columns aligned."""
    lines = [dict(zip(HEAD, HEAD, strict=True)), *(result.cells() for result in results)]
    widths = {name: max(len(line.get(name, "")) for line in lines) for name in HEAD}
    return "\n".join(
        "  ".join(
            line.get(name, "").ljust(width) if name in LEFT else line.get(name, "").rjust(width)
            for name, width in widths.items()
        ).rstrip()
        for line in lines
    )


def machine() -> dict[str, str | int]:
    """What a time depends on besides the code."""
    packages = (
        "torch",
        "transformers",
        "transformer-lens",
        "onnxruntime",
        "ctranslate2",
        "numpy",
    )
    return {
        "processor": processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "weights packed from rows": trial() or "never",
        "python": platform.python_version(),
        **{name: installed(name) for name in packages},
    }


def processor() -> str:
    """The processor's name; `platform` does not know it on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def milliseconds(timing: Timing) -> str:
    return f"{1000 * timing.median:.1f}"
