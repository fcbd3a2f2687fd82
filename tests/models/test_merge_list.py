"""Tokenizers from tokenizer.json, against the library that trained and wrote them, `tokenizers`."""

import json
from itertools import chain

import pytest
from hypothesis import example, given

from core.models.checkpoint import CheckpointError
from core.models.checkpoint.tokenizer_json import from_tokenizer_json
from tests.support import trained_tokenizers as trained
from tests.support.tokenizers import anything, often

LACKING = b"\x04q\xf1"


@pytest.fixture(scope="module", params=[*trained.PRE_TOKENIZERS, "smollm2 lacking bytes"])
def pair(request, tmp_path_factory):
    """Ours, and theirs without special tokens."""
    kind, _, lacking = request.param.partition(" ")
    theirs = trained.train(kind, LACKING if lacking else b"")
    path = trained.save(theirs, tmp_path_factory.mktemp(kind) / "tokenizer.json")
    return from_tokenizer_json(path), trained.plain(theirs)


@often
@given(text=anything)
@example("I'm HE'LL it'ſ ’s 1234567 x2²½Ⅷ")
@example("<|endoftext|><|start|>a<｜문장｜>")
@example("a\x04b \x04 sq\U00040000uat")
@example("  \n \r\n\n\t x \x85\xa0\u2028 ")
@example("e\u0301 \u1112\u1161\u11ab")
def test_ids_and_text_are_those_of_tokenizers(pair, text):
    own, theirs = pair
    text = trained.known(text)
    expected = theirs.encode(text)
    assert own.encode(text) == expected.ids
    assert own.decode(expected.ids) == theirs.decode(expected.ids)
    pieces = own.explain(text)
    assert list(chain.from_iterable(piece.ids for piece in pieces)) == expected.ids


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """The tokenizer that they trained, and a folder for its files."""
    return trained.train("smollm2"), tmp_path_factory.mktemp("files")


def test_a_special_token_typed_by_a_person_is_ordinary_text(smollm2):
    own = from_tokenizer_json(trained.save(smollm2[0], smollm2[1] / "special.json"))
    ids = own.encode("<|endoftext|>")
    assert len(ids) > 3 and own.decode(ids) == "<|endoftext|>"
    assert not set(ids) & {0, 1, 2}
    assert [own.token_text(i) for i in range(3)] == trained.SPECIAL
    assert own.end_of_text_id == 0


def test_numbers_are_cut_into_digits(smollm2):
    own = from_tokenizer_json(trained.save(smollm2[0], smollm2[1] / "digits.json"))
    assert [piece.text for piece in own.explain("x 123 y")] == ["x", " ", "1", "2", "3", " y"]


def test_merges_are_those_of_the_list(smollm2):
    """Each step joins the pair whose place in the file is lowest among the pairs there are."""
    path = trained.save(smollm2[0], smollm2[1] / "merges.json")
    merges = json.loads(path.read_text())["model"]["merges"]
    steps = list(from_tokenizer_json(path).explain_piece(b" father").steps())
    assert steps[-1].result == b" father"
    for step in steps:
        parts = [part.decode().replace(" ", "Ġ") for part in step.parts]
        pairs = [[parts[i], parts[i + 1]] for i in range(len(parts) - 1)]
        ranks = [merges.index(pair) if pair in merges else len(merges) for pair in pairs]
        assert (step.rank, step.index) == (min(ranks), ranks.index(min(ranks)))


def test_merges_may_be_written_as_pairs_or_as_text(smollm2):
    content = json.loads(smollm2[0].to_str())["model"]
    as_text = content | {"merges": [" ".join(pair) for pair in content["merges"]]}
    own = from_tokenizer_json(trained.save(*named(smollm2, "pairs.json")))
    again = from_tokenizer_json(trained.save(*named(smollm2, "text.json"), model=as_text))
    assert own.encode("the father's 12") == again.encode("the father's 12")


def test_a_token_before_every_text_is_known(tmp_path):
    own = from_tokenizer_json(trained.save(trained.train("llama3"), tmp_path / "begin.json"))
    assert own.begin_id == 1
    assert own.encode("a") == trained.plain(trained.train("llama3")).encode("a").ids


def test_the_ids_of_a_larger_embedding_have_names(smollm2):
    n = smollm2[0].get_vocab_size()
    own = from_tokenizer_json(trained.save(*named(smollm2, "more.json")), n + 2, [1, n + 9])
    assert own.n_vocab == n + 2
    assert own.token_text(n) == f"<unused {n}>"
    assert own.stop_ids == {0, 1}


def named(smollm2, name):
    return smollm2[0], smollm2[1] / name


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
REFUSED = {
    "another model": ({"model": {"type": "Unigram"}}, "Unigram"),
    "another normalizer": ({"normalizer": {"type": "Lowercase"}}, "Lowercase"),
    "no cut to bytes": ({"pre_tokenizer": {"type": "Metaspace"}}, "Metaspace"),
    "no cut at all": ({"pre_tokenizer": None}, "no pre_tokenizer"),
    "a space put before": (
        {"pre_tokenizer": BYTE_LEVEL | {"add_prefix_space": True}},
        "add_prefix_space",
    ),
    "another pattern": (
        {
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {
                        "type": "Split",
                        "pattern": {"Regex": r"\\w+"},
                        "behavior": "Isolated",
                        "invert": False,
                    },
                    BYTE_LEVEL,
                ],
            }
        },
        "Split",
    ),
}


def refused(path, kind, named, **expected):
    with pytest.raises(CheckpointError) as caught:
        from_tokenizer_json(path, **expected)
    assert caught.value.kind == kind
    assert named in str(caught.value)


@pytest.mark.parametrize("what", REFUSED)
def test_another_kind_of_tokenizer_is_refused(smollm2, what):
    changes, named_in_it = REFUSED[what]
    path = trained.save(*named(smollm2, "refused.json"), **changes)
    refused(path, "tokenizer_kind", named_in_it)


@pytest.mark.parametrize(
    "option", [{"byte_fallback": True}, {"dropout": 0.1}, {"end_of_word_suffix": "</w>"}]
)
def test_an_option_that_changes_the_ids_is_refused(smollm2, option):
    model = json.loads(smollm2[0].to_str())["model"] | option
    path = trained.save(*named(smollm2, "option.json"), model=model)
    refused(path, "tokenizer_kind", next(iter(option)))


def test_a_token_that_is_not_written_in_bytes_is_refused(smollm2):
    model = json.loads(smollm2[0].to_str())["model"]
    model["vocab"]["▁the"] = len(model["vocab"])
    path = trained.save(*named(smollm2, "piece.json"), model=model)
    refused(path, "tokenizer_kind", "▁the")


def test_a_merge_into_no_token_is_refused(smollm2):
    model = json.loads(smollm2[0].to_str())["model"]
    del model["vocab"]["Ġfather"]
    path = trained.save(*named(smollm2, "merge.json"), model=model)
    refused(path, "merge_unknown", " f + ather")


def test_more_tokens_than_the_model_has_are_refused(smollm2):
    path = trained.save(*named(smollm2, "many.json"))
    refused(path, "vocabulary_size", "1,200", n_vocab=1199)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model": {"type": "BPE"}}', "[" * 9999])
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / "tokenizer.json").write_text(text)
    refused(tmp_path / "tokenizer.json", "no_json", "tokenizer.json")
