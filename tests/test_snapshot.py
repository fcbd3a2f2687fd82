"""Snapshots: what is saved comes back, and the first step that came out differently is named."""

import json
import re

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import core
from core.models.model import Model
from core.snapshot import SnapshotError
from tests.support.close import assert_close, same_bits
from tests.support.golden import GOLDEN, golden_values
from tests.support.random_models import IDS, build, random_model, random_tensors
from tests.support.subjects import SUBJECTS, example, subject_id, subject_ids, subject_model

BLOCK = [0, 1, 2]


@pytest.fixture
def file(tmp_path):
    """A snapshot of the worked example's whole block."""
    core.snapshot.save(example("block").trace(BLOCK), tmp_path / "block.safetensors")
    return tmp_path / "block.safetensors"


def with_weight(name: str, index: tuple, value: float) -> Model:
    """The worked example's block with one number changed."""
    original = example("block")
    tensors = {key: weight.clone() for key, weight in original.weights.items()}
    tensors[name][index] = value
    rest = original.tokenizer, original.device, original.dtype
    return Model("changed", original.config, tensors, *rest)


def rewritten(file, metadata=None, **tensors):
    """The file with some tensors or metadata replaced."""
    with safe_open(file, "pt") as opened:
        old = opened.metadata()
    save_file(load_file(file) | tensors, file, old | (metadata or {}))
    return file


@pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)
def test_a_trace_equals_its_snapshot(subject, tmp_path):
    model, ids = subject_model(subject), subject_ids(subject)
    core.snapshot.save(model.trace(ids), tmp_path / "x.safetensors")
    found = core.snapshot.compare(model.trace(ids), tmp_path / "x.safetensors")
    assert found.ok
    assert found.first is None
    assert [step.name for step in found.steps] == list(model.graph.steps)
    assert found.text == f"All {len(model.graph.steps)} steps agree."


def test_every_value_is_in_the_file(file):
    trace, values = example("block").trace(BLOCK), load_file(file)
    assert values.keys() == set(trace.steps)
    assert all(same_bits(values[name], trace[name].contiguous()) for name in trace.steps)


def test_steps_that_are_views_are_saved_whole(tmp_path):
    """q, k and v share one memory with all heads side by side; resid_in is embed.sum itself."""
    trace = random_model("gpt2").trace(IDS)
    assert not trace["blocks.0.attn.q"].is_contiguous()
    assert trace["blocks.0.resid_in"] is trace["embed.sum"]
    core.snapshot.save(trace, tmp_path / "x.safetensors")
    values = load_file(tmp_path / "x.safetensors")
    for name in ("blocks.0.attn.q", "blocks.0.attn.v", "blocks.0.resid_in", "embed.sum"):
        assert torch.equal(values[name], trace[name]), name


def test_metadata_say_what_it_is_of(file):
    with safe_open(file, "pt") as opened:
        metadata = opened.metadata()
    assert metadata["format"] == "ripple-snapshot-1"
    assert json.loads(metadata["ids"]) == BLOCK
    assert json.loads(metadata["steps"]) == list(example("block").graph.steps)
    config = core.Config.from_dict(json.loads(metadata["config"]))
    assert config == example("block").config


@pytest.mark.parametrize(
    "weight, index, first",
    [
        ("embed.W_E", (1, 2), "embed.token"),
        ("embed.W_P", (2, 0), "embed.position"),
        ("blocks.0.ln_1.gamma", (0,), "blocks.0.ln_1.out"),
        ("blocks.0.attn.W_Q", (0, 1, 1), "blocks.0.attn.q"),
        ("blocks.0.attn.W_K", (1, 0, 0), "blocks.0.attn.k"),
        ("blocks.0.attn.W_V", (1, 2, 1), "blocks.0.attn.v"),
        ("blocks.0.attn.W_O", (3, 2), "blocks.0.attn.out"),
        ("blocks.0.ln_2.beta", (1,), "blocks.0.ln_2.out"),
        ("blocks.0.mlp.W_1", (0, 0), "blocks.0.mlp.hidden"),
        ("blocks.0.mlp.b_2", (2,), "blocks.0.mlp.out"),
        ("ln_f.gamma", (2,), "ln_f.out"),
        ("unembed.W_U", (0, 5), "logits"),
    ],
)
def test_the_first_step_that_a_changed_weight_reaches_is_named(file, weight, index, first):
    found = core.snapshot.compare(with_weight(weight, index, 0.77).trace(BLOCK), file)
    assert not found.ok
    assert found.first.name == first
    assert re.match(rf"{re.escape(first)} is the first step that diverges: by \d", found.text)
    before = [step for step in found.steps if step.name != first]
    before = before[: [step.name for step in found.steps].index(first)]
    assert not any(step.changed for step in before)


def test_a_weight_that_this_prompt_does_not_use_changes_nothing(file):
    changed = with_weight("embed.W_E", (5, 0), 0.77)
    assert core.snapshot.compare(changed.trace(BLOCK), file).ok


def test_the_smallest_change_is_noticed(file):
    value = torch.tensor(0.4, dtype=torch.float64)
    changed = with_weight("unembed.W_U", (0, 3), torch.nextafter(value, value + 1).item())
    assert core.snapshot.compare(changed.trace(BLOCK), file).first.name == "logits"


def test_text_says_how_much_where_and_how_many(file):
    logits = load_file(file)["logits"]
    logits[1, 4] += 0.25
    logits[2, 5] -= 0.125
    found = core.snapshot.compare(example("block").trace(BLOCK), rewritten(file, logits=logits))
    share = 0.25 / logits.abs().max().item()
    assert found.text == (
        "logits is the first step that diverges: by 0.25 at index (1, 4) "
        f"({share:.4g} of the largest value, 2 elements differ)."
    )


@pytest.mark.parametrize("tolerance, ok", [(0.0, False), (0.0009, False), (0.0011, True)])
def test_tolerance_is_relative_to_the_largest_value(file, tolerance, ok):
    name = "blocks.0.resid_out"  # its largest value is 2.45
    trace = example("block").trace(BLOCK)
    stream = trace[name].clone()
    stream[stream.abs() == stream.abs().max()] *= 1 - 0.001  # off by 0.001001 of what is stored
    found = core.snapshot.compare(trace, rewritten(file, **{name: stream}), tolerance=tolerance)
    assert found.ok is ok


def test_no_tolerance_lets_an_infinity_pass(file):
    masked = load_file(file)["blocks.0.attn.scores_masked"]
    masked[0, 0, 1] = -1e30
    name = "blocks.0.attn.scores_masked"
    found = core.snapshot.compare(
        example("block").trace(BLOCK), rewritten(file, **{name: masked}), tolerance=1e9
    )
    assert found.first.name == name


def test_float32_agrees_with_a_float64_snapshot_within_rounding(tmp_path):
    name = tmp_path / "x.safetensors"
    core.snapshot.save(random_model("llama", torch.float64).trace(IDS), name)
    trace = random_model("llama").trace(IDS)
    assert not core.snapshot.compare(trace, name).ok
    assert core.snapshot.compare(trace, name, tolerance=1e-5).ok


def test_only_some_steps(tmp_path):
    trace, name = example("block").trace(BLOCK), tmp_path / "x.safetensors"
    core.snapshot.save(trace, name, steps=["logits", "blocks.0.attn.weights"])
    assert load_file(name).keys() == {"logits", "blocks.0.attn.weights"}
    found = core.snapshot.compare(trace, name)
    assert found.ok
    assert len(found.steps) == 2


def test_only_some_steps_of_which_one_differs(tmp_path):
    name = tmp_path / "x.safetensors"
    core.snapshot.save(example("block").trace(BLOCK), name, steps=["embed.sum", "logits"])
    changed = with_weight("blocks.0.attn.W_Q", (0, 0, 0), 0.77)
    assert core.snapshot.compare(changed.trace(BLOCK), name).first.name == "logits"


def test_an_unknown_step_is_not_saved(tmp_path):
    with pytest.raises(KeyError, match=r"attn\.weihgts.*did you mean"):
        core.snapshot.save(
            example("block").trace(BLOCK), tmp_path / "x", steps=["blocks.0.attn.weihgts"]
        )
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_the_trace_lacks_diverges(file):
    found = core.snapshot.compare(example("part-4").trace(BLOCK), file)
    assert found.first.name == "blocks.0.ln_1.mean"
    assert found.text == "blocks.0.ln_1.mean is only in the snapshot."


def test_a_step_that_the_snapshot_lacks_diverges(tmp_path):
    name = tmp_path / "x.safetensors"
    core.snapshot.save(example("part-1").trace(BLOCK), name)
    without_position = core.load("worked-example", preset="part-1", position="none", device="cpu")
    found = core.snapshot.compare(example("part-1").trace(BLOCK), name)
    assert found.ok
    core.snapshot.save(without_position.trace(BLOCK), name)
    found = core.snapshot.compare(example("part-1").trace(BLOCK), name, tolerance=10)
    assert found.first.name == "embed.position"
    assert found.text == "embed.position is only in the trace."


def test_another_width_is_told_as_a_shape(tmp_path):
    name = tmp_path / "x.safetensors"
    core.snapshot.save(random_model("gpt2").trace(IDS), name)
    found = core.snapshot.compare(build(d_mlp=5).trace(IDS), name, tolerance=100)
    assert found.first.name == "blocks.0.mlp.hidden"
    assert found.text == "blocks.0.mlp.hidden has the shape (8, 5); the snapshot has (8, 64)."


def test_another_prompt_is_refused(file):
    with pytest.raises(SnapshotError, match=r"\[0, 1, 2\].*\[0, 1, 3\].*same prompt"):
        core.snapshot.compare(example("block").trace([0, 1, 3]), file)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no snapshot at .*nowhere"):
        core.snapshot.compare(example("block").trace(BLOCK), tmp_path / "nowhere")


@pytest.mark.parametrize("size", [0, 5, 100, 3000, -1])
def test_a_truncated_file_is_refused(file, size):
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(SnapshotError, match="not a snapshot"):
        core.snapshot.compare(example("block").trace(BLOCK), file)


def test_another_kind_of_file_is_refused(tmp_path):
    (tmp_path / "x").write_text("logits = 3", encoding="utf-8")
    with pytest.raises(SnapshotError, match="not a snapshot"):
        core.snapshot.compare(example("block").trace(BLOCK), tmp_path / "x")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}], ids=str)
def test_a_file_of_weights_is_refused(tmp_path, metadata):
    save_file({"logits": torch.zeros(3, 6)}, tmp_path / "x", metadata)
    with pytest.raises(SnapshotError, match="not a snapshot made by `save`"):
        core.snapshot.compare(example("block").trace(BLOCK), tmp_path / "x")


def test_a_snapshot_whose_tensor_is_gone_is_refused(file):
    with safe_open(file, "pt") as opened:
        metadata = opened.metadata()
    values = load_file(file)
    del values["blocks.0.attn.q"]
    save_file(values, file, metadata)
    with pytest.raises(SnapshotError, match=r"blocks\.0\.attn\.q"):
        core.snapshot.compare(example("block").trace(BLOCK), file)


def test_saving_again_replaces_the_file_and_leaves_nothing_beside_it(file):
    core.snapshot.save(example("part-1").trace(BLOCK), file)
    assert core.snapshot.compare(example("part-1").trace(BLOCK), file).ok
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_failed_save_leaves_the_old_file_and_nothing_beside_it(file, monkeypatch):
    def failing(*args, **kwargs):
        args[1].write_bytes(b"half")
        raise OSError("disk full")

    before = file.read_bytes()
    monkeypatch.setattr("core.snapshot.save_file", failing)
    with pytest.raises(OSError, match="disk full"):
        core.snapshot.save(example("part-1").trace(BLOCK), file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_path_may_be_text(tmp_path):
    name = str(tmp_path / "x.safetensors")
    core.snapshot.save(example("block").trace(BLOCK), name)
    assert core.snapshot.compare(example("block").trace(BLOCK), name).ok


def test_ids_from_numpy_are_saved(tmp_path):
    trace = example("block").trace(torch.tensor(BLOCK).numpy())
    core.snapshot.save(trace, tmp_path / "x.safetensors")
    assert core.snapshot.compare(example("block").trace(BLOCK), tmp_path / "x.safetensors").ok


def test_a_changed_config_is_found_where_it_acts(tmp_path):
    name = tmp_path / "x.safetensors"
    model = random_model("gpt2")
    core.snapshot.save(model.trace(IDS), name)
    unscaled = Model(
        "unscaled",
        core.Config.from_dict(model.config.to_dict() | {"scaled": False}),
        random_tensors(model.config),
        model.tokenizer,
        model.device,
        model.dtype,
    )
    found = core.snapshot.compare(unscaled.trace(IDS), name)
    assert found.first.name == "blocks.0.attn.scores_scaled"


def test_golden_file_of_the_worked_example():
    """Made by numpy alone: guards against any change of the example or the engine."""
    found = core.snapshot.compare(example("block").trace(BLOCK), GOLDEN, tolerance=1e-12)
    assert found.ok, found.text
    assert len(found.steps) == 36


def test_golden_file_is_what_numpy_gives():
    stored = load_file(GOLDEN)
    for name, value in golden_values().items():
        assert_close(stored[name], value, 1e-13, name)


def test_golden_file_notices_a_change():
    found = core.snapshot.compare(
        with_weight("blocks.0.mlp.b_1", (3,), 1e-9).trace(BLOCK), GOLDEN, tolerance=1e-12
    )
    assert found.first.name == "blocks.0.mlp.hidden"


def test_the_bundled_model_equals_its_snapshot(tmp_path):
    model, name = core.load("bundled", device="cpu"), tmp_path / "x.safetensors"
    core.snapshot.save(model.trace("In the beginning"), name)
    found = core.snapshot.compare(model.trace("In the beginning"), name)
    assert found.ok, found.text
    assert len(found.steps) == len(model.graph.steps)


@pytest.mark.parametrize(
    "weight, index, first",
    [
        ("blocks.3.attn.W_V", (1, 7, 11), "blocks.3.attn.v"),
        ("blocks.5.mlp.b_1", (600,), "blocks.5.mlp.hidden"),
        ("ln_f.beta", (0,), "ln_f.out"),
    ],
)
def test_one_edited_number_of_the_bundled_model_is_found(tmp_path, weight, index, first):
    trace, name = core.load("bundled", device="cpu").trace("In the beginning"), tmp_path / "x"
    steps = [step for step in trace.steps if step not in ("embed.onehot", "probs")]
    core.snapshot.save(trace, name, steps)
    edited = trace.edit({weight: {index: 0.5}})
    assert core.snapshot.compare(edited, name, tolerance=1e-5).first.name == first
