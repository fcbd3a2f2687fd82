"""GPT-2's tokenizer, tiktoken with the same table as its oracle, text that breaks tokenizers."""

import tiktoken
from hypothesis import settings
from hypothesis import strategies as st
from tiktoken_ext.openai_public import r50k_pat_str

from core.models.gpt2_tokenizer import gpt2_tokenizer, load_ranks

GPT2 = gpt2_tokenizer()
RANKS = load_ranks()
TIKTOKEN = tiktoken.Encoding(
    "oracle",
    pat_str=r50k_pat_str,
    mergeable_ranks=RANKS,
    special_tokens={"<|endoftext|>": 50256},
    explicit_n_vocab=50257,
)

# What breaks tokenizers: joined emoji, flags, conjoining jamo, stacked marks, controls, spaces.
# The last line holds half emoji, and characters newer than tiktoken's Unicode tables.
HARD = [
    *("'s", "'t", "'ll", "'ve", "'S", "’s", "!!", "<|", "|>", "  ", "\r\n", " a"),
    *"aBzéß한글각漢字العहिन् \u1112\u1161\u11ab 1²٣½Ⅷ '.,_-€ \n\t\x0b\x85\xa0\u2003\u3000\u2028",
    *"😀👨👩🏽🇰🇷❤\ufe0f\u200d\ufeff\u202e\u0300\u0301\u0308\x00\x01\x1c\x7f\xad",
    *"\ufffd\ud83d\ude00\u0558\u088f\U00011de0\U0003fc3f",
]
anything = st.text(st.characters()) | st.lists(st.sampled_from(HARD)).map("".join)
often = settings(max_examples=600, deadline=None, derandomize=True, database=None)


def explained(text: str) -> list[int]:
    return [token_id for piece in GPT2.explain(text) for token_id in piece.ids]


def without_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
