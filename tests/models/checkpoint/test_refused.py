"""What cannot be loaded is refused in one sentence that names the reason; nothing is unpickled."""

import json

import pytest
import torch
from safetensors.torch import save_file

from core.models.checkpoint import CheckpointError, folder
from core.view.texts import LANGUAGES, text
from tests.support.saved_models import SIZES, gpt2, save, state

GPT2 = SIZES | {"model_type": "gpt2", "n_positions": 16}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": 10,
    "max_position_embeddings": 16,
    "rms_norm_eps": 1e-6,
}
TENSORS = state(gpt2())


class Bomb:
    """Unpickling it writes a file, by which the test notices."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def refused(path, kind, *named):
    """Loading is refused for this reason, in every language, with these words in the sentence."""
    with pytest.raises(CheckpointError) as caught:
        folder.load(path, device=torch.device("cpu"))
    error = caught.value
    assert error.kind == kind
    for language in LANGUAGES:
        sentence = text(language, f"checkpoint.{kind}", **error.values)
        assert all(word in sentence for word in named), sentence
    assert text("en", f"checkpoint.{kind}", **error.values) == str(error)


def test_a_path_that_is_not_there(tmp_path):
    refused(tmp_path / "nowhere", "nothing_there", str(tmp_path / "nowhere"))


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    refused(tmp_path / "notes.txt", "not_weights", "notes.txt", ".safetensors")


def test_an_empty_folder(tmp_path):
    refused(tmp_path, "no_weights", str(tmp_path))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "ckpt.pt", "model.safetensors"])
def test_a_pickle_is_never_opened(tmp_path, name):
    torch.save({"wte.weight": Bomb(tmp_path / "written")}, tmp_path / name)
    (tmp_path / "config.json").write_text(json.dumps(GPT2), encoding="utf-8")
    refused(tmp_path / name, "pickle", name)
    refused(tmp_path, "pickle", name)
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("kept", [0, 4, 100, 5000, -1])
def test_a_file_that_was_cut_off(tmp_path, kept):
    path = save(tmp_path, TENSORS, GPT2) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    refused(tmp_path, "damaged", "model.safetensors")


def test_no_settings_beside_the_weights(tmp_path):
    save_file(TENSORS, tmp_path / "model.safetensors")
    refused(tmp_path, "no_config", "config.json")


@pytest.mark.parametrize("content", ["{", "[1]", "", "[" * 100_000, '"gpt2"'])
def test_settings_that_are_no_settings(tmp_path, content):
    save(tmp_path, TENSORS, GPT2)
    (tmp_path / "config.json").write_text(content, encoding="utf-8")
    refused(tmp_path, "no_json", "config.json")


def test_several_files_that_nothing_joins(tmp_path):
    for name in ("a", "b"):
        save_file(TENSORS, tmp_path / f"{name}.safetensors")
    refused(tmp_path, "several_weights", "a.safetensors, b.safetensors")


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ({"weight_map": {"wte.weight": "model-1-of-2.safetensors"}}, "shard_missing"),
        ({"weight_map": {"wte.weight": "../other/model.safetensors"}}, "shard_missing"),
        ({"weight_map": ["wte.weight"]}, "no_json"),
        ({"weight_map": {"wte.weight": 3}}, "no_json"),
        ({}, "no_json"),
        ([], "no_json"),
    ],
)
def test_an_index_that_leads_nowhere(tmp_path, index, kind):
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    refused(tmp_path, kind)


@pytest.mark.parametrize(
    ("changed", "kind", "named"),
    [
        ({"model_type": "mamba"}, "architecture", ["mamba", "gpt2", "llama"]),
        ({"model_type": None}, "architecture", []),
        ({"n_head": None}, "setting_missing", ["n_head"]),
        ({"n_head": "3"}, "setting_wrong", ["n_head", '"3"']),
        ({"n_head": True}, "setting_wrong", ["n_head", "true"]),
        ({"n_head": 5}, "setting_impossible", ["24", "5"]),
        ({"n_head": -1}, "setting_impossible", ["-1"]),
        ({"n_layer": 3}, "blocks", ["2", "3"]),
        ({"n_layer": 10**9}, "blocks", ["1,000,000,000"]),
        ({"n_embd": 48}, "tensor_shape", ["wte.weight", "50 × 24", "50 × 48"]),
        ({"vocab_size": 51}, "tensor_shape", ["wte.weight", "51 × 24"]),
        ({"tie_word_embeddings": False}, "tensor_missing", ["lm_head.weight"]),
        ({"activation_function": "swiglu"}, "unsupported", ["activation_function", "swiglu"]),
        ({"add_cross_attention": True}, "unsupported", ["add_cross_attention"]),
        ({"scale_attn_by_inverse_layer_idx": True}, "unsupported", ["inverse_layer_idx"]),
    ],
)
def test_settings_that_gpt2_cannot_have(tmp_path, changed, kind, named):
    refused(save(tmp_path, TENSORS, GPT2 | changed), kind, *named)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"rope_scaling": {"rope_type": "longrope", "factor": 8.0}}, "longrope"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "yarn"),
        ({"rope_scaling": "twice"}, "rope_scaling"),
        ({"model_type": "qwen2", "use_sliding_window": True}, "use_sliding_window"),
        ({"model_type": "mistral", "sliding_window": 15}, "sliding_window = 15"),
        ({"model_type": "mistral", "max_position_embeddings": 4097}, "sliding_window = 4096"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"hidden_act": "relu2"}, "relu2"),
        ({"quantization_config": {"quant_method": "gptq"}}, "gptq"),
    ],
)
def test_what_llama_would_need_and_we_do_not_compute(tmp_path, changed, name):
    path = save(tmp_path, {"model.norm.weight": torch.ones(8)}, LLAMA | changed)
    refused(path, "unsupported", name)


def test_a_missing_tensor(tmp_path):
    tensors = {k: v for k, v in TENSORS.items() if "h.1.mlp" not in k}
    path = save(tmp_path, tensors, GPT2)
    refused(path, "tensor_missing", "h.1.mlp.c_fc.weight", "(+1)")


def test_a_surplus_tensor(tmp_path):
    path = save(tmp_path, TENSORS | {"score.weight": torch.ones(2, 24)}, GPT2)
    refused(path, "tensor_surplus", "score.weight")


def test_a_head_that_should_be_the_embedding_and_is_not(tmp_path):
    path = save(tmp_path, TENSORS | {"lm_head.weight": torch.ones(50, 24)}, GPT2)
    refused(path, "head_differs", "lm_head.weight", "wte.weight")


def test_whole_numbers_are_no_weights(tmp_path):
    tensors = TENSORS | {"transformer.wpe.weight": torch.ones(16, 24, dtype=torch.int8)}
    refused(save(tmp_path, tensors, GPT2), "tensor_type", "wpe.weight", "int8")
