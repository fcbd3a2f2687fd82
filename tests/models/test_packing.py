"""Packed weights: the same numbers, the same promises, and only where they pay."""

import pytest
import torch

from core.graph.packed import Packed
from core.models import packing
from core.models.model import Model
from tests.support.close import same_bits
from tests.support.random_models import CONFIGS, IDS, build

NAMES = ["gpt2", "llama", "wide-heads-grouped"]
needs_ops = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)


@pytest.fixture
def packed(monkeypatch):
    """Builds models whose weights are packed, wider than the small ones: several vectors a row."""

    def make(name="gpt2", **settings):
        monkeypatch.setenv(packing.SETTING, "on")
        wide = {"d_model": 48, "n_vocab": 61}
        return build(**CONFIGS[name] | wide | settings)

    return make


def rebuilt(model, weights, config=None):
    """A fresh model from copies of weights that know nothing of packing."""
    config = config or model.config
    copies = {name: weight.clone() for name, weight in weights.items()}
    assert not any(isinstance(weight, Packed) for weight in copies.values())
    return Model("fresh", config, copies, model.tokenizer, model.device, model.dtype)


@needs_ops
@pytest.mark.parametrize("name", NAMES)
def test_every_matrix_that_is_multiplied_is_packed_and_no_other(packed, name):
    model = packed(name)
    found = {name for name, weight in model.weights.items() if isinstance(weight, Packed)}
    tied = {"embed.W_E"} if model.config.tied else set()
    matrices = {name for name in model.weights if ".W_" in name and not name.startswith("embed.")}
    assert found == matrices | tied


@needs_ops
@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_of_float64(packed, name):
    model = packed(name)
    exact = build(torch.float64, **CONFIGS[name] | {"d_model": 48, "n_vocab": 61}).trace(IDS)
    for step, value in model.trace(IDS).capture().items():
        if value.is_floating_point():
            expected = exact[step]
            finite = expected.isfinite()
            scale = expected[finite].abs().max()
            assert (value - expected)[finite].abs().max() <= 2e-5 * scale, step


@needs_ops
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 3, len(IDS)])
def test_lazy_full_and_plain_agree_bit_for_bit(packed, name, n):
    model = packed(name)
    full = model.trace(IDS[:n]).capture()
    assert same_bits(full["logits"], model.forward(IDS[:n]))
    lazy = model.trace(IDS[:n])
    for step in reversed(lazy.steps):
        assert same_bits(lazy[step], full[step]), step


@needs_ops
@pytest.mark.parametrize("place", ["blocks.0.attn.W_K", "blocks.1.mlp.W_2", "embed.W_E"])
@pytest.mark.parametrize("n", [1, len(IDS)])
def test_an_edited_weight_is_multiplied_like_any_other(packed, place, n):
    model = packed()
    index = (0,) * model.weights[place].ndim
    before = model.trace(IDS[:n])
    logits = before["logits"].clone()
    edited = before.edit({place: {index: 0.7}})
    assert isinstance(edited.weights[place], Packed)
    assert not same_bits(edited.weights[place], model.weights[place])
    fresh = rebuilt(model, edited.weights).trace(IDS[:n])
    assert all(same_bits(edited[step], fresh[step]) for step in edited.steps)
    back = edited.edit({place: {index: model.weights[place][index].item()}})
    assert same_bits(back["logits"], logits)


@needs_ops
def test_rows_before_an_edited_one_keep_their_bits(packed):
    before = packed().trace(IDS)
    after = before.edit({"embed.sum": {(5, None): 0.3}})["logits"]
    assert same_bits(after[:5], before["logits"][:5])
    assert not same_bits(after[5:], before["logits"][5:])


@needs_ops
@pytest.mark.parametrize("settings", [{"n_heads": 1, "n_kv_heads": 1}, {"n_kv_heads": 2}])
def test_joined_and_shared_heads_are_packed_too(packed, settings):
    model = packed()
    d_head = 48 // settings["n_heads"] if "n_heads" in settings else model.config.d_head
    switched = model.switch(d_head=d_head, **settings)
    assert isinstance(switched.weights["blocks.0.attn.W_K"], Packed)
    fresh = rebuilt(model, switched.weights, switched.config)
    assert same_bits(switched.trace(IDS)["logits"], fresh.trace(IDS)["logits"])


@needs_ops
def test_few_rows_take_the_plain_way(monkeypatch):
    monkeypatch.setenv(packing.SETTING, "off")
    plain = build(d_model=48)
    monkeypatch.setenv(packing.SETTING, "")
    monkeypatch.setattr(packing, "SMALLEST", 0)
    monkeypatch.setattr(packing, "trial", lambda: 4)
    mixed = rebuilt(plain, plain.weights)
    assert same_bits(mixed.trace(IDS[:3])["logits"], plain.trace(IDS[:3])["logits"])
    monkeypatch.setattr(Packed, "product", lambda *_: pytest.fail("used"))
    mixed.trace(IDS[:3]).capture()
    with pytest.raises(pytest.fail.Exception, match="used"):
        mixed.trace(IDS[:4]).capture()


def packs(**settings):
    return any(isinstance(weight, Packed) for weight in build(**settings).weights.values())


@needs_ops
def test_only_large_float32_models_are_packed(monkeypatch):
    monkeypatch.delenv(packing.SETTING, raising=False)
    monkeypatch.setattr(packing, "trial", lambda: 1)
    assert not packs()
    monkeypatch.setattr(packing, "SMALLEST", 10_000)
    assert packs()
    assert not packs(dtype=torch.float64)
    monkeypatch.setattr(packing, "LARGEST", 10_000)
    assert not packs()
    monkeypatch.setenv(packing.SETTING, "on")
    assert packs()
    assert not packs(dtype=torch.float64)
    monkeypatch.setenv(packing.SETTING, "off")
    assert not packs()


@pytest.mark.parametrize(
    ("gains", "rows"),
    [
        ({4: 2.0, 32: 2.3}, 4),  # slow plain products
        ({4: 0.9, 32: 1.3}, 32),
        ({4: 1.2, 32: 1.1}, None),  # not worth the memory
    ],
)
def test_the_trial_weighs_few_rows_and_many(monkeypatch, gains, rows):
    monkeypatch.setattr(packing, "_gain", gains.get)
    assert packing.trial.__wrapped__() == rows


def test_without_the_ops_nothing_is_packed(monkeypatch):
    def missing(*_):
        raise AttributeError("no such op")

    monkeypatch.setattr(Packed, "of", missing)
    assert packing.trial.__wrapped__() is None


@needs_ops
def test_an_op_that_is_wrong_is_never_worth_it(monkeypatch):
    assert packing._gain(2) > 0
    right = Packed.product
    monkeypatch.setattr(Packed, "product", lambda *given: right(*given) + 0.01)
    assert packing._gain(2) == 0


def test_copies_are_made_only_where_there_is_room_for_them(monkeypatch):
    monkeypatch.delenv(packing.SETTING, raising=False)
    monkeypatch.setattr(packing, "trial", lambda: 1)
    matrices = [torch.empty(packing.SMALLEST // 4)]  # nothing is written to it
    needed = packing.SMALLEST + packing.ROOM_TO_WORK
    found = []
    for free in (needed - 1, needed):
        monkeypatch.setattr(packing, "free_memory", lambda device, free=free: free)
        found.append(packing._fewest_rows(matrices))
    assert found == [None, 1]
