"""The residual stream read from outside: the logit lens, and who pushed a logit by how much."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from core.models.model import Model, PromptTrace


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


def logit_lens(trace: PromptTrace, step: str) -> Tensor:
    """The logits [pos, vocab] that would come out if the model ended after `step`.

    The final norm and the unembedding are applied to the stream at that point (nostalgebraist
    2020). At the last step of the stream this is the model's own output.
    """
    with torch.inference_mode():
        return unembed(trace.model, final_norm(trace.model, trace[step]))


def attribution(trace: PromptTrace, token_id: int, pos: int = -1) -> Attribution:
    """How much each part pushed the logit of `token_id` after position `pos`.

    Raises NotDefined for a model whose norms stand on the stream itself (post).
    """
    config = trace.model.config
    if config.norm_placement == "post" and config.norm != "none" and config.norms:
        raise NotDefined("with norms on the residual stream, parts do not simply add up")
    steps = _parts(trace)
    with torch.inference_mode():
        rows = torch.stack([trace[step][pos] for step in steps])
        direction = _unembedding(trace.model)[token_id]
        pushes, constant = _through_final_norm(trace, rows, direction, pos)
    values = (Push(step, value) for step, value in zip(steps, pushes.tolist(), strict=True))
    return Attribution(tuple(values), constant, trace["logits"][pos, token_id].item())


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
    model = trace.model
    if "ln_f.normed" not in trace:
        return rows @ direction, 0.0
    weighted = direction * model.weights["ln_f.gamma"]
    beta = model.weights.get("ln_f.beta")
    constant = 0.0 if beta is None else (beta @ direction).item()
    eps = model.config.norm_eps
    if model.config.norm == "rms":
        return rows @ weighted / (trace["ln_f.mean_square"][pos] + eps).sqrt(), constant
    centred = rows - rows.mean(dim=-1, keepdim=True)
    return centred @ weighted / (trace["ln_f.var"][pos] + eps).sqrt(), constant


def final_norm(model: Model, stream: Tensor) -> Tensor:
    """The model's last norm on any [pos, d_model]; the stream itself where there is none."""
    config = model.config
    if config.norm == "none" or "ln_f" not in config.norms:
        return stream
    gamma, beta = model.weights["ln_f.gamma"], model.weights.get("ln_f.beta")
    if config.norm == "rms":
        return F.rms_norm(stream, gamma.shape, gamma, config.norm_eps)
    return F.layer_norm(stream, gamma.shape, gamma, beta, config.norm_eps)


def unembed(model: Model, stream: Tensor) -> Tensor:
    """[pos, d_model] -> logits [pos, vocab]."""
    return F.linear(stream, _unembedding(model))


def _unembedding(model: Model) -> Tensor:
    """One direction per token, [vocab, d_model]."""
    if model.config.tied:
        return model.weights["embed.W_E"]
    return model.weights["unembed.W_U"].T
