"""GPT-2 in CTranslate2, float32."""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel


def greedy(gpt2: GPT2LMHeadModel) -> Callable[[list[int], int], list[int]]:
    """From a prompt and a number to as many token IDs, each the likeliest."""
    import ctranslate2
    from ctranslate2.converters.transformers import GPT2Loader

    loader = GPT2Loader()
    spec = loader.get_model_spec(gpt2)
    names = [f"token {i}" for i in range(gpt2.config.vocab_size)]
    loader.set_vocabulary(spec, names)
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = names[-1]
    with TemporaryDirectory() as folder:
        spec.validate()
        spec.optimize()
        spec.save(folder)
        generator = ctranslate2.Generator(
            folder, compute_type="float32", intra_threads=torch.get_num_threads()
        )

    def work(prompt: list[int], n_new: int) -> list[int]:
        found = generator.generate_batch(
            [[names[i] for i in prompt]],
            max_length=n_new,
            min_length=n_new,
            include_prompt_in_result=False,
        )
        return found[0].sequences_ids[0]

    return work
