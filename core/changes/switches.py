"""The settings of a model that can be switched while it is looked at, and what each does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.models.config import CHOICES, NORMS, Config, ConfigError
from core.models.model import Model
from core.models.weights import WeightsError

Settings = Mapping[str, object]


def _norm(value: str, config: Config) -> Settings:
    if value == "none":
        return {"norms": ()}
    kind = "layer" if config.norm == "none" else config.norm
    return {"norm": kind, "norms": config.norms or NORMS, "norm_placement": value}


def _norm_of(config: Config) -> str:
    return config.norm_placement if config.norms and config.norm != "none" else "none"


def _residual(value: str, config: Config) -> Settings:
    return {"residual": {"on": True, "off": False}.get(value, (value,))}


def _residual_of(config: Config) -> str:
    return {0: "off", 2: "on"}.get(len(config.residual), "".join(config.residual))


def _heads(value: str, config: Config) -> Settings:
    """One head as wide as all of them together, with the same numbers in its matrices."""
    if value == "several":
        raise ConfigError("one head cannot be cut into several")
    if config.n_kv_heads != config.n_heads:
        raise ConfigError("heads that share keys and values cannot be joined into one")
    return {"n_heads": 1, "n_kv_heads": 1, "d_head": config.n_heads * config.d_head}


def _kv_heads(value: str, config: Config) -> Settings:
    """Fewer keys and values than query heads: a pair for every two of them, or one for all."""
    if value == "each" or config.n_kv_heads != config.n_heads:
        raise ConfigError("keys and values that are shared cannot be told apart again")
    if config.n_heads <= (2 if value == "groups" else 1):
        raise ConfigError(f"{config.n_heads} heads are too few to share keys and values")
    return {"n_kv_heads": 1 if value == "one" else config.n_heads // 2}


def _kv_heads_of(config: Config) -> str:
    if config.n_kv_heads == config.n_heads:
        return "each"
    return "one" if config.n_kv_heads == 1 else "groups"


def _heads_of(config: Config) -> str:
    return "one" if config.n_heads == 1 else "several"


# Each switch: its values, the settings that a value stands for, and which value a config has.
SWITCHES: dict[
    str, tuple[tuple[str, ...], Callable[[str, Config], Settings], Callable[[Config], str]]
] = {
    "scaled": (
        ("on", "off"),
        lambda value, config: {"scaled": value == "on"},
        lambda config: "on" if config.scaled else "off",
    ),
    "mask": (
        ("on", "off"),
        lambda value, config: {"causal": value == "on"},
        lambda config: "on" if config.causal else "off",
    ),
    "norm": (("pre", "post", "none"), _norm, _norm_of),
    "residual": (("on", "attn", "mlp", "off"), _residual, _residual_of),
    "activation": (
        CHOICES["activation"],
        lambda value, config: {"activation": value},
        lambda config: config.activation,
    ),
    "position": (
        CHOICES["position"],
        lambda value, config: {"position": value},
        lambda config: config.position,
    ),
    "kv_heads": (("each", "groups", "one"), _kv_heads, _kv_heads_of),
    "heads": (("several", "one"), _heads, _heads_of),
}


def chosen(setting: str, config: Config) -> str:
    """The value that a switch has in a config."""
    return SWITCHES[setting][2](config)


def choices(setting: str, model: Model) -> list[str]:
    """The values that a switch can have in this model, its own among them."""
    return [value for value in SWITCHES[setting][0] if switched(model, {setting: value})]


def switched(model: Model, values: Mapping[str, str]) -> Model | None:
    """The model with its switches at these values; None if it cannot be so."""
    try:
        return model.switch(**settings(model.config, values)) if values else model
    except (ConfigError, WeightsError):
        return None


def settings(config: Config, values: Mapping[str, str]) -> dict[str, object]:
    """The config settings that the switches' values stand for.

    Where all heads are joined into one, nothing is left to share. Raises ConfigError for a
    switch or value that does not exist.
    """
    found: dict[str, object] = {}
    for setting, value in sorted(values.items(), key=lambda pair: pair[0] == "heads"):
        if setting not in SWITCHES or value not in SWITCHES[setting][0]:
            raise ConfigError(f"there is no switch {setting} = {value}")
        if value != chosen(setting, config):
            found |= SWITCHES[setting][1](value, config)
    return found
