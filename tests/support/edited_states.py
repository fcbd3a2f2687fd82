"""Random edited states of a model, and the same worked out without the code under test."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from hypothesis import strategies as st

from core.changes import Change, Put, Switch, choices
from core.changes.switches import SWITCHES
from core.models.config import Config
from core.models.model import Model
from tests.support.close import as_float64

NUMBERS = st.floats(-3, 3, allow_subnormal=False)
NORMS = ["ln_1", "ln_2", "ln_f"]
RESIDUALS = {"on": ["attn", "mlp"], "attn": ["attn"], "mlp": ["mlp"], "off": []}


@dataclass(frozen=True)
class State:
    """What a model becomes by some changes: its config, its matrices, and steps set by hand."""

    changes: tuple[Change, ...]
    config: dict
    weights: dict[str, np.ndarray]
    steps: dict[str, dict]

    def fresh(self, model: Model) -> Model:
        """A new model with these matrices."""
        tensors = {name: torch.tensor(array) for name, array in self.weights.items()}
        config = Config.from_dict(self.config)
        return Model("fresh", config, tensors, model.tokenizer, model.device, model.dtype)


@st.composite
def states(draw, model: Model, n_tokens: int):
    """Up to three switches, then up to six numbers in weights and steps, as one list."""
    settings = draw(st.lists(st.sampled_from(sorted(SWITCHES)), max_size=3, unique=True))
    switches = [Switch(s, draw(st.sampled_from(possible(model, s)))) for s in settings]
    config = switched(model.config.to_dict(), switches)
    weights = adapted(model, config)
    shapes = {name: array.shape for name, array in weights.items()}
    trace = model.switch(**config).trace([0] * n_tokens)
    computed = {n: trace.shape(n) for n in trace.steps if trace.graph[n].op.editable}
    steps: dict[str, dict] = {}
    puts = []
    for _ in range(draw(st.integers(0, 6))):
        some = draw(st.sampled_from([shapes, computed]))
        name = draw(st.sampled_from(sorted(some)))
        if 0 in some[name]:
            continue
        whole = st.booleans() if draw(st.integers(0, 3)) == 0 else st.just(False)
        index = tuple(None if draw(whole) else draw(st.integers(0, n - 1)) for n in some[name])
        puts.append(Put(name, index, draw(NUMBERS)))
    for put in puts:
        if put.name in weights:
            weights[put.name][place(put.index)] = put.value
        else:
            later = steps.setdefault(put.name, {})
            later.pop(put.index, None)
            later[put.index] = put.value
    # Wherever a switch stands in the list, it acts first.
    at = draw(st.integers(0, len(puts)))
    return State((*puts[:at], *switches, *puts[at:]), config, weights, steps)


@cache
def possible(model: Model, setting: str) -> list[str]:
    return choices(setting, model)


def place(index) -> tuple:
    return tuple(slice(None) if i is None else i for i in index)


def switched(config: dict, switches: list[Switch]) -> dict:
    """A config under switches, as the words on them say."""
    config = dict(config)
    for switch in sorted(switches, key=lambda switch: switch.setting == "heads"):
        match switch.setting, switch.value:
            case "scaled", value:
                config["scaled"] = value == "on"
            case "mask", value:
                config["causal"] = value == "on"
            case "residual", value:
                config["residual"] = RESIDUALS[value]
            case "norm", "none":
                config["norms"] = []
            case "norm", value:
                config["norm_placement"] = value
                config["norms"] = config["norms"] or NORMS
                config["norm"] = "layer" if config["norm"] == "none" else config["norm"]
            case "kv_heads", "one":
                config["n_kv_heads"] = 1
            case "kv_heads", "groups":
                config["n_kv_heads"] = config["n_heads"] // 2
            case "heads", "one":
                config["d_head"] *= config["n_heads"]
                config["n_heads"] = config["n_kv_heads"] = 1
            case ("activation" | "position") as setting, value:
                config[setting] = value
    return config


def adapted(model: Model, config: dict) -> dict[str, np.ndarray]:
    """The model's matrices for another config: heads side by side or averaged, new norms as new."""
    weights = {name: weight.numpy().copy() for name, weight in model.weights.items()}
    if config["n_heads"] != model.config.n_heads:
        for name in weights:
            if name.rpartition(".")[2] in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"):
                weights[name] = np.concatenate(list(weights[name]), axis=-1)[None]
    elif (shared := config["n_kv_heads"]) != model.config.n_kv_heads:
        for name in weights:
            if name.rpartition(".")[2] in ("W_K", "W_V", "b_K", "b_V"):
                groups = np.split(weights[name], shared)
                weights[name] = np.stack([group.mean(0) for group in groups])
    found = {}
    for name in model.switch(**config).graph.weights:
        last = name.rpartition(".")[2]
        like = weights["embed.W_E"]
        start = {"gamma": 1.0, "beta": 0.0}.get(last)
        found[name] = weights[name] if name in weights else np.full_like(like[0], start)
    return found


def in_float64(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: as_float64(array) for name, array in weights.items()}
