"""Measure the engine beside other libraries, in one run, and print one table.

make bench                                   # installs what it is measured against
make bench ARGS="--only lazy --json out.json"
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # random weights: there is nothing to fetch

import torch

from core.models.heap import keep_heap
from tools.bench.report import Result, machine, table
from tools.bench.rows import rows
from tools.bench.timing import alternate


def processor_time() -> float:
    """Of this process and of those it started and waited for."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


CLOCKS = {"wall": time.perf_counter, "cpu": processor_time}


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    keep_heap()  # as the app does; the peers run in the same process and gain from it too
    facts = machine()
    print("GPT-2 small (12 layers, 12 heads, d_model 768, 50,257 tokens), random weights, float32")
    print(" · ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"median of {options.rounds} rounds in turn, {options.clock} time; ratio = ours / peer's")
    print(busy(), flush=True)
    results = measure(options)
    print(table(results))
    if options.only in "memory":
        memory = [sys.executable, "-m", "tools.bench.memory", f"--threads={options.threads}"]
        subprocess.run(memory, check=False)
    if options.json:
        report = {"machine": facts, "rows": [result.to_dict() for result in results]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--threads", type=int, default=2, help="of torch (default: 2)")
    parser.add_argument("--rounds", type=int, default=15, help="that count (default: 15)")
    parser.add_argument("--only", default="", help="rows with this text in their first columns")
    parser.add_argument("--json", type=Path, help="also write every single time to this file")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: processor time, with --threads 1 for a machine that has other work to do",
    )
    return parser.parse_args()


def measure(options: argparse.Namespace) -> list[Result]:
    """Every row that was asked for."""
    results = []
    for row in rows():
        if options.only not in f"{row.what} {row.size}":
            continue
        works = {"ours": row.ours} | ({"theirs": row.theirs} if row.theirs else {})
        timings = alternate(works, options.rounds, clock=CLOCKS[options.clock])
        results.append(Result(row, timings["ours"], timings.get("theirs")))
        print(f"measured: {row.what} {row.size}", file=sys.stderr)
    return results


def busy() -> str:
    """A warning when other work shares the processor."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return f"Other work is running (load {load:.1f}): times will be noisy.\n" if load > 0.5 else ""


if __name__ == "__main__":
    main()
