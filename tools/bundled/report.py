"""Measure the exported file: a plain float32 forward that shares nothing with the training code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tiktoken
import torch
import torch.nn.functional as F
from bundled.text import EOT
from safetensors import safe_open
from torch import Tensor

PROMPTS = [
    "In the beginning God created",
    "It is a truth universally acknowledged, that",
    "It is a truth universally acknowledged, that a",
    "The cat sat on the",
    "Once upon a time",
    "My name is",
    "She looked at him and",
    "The king said to",
    "I am",
    "The robot walked into the",
]
HOW = (
    "Natural logarithm per token; float16 weights read as float32, float32 forward, softmax over "
    "all ids. Each held-out chapter (each excerpt of heldout.txt; an empty line separates them) "
    "follows <|endoftext|>. Windows of {n_ctx} inputs, stride {stride}: the first one scores all "
    "its targets, a later one its last {stride} at most; every token is scored once. The end of a "
    "chapter is not scored."
)
LogProbs = Callable[[Tensor], Tensor]  # ids [batch, pos] -> log probabilities [batch, pos, vocab]
Score = Callable[
    [Tensor, Tensor], Tensor
]  # ids and next ids of one window -> loss at each position


def losses(score: Score, documents: list[list[int]], n_ctx: int, stride: int) -> tuple[float, int]:
    """Summed loss and number of tokens; every token once, after <|endoftext|> and what precedes it.

    Windows of n_ctx tokens move on by `stride`; after the first each scores its last `stride` ones.
    """
    total, count = 0.0, 0
    with torch.no_grad():
        for document in documents:
            ids = torch.tensor([EOT, *document])
            scored = 0
            while scored < len(document):
                start = 0 if scored == 0 else scored + stride - n_ctx
                window = ids[start : start + n_ctx + 1]
                nll = score(window[:-1], window[1:])[scored - start :]
                total, count, scored = total + nll.sum().item(), count + len(nll), scored + len(nll)
    return total, count


def plain_model(path: Path) -> tuple[LogProbs, dict]:
    """The exported weights as float32, run by nothing but the textbook's lines."""
    with safe_open(path, "pt") as f:
        config = json.loads(f.metadata()["config"])
        w = {k: f.get_tensor(k).float() for k in f.keys()}  # noqa: SIM118

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(
            x, x.shape[-1:], w[name + ".gamma"], w[name + ".beta"], config["norm_eps"]
        )

    def log_probs(ids: Tensor) -> Tensor:
        n = ids.shape[1]
        x = w["embed.W_E"][ids] + w["embed.W_P"][:n]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        for i in range(config["n_layers"]):
            a, m = f"blocks.{i}.attn.", f"blocks.{i}.mlp."
            h = norm(x, f"blocks.{i}.ln_1")[:, None]
            q, k, v = (h @ w[f"{a}W_{c}"] + w[f"{a}b_{c}"][:, None] for c in "QKV")
            scores = (q @ k.transpose(-1, -2) / config["d_head"] ** 0.5).masked_fill(
                future, -torch.inf
            )
            heads = torch.softmax(scores, -1) @ v
            x = x + heads.transpose(1, 2).flatten(2) @ w[a + "W_O"] + w[a + "b_O"]
            h = F.gelu(
                norm(x, f"blocks.{i}.ln_2") @ w[m + "W_1"] + w[m + "b_1"], approximate="tanh"
            )
            x = x + h @ w[m + "W_2"] + w[m + "b_2"]
        return torch.log_softmax(norm(x, "ln_f") @ w["embed.W_E"].T, -1)

    return log_probs, config


def excerpts(held: dict[str, list[tuple[str, str]]], characters: int = 1500) -> list[str]:
    """The beginnings of two held-out chapters of each source, cut at a paragraph or a sentence."""
    found = []
    for chapters in held.values():
        for _, text in (chapters[len(chapters) // 4], chapters[3 * len(chapters) // 4]):
            text = text[:characters]
            cut = max(text.rfind("\n"), text.rfind(". ") + 1)
            found.append(text[:cut].strip())
    return found


def write_report(
    folder: Path,
    enc: tiktoken.Encoding,
    held: dict[str, list[tuple[str, str]]],
    seen: np.ndarray,
    facts: dict,
) -> None:
    """heldout.txt and report.json, both from the exported file."""
    log_probs, config = plain_model(folder / "model.safetensors")
    n_ctx, stride = config["n_ctx"], config["n_ctx"] // 2

    def score(ids: Tensor, targets: Tensor) -> Tensor:
        return -log_probs(ids[None])[0].gather(1, targets[:, None])[:, 0]

    texts = excerpts(held)
    (folder / "heldout.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    sums = {
        k: losses(score, [enc.encode_ordinary(t) for _, t in v], n_ctx, stride)
        for k, v in held.items()
    }
    short = losses(score, [enc.encode_ordinary(t) for t in texts], n_ctx, stride)
    unseen = np.setdiff1d(np.arange(config["n_vocab"]), seen)
    mass, largest, positions = 0.0, 0.0, 0
    with torch.no_grad():
        for _, text in (chapter for chapters in held.values() for chapter in chapters):
            for ids in torch.tensor([EOT, *enc.encode_ordinary(text)]).split(n_ctx):
                p = log_probs(ids[None])[0].exp()[:, unseen]
                mass, positions = mass + p.sum().item(), positions + len(p)
                largest = max(largest, p.max().item())
        tops = {}
        for prompt in PROMPTS:
            p = log_probs(torch.tensor([enc.encode_ordinary(prompt)]))[0, -1].exp()
            tops[prompt] = [
                [enc.decode([int(i)]), round(float(v), 4)] for v, i in zip(*p.topk(5), strict=True)
            ]
        greedy = {}
        for prompt in PROMPTS:
            ids = enc.encode_ordinary(prompt)
            for _ in range(24):
                ids.append(int(log_probs(torch.tensor([ids]))[0, -1].argmax()))
            greedy[prompt] = enc.decode(ids[len(enc.encode_ordinary(prompt)) :])
    total = [sum(x) for x in zip(*sums.values(), strict=True)]
    report = {
        "held_out_loss": round(total[0] / total[1], 4),
        "held_out_loss_per_source": {k: round(s / n, 4) for k, (s, n) in sums.items()},
        "held_out_tokens": {k: n for k, (_, n) in sums.items()},
        "held_out_chapters": {k: [name for name, _ in v] for k, v in held.items()},
        "heldout_txt_loss": round(short[0] / short[1], 4),
        "heldout_txt_tokens": short[1],
        "how": HOW.format(n_ctx=n_ctx, stride=stride),
        "never_seen_ids": len(unseen),
        "never_seen_positions": positions,
        "never_seen_mean_total_probability": mass / positions,
        "never_seen_largest_single_probability": largest,
        "top_5": tops,
        "greedy_24": greedy,
        **facts,
    }
    (folder / "report.json").write_text(
        json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    print(
        json.dumps(
            {k: v for k, v in report.items() if k != "held_out_chapters"},
            indent=1,
            ensure_ascii=False,
        )
    )
