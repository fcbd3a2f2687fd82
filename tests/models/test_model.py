"""A model's weights and prompts: what is refused, in words that say what to do."""

import numpy as np
import pytest
import torch

import core
from core.models.config import Config
from core.models.model import Model
from core.models.tokenizer import WordTokenizer
from tests.support.close import same_bits
from tests.support.random_models import IDS, SMALL, build, random_model, random_tensors
from tests.support.subjects import example

CONFIG = Config(**SMALL)
WORDS = WordTokenizer([f"w{i}" for i in range(CONFIG.n_vocab)])


def made_of(tensors) -> Model:
    return Model("test", CONFIG, tensors, WORDS, torch.device("cpu"), torch.float32)


def without(name: str) -> dict:
    return {key: value for key, value in random_tensors(CONFIG).items() if key != name}


def test_a_missing_weight_is_named():
    with pytest.raises(core.WeightsError, match=r"blocks\.1\.attn\.W_O is missing"):
        made_of(without("blocks.1.attn.W_O"))


def test_a_surplus_weight_is_named():
    tensors = random_tensors(CONFIG) | {"blocks.2.attn.W_O": torch.zeros(16, 16)}
    with pytest.raises(core.WeightsError, match=r"blocks\.2\.attn\.W_O is not part"):
        made_of(tensors)


def test_an_unembedding_of_a_tied_model_is_surplus():
    tensors = random_tensors(CONFIG) | {"unembed.W_U": torch.zeros(16, 29)}
    with pytest.raises(core.WeightsError, match=r"unembed\.W_U is not part"):
        made_of(tensors)


def test_a_misshaped_weight_is_named_with_both_shapes():
    tensors = random_tensors(CONFIG) | {"blocks.0.mlp.W_1": torch.zeros(64, 16)}
    message = r"mlp\.W_1 is \(64, 16\); d_model × d_mlp would be \(16, 64\)"
    with pytest.raises(core.WeightsError, match=message):
        made_of(tensors)


def test_all_problems_are_named_at_once():
    tensors = without("ln_f.gamma") | {"ln_f.beta": torch.zeros(3), "ln_g.gamma": torch.zeros(3)}
    with pytest.raises(core.WeightsError) as error:
        made_of(tensors)
    assert str(error.value).count("ln_") == 3


def test_stored_half_precision_is_computed_in_the_dtype_of_the_model():
    tensors = {name: value.half() for name, value in random_tensors(CONFIG).items()}
    model = made_of(tensors)
    assert {weight.dtype for weight in model.weights.values()} == {torch.float32}
    assert torch.equal(model.weights["embed.W_E"], tensors["embed.W_E"].float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_everything_computed_has_the_dtype_of_the_model(dtype):
    trace = random_model("llama", dtype).trace(IDS)
    others = {"tokens.ids": torch.int64, "tokens.positions": torch.int64}
    others["embed.onehot"] = torch.uint8
    assert {name: trace[name].dtype for name in trace.steps} == {
        name: others.get(name, dtype) for name in trace.steps
    }


@pytest.mark.parametrize("prompt", ["", "   ", "\n\t", []], ids=repr)
def test_an_empty_prompt_is_refused(prompt):
    with pytest.raises(core.EmptyPrompt, match="at least one"):
        example("block").trace(prompt)


def test_a_full_context_is_taken():
    model = build()
    assert model.trace([0] * 12)["logits"].shape == (12, 29)


@pytest.mark.parametrize("method", ["trace", "forward"])
def test_one_token_more_is_refused_with_both_numbers(method):
    with pytest.raises(core.ContextTooLong, match=r"13 tokens.*12"):
        getattr(build(), method)([0] * 13)


def test_fit_keeps_the_last_ids():
    model = build()
    assert model.fit(list(range(15))) == (list(range(3, 15)), 3)
    assert model.fit([7, 8]) == ([7, 8], 0)


@pytest.mark.parametrize("wrong", [29, 1000, -1])
def test_an_id_outside_the_vocabulary_is_refused(wrong):
    with pytest.raises(core.UnknownId, match=rf"{wrong}.*0 to 28"):
        build().trace([0, wrong])


def test_an_unknown_word_is_refused():
    with pytest.raises(core.UnknownWord, match="빵을"):
        example("block").trace("나는 빵을")


@pytest.mark.parametrize("error", [core.EmptyPrompt, core.ContextTooLong, core.UnknownId])
def test_refusals_are_value_errors(error):
    assert issubclass(error, ValueError)


def test_ids_may_come_from_numpy_and_torch_and_become_integers():
    model = build()
    for ids in (np.array(IDS), torch.tensor(IDS), tuple(IDS)):
        trace = model.trace(ids)
        assert trace.ids == IDS
        assert {type(i) for i in trace.ids} == {int}
        assert same_bits(trace["logits"], model.trace(IDS)["logits"])


@pytest.mark.parametrize("ids", [[0.5], [1.0], ["w1"], [None]], ids=repr)
def test_ids_that_are_no_integers_are_refused(ids):
    with pytest.raises(TypeError):
        build().trace(ids)


def test_unknown_model_lists_those_there_are():
    with pytest.raises(core.UnknownModel, match=r"'gpt5'.*bundled.*worked-example"):
        core.load("gpt5")


def test_unknown_preset_lists_those_there_are():
    with pytest.raises(ValueError, match=r"'part-9'.*part-1, part-2"):
        core.load("worked-example", preset="part-9")


def test_unknown_setting_is_named():
    with pytest.raises(core.ConfigError, match="no setting called heads"):
        core.load("worked-example", heads=3)


def test_settings_override_a_preset():
    model = core.load("worked-example", preset="part-2", causal=True, device="cpu")
    assert model.config.causal
    assert model.preset == "part-2"


def test_a_model_can_be_loaded_with_another_dtype():
    model = core.load("worked-example", dtype=torch.float32, device="cpu")
    assert model.trace([0])["logits"].dtype == torch.float32


def test_a_vocabulary_without_words_is_refused():
    with pytest.raises(core.ConfigError, match="has 12 words, not 13"):
        core.load("worked-example", n_vocab=13)
