"""Which words tell a step: the usual ones, or others where this model does it differently."""

from __future__ import annotations

from core.models.config import Config
from core.view.elements import generic


def step_key(config: Config, role: str) -> str:
    """The key of the texts of a step, which has a `.title` and a `.says`."""
    key = f"steps.{generic(role)}"
    variant = _variant(config, role)
    return f"{key}.{variant}" if variant else key


def _variant(c: Config, role: str) -> str:
    """How this model departs from the usual in this step, "" if it does not."""
    differs = {
        "embed.sum": c.position in ("none", "rotary"),
        "norm.out": c.norm == "rms" or not c.norm_beta,
        "attn.scores_scaled": not c.scaled,
        "attn.scores_masked": not c.causal,
        "attn.weights": not c.causal,
        "resid_mid": "attn" not in c.residual,
        "resid_out": c.d_mlp and "mlp" not in c.residual,
    }
    if role == "resid_out" and not c.d_mlp:
        return "no_mlp"
    if role.endswith(".normed") and c.norm == "rms":
        return "rms"
    return "without" if differs.get(generic(role)) else ""


def group_key(config: Config, group: str) -> str:
    """The key of the sentence that says what a part of the model does."""
    kind = {"rotary": "_turned", "none": "_none"}.get(config.position, "")
    return f"path.groups.{group}.says{kind if group == 'embedding' else ''}"


def block_key(config: Config) -> str:
    """The key of the sentence that says what a block does to the belt."""
    if not config.n_layers:
        kind = "none"
    elif not config.d_mlp:
        kind = "attention" if "attn" in config.residual else "attention_alone"
    else:
        kind = "both" if "attn" in config.residual else "mlp_adds"
    return f"overview.belt.blocks.{kind}"


def gives_key(config: Config, group: str) -> str:
    """The key of the sentence that says how a part's result comes back to the belt."""
    part = {"attention": "attn", "mlp": "mlp"}[group]
    return "path.adds" if part in config.residual else "path.replaces"
