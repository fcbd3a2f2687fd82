"""GPT-2 in ONNX Runtime with every step as an output, as somebody would export it to see inside."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel


class Steps(nn.Module):
    """A transformers GPT-2 written out once more, so that each of its steps can be returned.

    Norms and GELU are single ops and attention has fixed shapes, which is what the runtime
    optimizes best.
    """

    def __init__(self, gpt2: GPT2LMHeadModel, n_tokens: int) -> None:
        super().__init__()
        self.gpt2, self.n_heads = gpt2.transformer, gpt2.config.n_head
        self.register_buffer("positions", torch.arange(n_tokens))
        self.register_buffer("later", torch.ones(n_tokens, n_tokens, dtype=torch.bool).triu(1))

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """ids [pos] -> 16 steps a block and 5 around them, logits [pos, vocab] last."""
        token, position = self.gpt2.wte(ids), self.gpt2.wpe(self.positions)
        stream = token + position
        found = [token, position, stream]
        for block in self.gpt2.h:
            steps = self.block(block, stream)
            stream = steps[-1]
            found += steps
        final = self.gpt2.ln_f(stream)
        return (*found, final, final @ self.gpt2.wte.weight.T)

    def block(self, block: nn.Module, stream: Tensor) -> list[Tensor]:
        ln_1 = block.ln_1(stream)
        q, k, v = (self.heads(part) for part in block.attn.c_attn(ln_1).chunk(3, dim=-1))
        scores = q @ k.transpose(1, 2)
        scaled = scores / q.shape[-1] ** 0.5
        masked = scaled.masked_fill(self.later, -torch.inf)
        weights = masked.softmax(-1)
        heads = weights @ v
        attn_out = block.attn.c_proj(heads.permute(1, 0, 2).flatten(1))
        resid_mid = stream + attn_out
        ln_2 = block.ln_2(resid_mid)
        hidden = block.mlp.c_fc(ln_2)
        act = F.gelu(hidden, approximate="tanh")
        mlp_out = block.mlp.c_proj(act)
        attention = [ln_1, q, k, v, scores, scaled, masked, weights, heads, attn_out, resid_mid]
        return [*attention, ln_2, hidden, act, mlp_out, resid_mid + mlp_out]

    def heads(self, x: Tensor) -> Tensor:
        return x.unflatten(1, (self.n_heads, -1)).permute(1, 0, 2)


def capture(gpt2: GPT2LMHeadModel, n_tokens: int) -> Callable[[list[int]], list[np.ndarray]]:
    """From token IDs to the values of all steps, for prompts of that length."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(exported(gpt2, n_tokens), options)
    return lambda ids: session.run(None, {"ids": np.array(ids)})


def exported(gpt2: GPT2LMHeadModel, n_tokens: int) -> bytes:
    """The model in ONNX's format."""
    file = io.BytesIO()
    ids = torch.zeros(n_tokens, dtype=torch.long)
    with torch.no_grad():
        torch.onnx.export(
            Steps(gpt2, n_tokens).eval(),
            (ids,),
            file,
            input_names=["ids"],
            opset_version=20,  # the first that knows GELU
            dynamo=False,
        )
    return file.getvalue()
