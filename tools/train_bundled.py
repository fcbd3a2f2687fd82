"""Train the bundled model: a small GPT-2 on Jane Austen's novels and the World English Bible.

Both texts are in the public domain and come as Debian packages; nothing else is downloaded:

    mkdir sources && cd sources
    apt-get download r-cran-janeaustenr sword-text-web
    for package in *.deb; do dpkg -x "$package" .; done
    cd .. && pip install torch tiktoken safetensors rdata pysword
    python tools/train_bundled.py --sources sources

The defaults are the run that made assets/bundled. It saves its state every few minutes and goes
on from there when started again.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from bundled.export import export
from bundled.model import Net, Shape, full_loss
from bundled.report import losses, write_report
from bundled.text import austen, bible, encoding
from bundled.windows import batch, prepare, split
from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument(
        "--sources",
        type=Path,
        required=True,
        help="folder into which the two packages were unpacked",
    )
    p.add_argument(
        "--ranks",
        type=Path,
        default=ROOT / "assets/vocabulary/gpt2.tiktoken",
        help="GPT-2's vocabulary",
    )
    p.add_argument(
        "--out", type=Path, default=ROOT / "assets/bundled", help="where the model is written"
    )
    p.add_argument(
        "--state",
        type=Path,
        default=Path("train_bundled.pt"),
        help="where the training state is kept",
    )
    p.add_argument("--stable", type=int, default=1750, help="steps at the full learning rate")
    p.add_argument("--decay", type=int, default=900, help="steps in which it falls to 0")
    p.add_argument("--batch", type=int, default=32, help="windows per step")
    p.add_argument(
        "--lr-matrices", type=float, default=3e-3, help="Muon, for the matrices inside the blocks"
    )
    p.add_argument(
        "--lr-rest", type=float, default=2e-3, help="AdamW, for embeddings, biases and norms"
    )
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--dropout", type=float, default=0.15)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument(
        "--threads",
        type=int,
        default=2,
        help="part of what is reproduced: each share has its own dropout",
    )
    p.add_argument(
        "--export-only", action="store_true", help="write the model from the saved state as it is"
    )
    a = p.parse_args()
    torch.set_num_threads(1)  # the windows of a step are shared out instead, see part()
    torch.manual_seed(a.seed)

    enc = encoding(a.ranks)
    encode = enc.encode_ordinary
    shape, train, held = Shape(), [], {}
    for source, chapters in {"austen": austen(a.sources), "bible": bible(a.sources)}.items():
        kept, held[source] = split(chapters)
        train += kept
    data = prepare(train, encode, enc.decode_single_token_bytes, shape.n_vocab)
    held_ids = {k: [encode(t) for _, t in v] for k, v in held.items()}
    sample = {"train": [encode(t) for _, t in train[::40]]}
    n_held = {k: sum(map(len, v)) for k, v in held_ids.items()}
    print(
        f"{len(data.stream)} training tokens, {len(data.real)} distinct; held out {n_held}",
        flush=True,
    )

    net = Net(shape, len(data.real), a.dropout)
    matrices = [q for n, q in net.named_parameters() if n.startswith("blocks.") and ".W_" in n]
    rest = [q for n, q in net.named_parameters() if q.ndim == 2 and not n.startswith("blocks.")]
    vectors = [q for q in net.parameters() if q.ndim == 1]
    muon = torch.optim.Muon(matrices, weight_decay=a.weight_decay, adjust_lr_fn="match_rms_adamw")
    groups = [
        {"params": rest, "weight_decay": a.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)
    step, seconds = 0, 0.0
    if a.state.exists():
        state = torch.load(a.state)
        net.load_state_dict(state["net"])
        muon.load_state_dict(state["muon"])
        adam.load_state_dict(state["adam"])
        step, seconds = state["step"], state["seconds"]
    total, offset = a.stable + a.decay, net.log_multiplicity()

    def save() -> None:
        state = {"net": net.state_dict(), "muon": muon.state_dict(), "adam": adam.state_dict()}
        torch.save(state | {"step": step, "seconds": seconds}, a.state.with_suffix(".tmp"))
        os.replace(a.state.with_suffix(".tmp"), a.state)

    parameters = list(net.parameters())
    pool = ThreadPoolExecutor(a.threads)

    def part(
        inputs: Tensor, targets: Tensor, step: int, number: int
    ) -> tuple[float, tuple[Tensor, ...]]:
        """Loss and gradients of a share of the windows.

        One thread each: threads that wait for one another in every matmul crawl when the cores
        have other work.
        """
        rng = torch.Generator().manual_seed((a.seed * 1_000_003 + step) * 64 + number)
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            x = net(inputs, rng)
        loss = full_loss(x, net.W_E, offset, targets)
        return loss.item(), torch.autograd.grad(loss, parameters)

    started, seen_loss = time.time(), []
    while step < total and not a.export_only:
        # Warm up, stay, fall to zero: the fall can begin whenever the time is up.
        scale = min(1.0, (step + 1) / 100, (total - step) / max(a.decay, 1))
        for optimizer, rate in ((muon, a.lr_matrices), (adam, a.lr_rest)):
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
        inputs, targets = batch(data, step, a.batch, shape.n_ctx, a.seed, decay=step >= a.stable)
        parts = pool.map(
            part,
            inputs.chunk(a.threads),
            targets.chunk(a.threads),
            [step] * a.threads,
            range(a.threads),
        )
        parts = list(parts)
        for parameter, *grads in zip(parameters, *(grads for _, grads in parts), strict=True):
            parameter.grad = sum(grads) / a.threads
        loss = sum(value for value, _ in parts) / a.threads
        torch.nn.utils.clip_grad_norm_([*rest, *vectors], 1.0)
        muon.step()
        adam.step()
        step += 1
        seen_loss.append(loss)
        if step % 25 == 0:
            now = time.time()
            seconds, speed = (
                seconds + now - started,
                len(seen_loss) * inputs.numel() / (now - started),
            )
            loss = np.mean(seen_loss)
            print(f"{time.strftime('%X')} step {step} {loss:.3f} {speed:.0f} tokens/s", flush=True)
            started, seen_loss = now, []
        if step % 250 == 0 or step == total:
            save()
            score = net.score(torch.from_numpy(data.compact))
            got = {
                k: losses(score, v, shape.n_ctx, shape.n_ctx)
                for k, v in (held_ids | sample).items()
            }
            both = (got["austen"][0] + got["bible"][0]) / (got["austen"][1] + got["bible"][1])
            each = " ".join(f"{k} {s / n:.3f}" for k, (s, n) in got.items())
            print(f"  held out {both:.4f}: {each}", flush=True)
            started = time.time()

    export(net, data.real, a.out, {"trained_steps": step})
    facts = {
        "steps": step,
        "stable": a.stable,
        "decay": a.decay,
        "tokens_seen": step * a.batch * shape.n_ctx,
        "training_tokens": len(data.stream),
        "distinct_ids": len(data.real),
        "seconds": round(seconds),
    }
    write_report(a.out, enc, held, data.real, facts)


if __name__ == "__main__":
    main()
