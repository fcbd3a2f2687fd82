"""The residual stream read from outside: the logit lens, and who pushed a logit by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from core.analysis.embedding import cosine
from core.models.config import Config
from core.models.model import Candidate, PromptTrace

LOGITS_AT_ONCE = 2**24  # 64 MB of float32


class NotDefined(ValueError):
    """A reading that this model's architecture does not allow."""


@dataclass(frozen=True)
class Push:
    """What one part of the model added to a logit. step: the part's name in the trace."""

    step: str
    value: float


@dataclass(frozen=True)
class Attribution:
    """A logit as the sum of what each part added to it.

    The final norm divides by the stream's own spread, which all parts determine together. That
    spread is taken as it is in this trace; given it, the pushes are exact and sum to the logit.
    constant: the part of the final norm's beta, which no block is responsible for.
    """

    pushes: tuple[Push, ...]
    constant: float
    logit: float


def stream_steps(trace: PromptTrace) -> list[str]:
    """Where the residual stream can be read: before the first block and after every part."""
    names = ["embed.sum"]
    for block in range(trace.model.config.n_layers):
        names += [f"blocks.{block}.resid_mid", f"blocks.{block}.resid_out"]
    return names


@dataclass(frozen=True)
class Reading:
    """What the lens sees after one step, at several positions: the best tokens and how sure."""

    step: str
    ids: tuple[int, ...]
    probs: tuple[float, ...]


def lens_readings(trace: PromptTrace, positions: Sequence[int]) -> list[Reading]:
    """The best token after each step of the stream, at these positions. Raises NotDefined."""
    check_adds_up(trace.model.config)
    steps, rows = stream_steps(trace), list(positions)
    with torch.inference_mode():
        stream = torch.cat([trace[step][rows] for step in steps])
        # Many rows at once: the unembedding is large, and reading it takes longer than using it.
        parts = [_best(read_out(trace, part)) for part in stream.split(_at_once(trace))]
        ids, probs = (torch.cat(each).view(len(steps), -1) for each in zip(*parts, strict=True))
    read = zip(steps, ids.tolist(), probs.tolist(), strict=True)
    return [Reading(step, tuple(best), tuple(sure)) for step, best, sure in read]


def _best(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The best token of each row [pos, vocab], and its probability."""
    best, ids = logits.max(dim=-1)
    return ids, (best - logits.logsumexp(dim=-1)).exp()


def _at_once(trace: PromptTrace) -> int:
    """How many rows of logits are worked out together."""
    return max(1, LOGITS_AT_ONCE // trace.model.config.n_vocab)


def lens_top(trace: PromptTrace, step: str, pos: int, k: int) -> list[Candidate]:
    """The likeliest tokens that the lens sees at one place."""
    with torch.inference_mode():
        logits = read_out(trace, trace[step][pos])
        probs = torch.softmax(logits, dim=-1)
        values, ids = probs.topk(min(k, len(probs)))
    text = trace.model.tokenizer.token_text
    return [
        Candidate(i, text(i), logits[i].item(), prob)
        for i, prob in zip(ids.tolist(), values.tolist(), strict=True)
    ]


def lens_error(trace: PromptTrace, positions: Sequence[int]) -> float:
    """The largest difference of the lens after the last step and the model's own logits."""
    rows, last = list(positions), stream_steps(trace)[-1]
    with torch.inference_mode():
        seen = read_out(trace, trace[last][rows])
        own = torch.stack([trace.row("logits", row) for row in rows])
        return (seen - own).abs().max().item()


def logit_lens(trace: PromptTrace, step: str) -> Tensor:
    """The logits [pos, vocab] that would come out if the model ended after `step`.

    The final norm and the unembedding are applied to the stream at that point (nostalgebraist
    2020). At the last step of the stream this is the model's own output.
    """
    with torch.inference_mode():
        return read_out(trace, trace[step])


def attribution(trace: PromptTrace, token_id: int, pos: int = -1) -> Attribution:
    """How much each part pushed the logit of `token_id` after position `pos`.

    Raises NotDefined for a model whose norms stand on the stream itself (post).
    """
    check_adds_up(trace.model.config)
    steps = _parts(trace)
    with torch.inference_mode():
        rows = torch.stack([trace[step][pos] for step in steps])
        towards = direction(trace, token_id)
        pushes, constant = _through_final_norm(trace, rows, towards, pos)
    values = (Push(step, value) for step, value in zip(steps, pushes.tolist(), strict=True))
    return Attribution(tuple(values), constant, trace.row("logits", pos)[token_id].item())


def check_adds_up(config: Config) -> None:
    """Raise NotDefined for a model whose norms stand on the stream itself (post)."""
    if config.norm_placement == "post" and config.norm != "none" and config.norms:
        raise NotDefined("with norms on the residual stream, parts do not simply add up")


@dataclass(frozen=True)
class Stage:
    """One part of one block at work on one token's row.

    before, added, after: the steps' names. replaces: the model has no shortcut here, so what was
    added takes the place of what was there. The lengths are of the rows; cosine: of the angle
    between what was there and what was added, 0 if one of them is 0.
    """

    block: int
    part: str
    before: str
    added: str
    after: str
    replaces: bool
    length_before: float
    length_added: float
    length_after: float
    cosine: float


def journey(trace: PromptTrace, pos: int) -> list[Stage]:
    """What every part added to the row at `pos`, in order. Raises NotDefined."""
    config = trace.model.config
    check_adds_up(config)
    stages = []
    for block in range(config.n_layers):
        at = f"blocks.{block}"
        ways = [("attn", f"{at}.resid_in", f"{at}.resid_mid")]
        ways += [("mlp", f"{at}.resid_mid", f"{at}.resid_out")] * bool(config.d_mlp)
        for part, before, after in ways:
            names = (before, f"{at}.{part}.out", after)
            rows = [trace[name][pos] for name in names]
            lengths = [row.norm().item() for row in rows]
            angle = cosine(rows[0], rows[1])
            replaces = part not in config.residual
            stages.append(Stage(block, part, *names, replaces, *lengths, angle))
    return stages


def _parts(trace: PromptTrace) -> list[str]:
    """The steps that the last stream is the sum of."""
    config = trace.model.config
    parts = ["embed.token"] + ["embed.position"] * ("embed.position" in trace)
    for block in range(config.n_layers):
        for name in ("attn", "mlp") if config.d_mlp else ("attn",):
            # Without a shortcut, what came before ends here.
            parts = [*(parts if name in config.residual else []), f"blocks.{block}.{name}.out"]
    return parts


def _through_final_norm(
    trace: PromptTrace, rows: Tensor, direction: Tensor, pos: int
) -> tuple[Tensor, float]:
    """What each row contributes along `direction`, the norm's spread taken as given."""
    config, weights = trace.model.config, trace.weights
    if "ln_f.normed" not in trace:
        return rows @ direction, 0.0
    weighted = direction * weights["ln_f.gamma"]
    beta = weights.get("ln_f.beta")
    constant = 0.0 if beta is None else (beta @ direction).item()
    eps = config.norm_eps
    if config.norm == "rms":
        return rows @ weighted / (trace["ln_f.mean_square"][pos] + eps).sqrt(), constant
    centred = rows - rows.mean(dim=-1, keepdim=True)
    return centred @ weighted / (trace["ln_f.var"][pos] + eps).sqrt(), constant


def final_norm(trace: PromptTrace, stream: Tensor) -> Tensor:
    """The model's last norm on any [pos, d_model]; the stream itself where there is none."""
    config, weights = trace.model.config, trace.weights
    if config.norm == "none" or "ln_f" not in config.norms:
        return stream
    gamma, beta = weights["ln_f.gamma"], weights.get("ln_f.beta")
    if config.norm == "rms":
        return F.rms_norm(stream, gamma.shape, gamma, config.norm_eps)
    return F.layer_norm(stream, gamma.shape, gamma, beta, config.norm_eps)


def read_out(trace: PromptTrace, stream: Tensor) -> Tensor:
    """What the model would say to [pos, d_model] if it ended there: logits [pos, vocab]."""
    return unembed(trace, final_norm(trace, stream))


def unembed(trace: PromptTrace, stream: Tensor) -> Tensor:
    """[pos, d_model] -> logits [pos, vocab]."""
    return F.linear(stream, _unembedding(trace))


def direction(trace: PromptTrace, token_id: int) -> Tensor:
    """The direction of one token, [d_model]: the logit is the dot product with it."""
    return _unembedding(trace)[token_id]


def _unembedding(trace: PromptTrace) -> Tensor:
    """One direction per token, [vocab, d_model]; of a trace, since its weights may be edited."""
    if trace.model.config.tied:
        return trace.weights["embed.W_E"]
    return trace.weights["unembed.W_U"].T
