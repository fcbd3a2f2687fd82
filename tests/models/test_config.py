"""Configs: what follows from what, and which ones no model can have."""

import json

import pytest

from core.graph.ops import Interpolation, Stretch
from core.models.config import Config, ConfigError
from tests.support.random_models import SMALL


def config(**settings) -> Config:
    return Config(**SMALL | settings)


def test_defaults_are_those_of_gpt2():
    assert config().to_dict() == SMALL | {
        "d_head": 4,
        "n_kv_heads": 4,
        "d_mlp": 64,
        "position": "learned",
        "rotary_base": 10000.0,
        "rotary_layout": "half",
        "rotary_stretch": None,
        "norm": "layer",
        "norms": ("ln_1", "ln_2", "ln_f"),
        "norm_placement": "pre",
        "norm_eps": 1e-5,
        "norm_beta": True,
        "activation": "gelu_tanh",
        "gated": False,
        "bias_qkv": True,
        "bias_out": True,
        "bias_mlp": True,
        "causal": True,
        "scaled": True,
        "residual": ("attn", "mlp"),
        "tied": True,
    }


def test_heads_may_be_wider_than_their_share():
    assert config(d_head=7).sizes()["concat"] == 28


def test_d_mlp_of_zero_is_not_the_default():
    assert config(d_mlp=0).d_mlp == 0


@pytest.mark.parametrize(
    "given, kept",
    [
        (True, ("ln_1", "ln_2", "ln_f")),
        (False, ()),
        (("ln_f", "ln_1"), ("ln_1", "ln_f")),
        (["ln_2"], ("ln_2",)),
    ],
)
def test_places_are_kept_in_their_order(given, kept):
    assert config(norms=given).norms == kept


@pytest.mark.parametrize("stretch", [Stretch(8.0), Interpolation(8.0)])
def test_survives_json(stretch):
    original = config(
        norms=("ln_2",), residual=False, position="rotary", rotary_stretch=stretch, d_mlp=0
    )
    assert Config.from_dict(json.loads(json.dumps(original.to_dict()))) == original


def test_is_frozen():
    with pytest.raises(AttributeError):
        config().n_layers = 3


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"n_heads": 0}, "n_heads is 0"),
        ({"n_heads": -1}, "n_heads is -1"),
        ({"n_kv_heads": 0}, "n_kv_heads is 0"),
        ({"d_model": 0}, "d_model is 0"),
        ({"d_head": 0}, "d_head is 0"),
        ({"d_model": 3}, "d_model = 3 cannot be cut into 4 heads"),
        ({"n_vocab": 0}, "n_vocab is 0"),
        ({"n_ctx": 0}, "n_ctx is 0"),
        ({"n_layers": -1}, "n_layers"),
        ({"d_mlp": -4}, "d_mlp"),
        ({"n_kv_heads": 3}, "4 query heads cannot share 3 key-value heads"),
        ({"n_kv_heads": 8}, "4 query heads cannot share 8 key-value heads"),
        ({"position": "rotary", "d_head": 3}, "d_head = 3 must be even"),
        ({"position": "alibi"}, "position is 'alibi'; it can be learned, rotary"),
        ({"norm": "batch"}, "norm is 'batch'"),
        ({"norm_placement": "both"}, "norm_placement is 'both'"),
        ({"activation": "gelu_new"}, "activation is 'gelu_new'"),
        ({"rotary_layout": "pairs"}, "rotary_layout is 'pairs'"),
        ({"norms": ("ln_3",)}, "'ln_3'"),
        ({"residual": ("attention",)}, "'attention'"),
    ],
    ids=str,
)
def test_impossible_settings(settings, message):
    with pytest.raises(ConfigError, match=message):
        config(**settings)


def test_unknown_settings_are_named():
    with pytest.raises(ConfigError, match="no setting called heads, layers"):
        Config.from_dict(SMALL | {"layers": 2, "heads": 4})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 15}, "cannot be cut into 4 heads"),
        ({"norm_eps": 0.0}, "greater than 0"),
        ({"rotary_base": -1.0}, "greater than 0"),
        ({"norm_eps": float("nan")}, "greater than 0"),
        ({"rotary_stretch": Stretch(0.0)}, "cannot be stretched"),
        ({"rotary_stretch": Interpolation(-2.0)}, "cannot be stretched"),
        ({"rotary_stretch": Stretch(8.0, few=4.0, many=4.0)}, "cannot be stretched"),
    ],
)
def test_more_impossible_numbers(settings, message):
    with pytest.raises(ConfigError, match=message):
        Config(**{"n_layers": 1, "n_heads": 4, "d_model": 16, "n_vocab": 9, "n_ctx": 4} | settings)
