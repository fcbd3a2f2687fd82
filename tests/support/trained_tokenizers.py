"""Small byte-level BPE tokenizers of several kinds, trained here by Hugging Face's `tokenizers`."""

import json
import unicodedata
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from core.models.assets import ASSETS
from tests.support.tokenizers import HARD, without_surrogates

SPECIAL = ["<|endoftext|>", "<|start|>", "<｜문장｜>"]
# As the published files of these models have it.
LLAMA3_REGEX = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_REGEX = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def bytes_after(*steps: pre_tokenizers.PreTokenizer, use_regex: bool = False):
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
    return pre_tokenizers.Sequence([*steps, byte_level])


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False)


PRE_TOKENIZERS = {
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "smollm2": bytes_after(pre_tokenizers.Digits(individual_digits=True), use_regex=True),
    "llama3": bytes_after(split(LLAMA3_REGEX)),
    "qwen2": bytes_after(split(QWEN2_REGEX)),
}


def train(kind: str, without: bytes = b"") -> Tokenizer:
    """A tokenizer of that kind with about a thousand tokens, without some of the 256 bytes."""
    found = Tokenizer(BPE(ignore_merges=kind == "llama3"))
    found.pre_tokenizer = PRE_TOKENIZERS[kind]
    found.decoder = decoders.ByteLevel()
    if kind == "qwen2":
        found.normalizer = normalizers.NFC()
    if kind == "llama3":
        found.post_processor = processors.TemplateProcessing(
            single="<|start|> $A", special_tokens=[("<|start|>", 1)]
        )
    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    alphabet -= {symbol(byte) for byte in without}
    trainer = BpeTrainer(vocab_size=1200, special_tokens=SPECIAL, initial_alphabet=sorted(alphabet))
    text = (ASSETS / "bundled" / "heldout.txt").read_text(encoding="utf-8")
    hard = without_surrogates("".join(HARD))
    texts = [text, hard * 3, "밥을 먹었다. 물을 마셨다. " * 9, "x = 12345 + 678;\n\n\tif\r\n" * 9]
    found.train_from_iterator([drop(text, without) for text in texts], trainer)
    return found


def symbol(byte: int) -> str:
    """The character that stands for a byte in the files."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if byte < 0x80:
        return byte_level.pre_tokenize_str(chr(byte))[0][0]
    return byte_level.pre_tokenize_str(chr(byte))[0][0][-1] if byte < 0xC0 else chr(byte)


def drop(text: str, without: bytes) -> str:
    return "".join(char for char in text if not set(char.encode()) & set(without))


def known(text: str) -> str:
    """The text without surrogates, and without characters so new that libraries of different years
    disagree on what they are.
    """
    return "".join(c for c in without_surrogates(text) if unicodedata.category(c) != "Cn")


def save(tokenizer: Tokenizer, path: Path, **changes: object) -> Path:
    """tokenizer.json with some of its parts replaced."""
    content = json.loads(tokenizer.to_str()) | changes
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """The same without special tokens: then their names are text like any other."""
    content = json.loads(tokenizer.to_str()) | {"added_tokens": [], "post_processor": None}
    return Tokenizer.from_str(json.dumps(content))


def merges(tokenizer: Tokenizer) -> list[str]:
    """Its merges, each as two parts with a space between."""
    return [" ".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
