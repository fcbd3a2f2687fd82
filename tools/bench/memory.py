"""How much memory it takes to open every step of a long prompt: `python -m tools.bench.memory`.

GPT-2 small with random weights and 1,024 tokens, in a process of its own, as the app would have it:
each step is looked at and let go, one after the other. Linux only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from core.models.config import Config
from core.models.gpt import graph_of
from core.models.gpt2_tokenizer import gpt2_tokenizer
from core.models.heap import give_back, keep_heap
from core.models.model import Model

MEGABYTE = 2**20
TARGET = 600  # MB over the size after loading
GPT2_SMALL = Config(n_layers=12, n_heads=12, d_model=768, n_vocab=50257, n_ctx=1024)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.memory", description=__doc__)
    parser.add_argument("--tokens", type=int, default=GPT2_SMALL.n_ctx)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_heap()
    trace = random_model(GPT2_SMALL).trace([i % 1000 for i in range(options.tokens)])
    give_back()  # what loading needed and the trace could use again
    before = now()
    forget_peak()
    for name in trace.steps:
        trace[name]
    over = peak() - before
    verdict = "met" if over <= TARGET else "MISSED"
    print(
        f"memory: {over} MB over the {before} MB after loading, to open each of the "
        f"{len(trace.steps)} steps of {options.tokens} tokens (target ≤ {TARGET} MB: {verdict})"
    )


def random_model(config: Config) -> Model:
    sizes = config.sizes()
    shapes = {n: [sizes[a] for a in axes] for n, axes in graph_of(config).weights.items()}
    weights = {name: 0.02 * torch.randn(shape) for name, shape in shapes.items()}
    return Model("bench", config, weights, gpt2_tokenizer(), torch.device("cpu"), torch.float32)


def now() -> int:
    """Memory that this process has in use, in MB."""
    return status("VmRSS")


def peak() -> int:
    """The most it had in use since `forget_peak`, in MB."""
    return status("VmHWM")


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")  # see `man proc`


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(kilobytes) * 1024 // MEGABYTE


if __name__ == "__main__":
    main()
