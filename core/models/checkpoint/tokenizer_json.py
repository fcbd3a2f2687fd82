"""Tokenizers from Hugging Face's tokenizer.json, where they are byte-level BPE.

Only what is understood is taken: any other normalizer, pre-tokenizer or option would give other
IDs. Format: huggingface/tokenizers, `Tokenizer.from_file`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from core.models.checkpoint.error import CheckpointError
from core.models.checkpoint.merges import BYTES, tokenizer
from core.models.gpt2_tokenizer import GPT2_PATTERN
from core.models.merge_list import (
    LLAMA3_PATTERN,
    QWEN2_PATTERN,
    SINGLE_DIGITS,
    MergeListTokenizer,
    Rules,
)

# What the options of a model of type BPE have to be, unless absent.
PLAIN = {
    "dropout": (None, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
}


def from_tokenizer_json(
    path: Path, n_vocab: int | None = None, stop_ids: Iterable[int] = ()
) -> MergeListTokenizer:
    """The tokenizer of the file.

    n_vocab: how many IDs the model has. stop_ids: the tokens that end a text, which other files
    name. Raises CheckpointError for a file that is damaged or of another kind.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _read(content, n_vocab, stop_ids)
    except CheckpointError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError("no_json", file=path.name, reason=repr(error)) from error


def _read(content: dict, n_vocab: int | None, stop_ids: Iterable[int]) -> MergeListTokenizer:
    model, added = content["model"], content["added_tokens"]
    if model["type"] != "BPE":
        raise _unknown(model["type"])
    for option, harmless in PLAIN.items():
        if model.get(option) not in harmless:
            raise _unknown(f"{option} = {model[option]!r}")
    special = {token["content"]: token["id"] for token in added}
    if model.get("unk_token") and not BYTES.keys() <= model["vocab"].keys():
        raise _unknown(f"unk_token = {model['unk_token']!r}")
    rules = Rules(
        patterns=_patterns(content["pre_tokenizer"]),
        composed=_composed(content["normalizer"]),
        whole_first=model.get("ignore_merges") or False,
    )
    merges = (merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"])
    begin = special.get(_begin(content.get("post_processor")))
    return tokenizer(model["vocab"], merges, rules, special, n_vocab, stop_ids, begin)


def _composed(normalizer: dict | None) -> bool:
    if normalizer is None:
        return False
    if normalizer["type"] == "Sequence":
        return any([_composed(part) for part in normalizer["normalizers"]])
    if normalizer["type"] != "NFC":
        raise _unknown(normalizer["type"])
    return True


def _patterns(pre_tokenizer: dict | None) -> tuple[str, ...]:
    """The patterns that cut the text, one after the other; the last step must go over to bytes."""
    steps = _flat(pre_tokenizer) if pre_tokenizer else []
    if not steps or steps[-1]["type"] != "ByteLevel":
        raise _unknown(steps[-1]["type"] if steps else "no pre_tokenizer")
    return tuple(pattern for step in steps if (pattern := _pattern(step)))


def _flat(step: dict) -> list[dict]:
    if step["type"] != "Sequence":
        return [step]
    return [part for inner in step["pretokenizers"] for part in _flat(inner)]


def _pattern(step: dict) -> str | None:
    match step:
        case {"type": "Digits", "individual_digits": True}:
            return SINGLE_DIGITS
        case {"type": "ByteLevel", "add_prefix_space": False}:
            return GPT2_PATTERN if step.get("use_regex", True) else None
        case {
            "type": "Split",
            "pattern": {"Regex": str(pattern)},
            "behavior": "Isolated",
            "invert": False,
        } if pattern in (LLAMA3_PATTERN, QWEN2_PATTERN):
            return pattern
    raise _unknown(json.dumps(step, ensure_ascii=False)[:120])


def _begin(post_processor: dict | None) -> str | None:
    """The special token that the file puts before every text."""
    match post_processor:
        case {"type": "Sequence", "processors": steps}:
            return next(filter(None, map(_begin, steps)), None)
        case {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": token}}, *_]}:
            return token
    return None


def _unknown(found: str) -> CheckpointError:
    return CheckpointError("tokenizer_kind", found=found)
