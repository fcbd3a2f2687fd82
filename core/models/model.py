"""A model that can be asked: config, weights and tokenizer together."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from core.graph import Edits, PlainForward, Recent, Scope, Trace, merged
from core.models.config import Config
from core.models.gpt import gpt, graph_of
from core.models.tokenizer import Tokenizer
from core.models.weights import adapt, prepare

if TYPE_CHECKING:
    from core.generate.generate import GenerationStep


# Bytes of what was looked at last in all long prompts together: the scores and shares of one block
# of GPT-2 small with 1,024 tokens are 200 MB.
RECENT = 200 * 2**20


class PromptError(ValueError):
    """A prompt that a model cannot take."""


class EmptyPrompt(PromptError):
    """No token at all."""


class ContextTooLong(PromptError):
    """More tokens than the model has positions for."""


@dataclass(frozen=True)
class Candidate:
    """One token that may come next."""

    id: int
    text: str
    logit: float
    prob: float


class Cache(Protocol):
    """Keys and values of earlier tokens; see `core.generate.cache.KVCache`."""

    def __len__(self) -> int: ...

    def values(self) -> dict[str, Tensor]: ...


class PromptTrace(Trace):
    """A trace that also knows its text.

    ids: the token IDs. tokens: a readable piece each, a leading space included. n_past: how many
    tokens precede them in a cache. A decode step that is edited or switched reads the same cache,
    whose keys and values stay as they were.
    """

    def __init__(
        self,
        model: Model,
        ids: Sequence[int],
        edits: Edits | None = None,
        base: PromptTrace | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.model = model
        self.ids = list(ids)
        self.tokens = [model.tokenizer.token_text(token_id) for token_id in self.ids]
        if cache:
            self.n_past, self._past = len(cache), cache.values()
        else:
            self.n_past, self._past = (base.n_past, base._past) if base else (0, {})
        graph = graph_of(model.config, cached=True) if self.n_past else model.graph
        inputs = model.inputs(self.ids, self.n_past) | self._past
        sizes = model.sizes(len(self.ids), self.n_past)
        super().__init__(
            graph, inputs, model.weights, sizes, edits=edits, base=base, recent=model.recent
        )

    def edit(self, edits: Edits) -> PromptTrace:
        """The same prompt with elements of weights or steps set by hand, on top of earlier edits.

        edits: {name: {index: value}}; None in an index stands for all of that axis. Only what the
        edits reach is computed again. Raises EditError.
        """
        return PromptTrace(self.model, self.ids, merged(self.edits, edits), base=self)

    def switch(self, **settings: object) -> PromptTrace:
        """The same prompt and edits with other config settings, as `scaled=False`.

        Edits of a step or weight that the other model lacks are left out. Raises what
        `Model.switch` raises.
        """
        model = self.model.switch(**settings)
        names = model.graph.steps.keys() | model.weights.keys()
        edits = {name: changes for name, changes in self.edits.items() if name in names}
        return PromptTrace(model, self.ids, edits, base=self)

    def reread(self, prompt: str | Sequence[int]) -> PromptTrace:
        """Another prompt through the same weights, the edited ones among them.

        Edits of steps belong to this prompt and stay behind. Raises what `Model.trace` raises.
        """
        edits = {name: changes for name, changes in self.edits.items() if name in self.weights}
        trace = self.model.trace(prompt)
        return trace.edit(edits) if edits else trace

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.ids)

    @property
    def next_probs(self) -> Tensor:
        """The probability of every token to come after the last, [vocab]."""
        with torch.inference_mode():
            return torch.softmax(self.row("logits"), dim=-1)

    def top(self, k: int = 10, pos: int = -1) -> list[Candidate]:
        """The `k` most probable tokens after position `pos`, the likeliest first."""
        logits = self.row("logits", pos)
        with torch.inference_mode():
            probs = torch.softmax(logits, dim=-1)
            values, ids = probs.topk(min(k, len(probs)))
        return [
            Candidate(i, self.model.tokenizer.token_text(i), logits[i].item(), prob)
            for i, prob in zip(ids.tolist(), values.tolist(), strict=True)
        ]


class Model:
    """A GPT with its weights on a device.

    key, preset, size: what it was loaded as. weights: read-only, by name; per-head matrices are
    [head, d_model, d_head]. dtype: of the weights and of everything computed.
    """

    def __init__(
        self,
        key: str,
        config: Config,
        tensors: Mapping[str, Tensor],
        tokenizer: Tokenizer,
        device: torch.device,
        dtype: torch.dtype,
        preset: str | None = None,
        default_prompt: str = "",
        size: str = "",
    ) -> None:
        """Copies `tensors`, except read-only ones; see `core.models.weights.prepare`.

        Raises WeightsError if they are not exactly what `config` asks for.
        """
        self.key = key
        self.preset = preset
        self.size = size
        self.config = config
        self.tokenizer = tokenizer
        self.device = device
        self.dtype = dtype
        self.default_prompt = default_prompt
        self.graph = graph_of(config)
        self.recent = Recent(RECENT)
        self.weights = prepare(tensors, self.graph, config.sizes(), device, dtype)

    @property
    def variant(self) -> str:
        """Which form of the model of its key it is, "" for the usual one.

        The preset, and the size if that is another; "bfloat16" if it is computed in that.
        """
        rough = "bfloat16" if self.dtype == torch.bfloat16 else None
        return "~".join(filter(None, (self.preset, self.size, rough)))

    def trace(self, prompt: str | Sequence[int]) -> PromptTrace:
        """All steps for a prompt, each computed when it is looked at.

        prompt: text, or token IDs. Raises EmptyPrompt, ContextTooLong (see `fit`), and the
        tokenizer's UnknownWord and UnknownId.
        """
        ids = self._ids(prompt)
        return PromptTrace(self, ids)

    def switch(self, **settings: object) -> Model:
        """The same weights under other settings, as `norm_placement="post"`; nothing is copied.

        A norm that the model did not have starts with gamma 1 and beta 0, a bias with 0. Raises
        ConfigError for impossible settings, WeightsError for those that ask for other weights.
        """
        switched = copy(self)
        switched.config = replace(self.config, **settings)
        switched.graph = graph_of(switched.config)
        switched.weights = adapt(self.weights, switched.graph, switched.config.sizes())
        return switched

    def forward(self, prompt: str | Sequence[int]) -> Tensor:
        """The logits [pos, vocab], computed by the model's code directly, without a trace."""
        ids = self._ids(prompt)
        with torch.inference_mode():
            return gpt(Scope(PlainForward(self.inputs(ids), self.weights)), self.config).value

    def decode(self, ids: Sequence[int], cache: Cache) -> PromptTrace:
        """The steps for tokens that continue those in `cache`, which is only read.

        Raises EmptyPrompt, ContextTooLong, UnknownId, and ValueError for a model that is not
        causal: there a later token would change what is cached.
        """
        if not self.config.causal:
            raise ValueError("Only a causal model can go on from a cache.")
        ids = self._ids(ids, len(cache))
        return PromptTrace(self, ids, cache=cache if len(cache) else None)

    def generate(
        self, prompt: str | Sequence[int], max_new_tokens: int, *, seed: int = 0, **sampling: object
    ) -> Iterator[GenerationStep]:
        """Token by token after `prompt`; see `core.generate.generate`."""
        from core.generate.generate import generate  # it builds on this module

        return generate(self, prompt, max_new_tokens, seed=seed, **sampling)

    def fit(self, ids: Sequence[int]) -> tuple[list[int], int]:
        """The last n_ctx of `ids`, and how many were cut from the front."""
        n_cut = max(0, len(ids) - self.config.n_ctx)
        return list(ids[n_cut:]), n_cut

    def inputs(self, ids: Sequence[int], n_past: int = 0) -> dict[str, Tensor]:
        """Token IDs and their positions, which come from outside; `n_past` tokens precede them."""
        with torch.inference_mode():
            return {
                "tokens.ids": torch.tensor(ids, device=self.device),
                "tokens.positions": torch.arange(n_past, n_past + len(ids), device=self.device),
            }

    def sizes(self, n_tokens: int, n_past: int = 0) -> dict[str, int]:
        """The length of every axis word for `n_tokens` after `n_past` others."""
        tokens = {"pos": n_tokens, "query": n_tokens, "past": n_past, "key": n_past + n_tokens}
        return self.config.sizes() | tokens

    def _ids(self, prompt: str | Sequence[int], n_past: int = 0) -> list[int]:
        if isinstance(prompt, str):
            ids = self.tokenizer.prompt_ids(prompt)
        else:
            ids = [operator.index(token_id) for token_id in prompt]  # of numpy or torch, too
        if not ids:
            raise EmptyPrompt("The prompt has no token; a model needs at least one.")
        self.tokenizer.decode(ids)  # refuses IDs outside the vocabulary before torch sees them
        if n_past + len(ids) > self.config.n_ctx:
            raise ContextTooLong(
                f"The prompt has {n_past + len(ids)} tokens, and this model has "
                f"{self.config.n_ctx} positions. `fit` keeps the last ones."
            )
        return ids
