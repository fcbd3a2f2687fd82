"""The network that is trained: GPT-2's architecture, with a softmax that is cheap on a CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    n_layers: int = 6
    n_heads: int = 4
    d_model: int = 160
    d_mlp: int = 640
    n_ctx: int = 256
    n_vocab: int = 50257

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads


def locked_dropout(x: Tensor, p: float, rng: torch.Generator | None) -> Tensor:
    """Drop whole features of a window: one mask for all its positions, nearly free on a CPU."""
    if rng is None:  # not training
        return x
    keep = torch.rand(x.shape[0], 1, x.shape[2], generator=rng) >= p
    return x * (keep.to(x.dtype) / (1 - p))


class Block(nn.Module):
    """x + attention(LayerNorm(x)), then x + mlp(LayerNorm(x)); weights multiply from the right."""

    def __init__(self, s: Shape, p: float) -> None:
        super().__init__()
        self.s, self.p = s, p
        d = s.d_model
        self.ln_1, self.ln_2 = nn.LayerNorm(d, eps=1e-5), nn.LayerNorm(d, eps=1e-5)

        def matrix(rows: int, cols: int, std: float = 0.02) -> nn.Parameter:
            return nn.Parameter(torch.randn(rows, cols) * std)

        residual_std = 0.02 / math.sqrt(2 * s.n_layers)
        self.W_Q, self.W_K, self.W_V = matrix(d, d), matrix(d, d), matrix(d, d)
        self.W_O = matrix(d, d, residual_std)
        self.W_1, self.W_2 = matrix(d, s.d_mlp), matrix(s.d_mlp, d, residual_std)
        self.b_Q, self.b_K, self.b_V, self.b_O, self.b_2 = (
            nn.Parameter(torch.zeros(d)) for _ in range(5)
        )
        self.b_1 = nn.Parameter(torch.zeros(s.d_mlp))

    def forward(self, x: Tensor, mask: Tensor, rng: torch.Generator | None) -> Tensor:
        b, n, d = x.shape
        h = self.ln_1(x)
        w = torch.cat([self.W_Q, self.W_K, self.W_V], 1)
        qkv = h @ w + torch.cat([self.b_Q, self.b_K, self.b_V]).to(w.dtype)
        q, k, v = (
            t.contiguous().flatten(0, 1)
            for t in qkv.view(b, n, 3, self.s.n_heads, self.s.d_head).permute(2, 0, 3, 1, 4)
        )
        # Plain bfloat16 matmuls beat the fused attention kernel on a CPU at this size.
        with torch.autocast("cpu", enabled=False):
            scores = torch.baddbmm(
                mask.to(q.dtype), q, k.transpose(1, 2), alpha=self.s.d_head**-0.5
            )
            heads = (torch.softmax(scores, -1) @ v).view(b, self.s.n_heads, n, self.s.d_head)
        out = heads.transpose(1, 2).reshape(b, n, d) @ self.W_O + self.b_O
        x = x + locked_dropout(out, self.p, rng)
        hidden = F.gelu(self.ln_2(x) @ self.W_1 + self.b_1, approximate="tanh")
        hidden = locked_dropout(hidden, self.p, rng)
        return x + locked_dropout(hidden @ self.W_2 + self.b_2, self.p, rng)


class Net(nn.Module):
    """Works on compact ids 0..n_seen-1; row n_seen is shared by every id that was never seen."""

    def __init__(self, s: Shape, n_seen: int, p: float) -> None:
        super().__init__()
        self.s, self.n_seen, self.p = s, n_seen, p
        self.W_E = nn.Parameter(torch.randn(n_seen + 1, s.d_model) * 0.02)
        self.W_P = nn.Parameter(torch.randn(s.n_ctx, s.d_model) * 0.01)
        self.blocks = nn.ModuleList(Block(s, p) for _ in range(s.n_layers))
        self.ln_f = nn.LayerNorm(s.d_model, eps=1e-5)

    def forward(self, ids: Tensor, rng: torch.Generator | None = None) -> Tensor:
        x = F.embedding(ids, self.W_E) + self.W_P[: ids.shape[1]]
        x = locked_dropout(x, self.p, rng)
        mask = torch.full((ids.shape[1], ids.shape[1]), -1e4).triu(1)
        for block in self.blocks:
            x = block(x, mask, rng)
        return locked_dropout(self.ln_f(x), self.p, rng)

    def log_multiplicity(self) -> Tensor:
        """The shared row counts as often as there are ids behind it: an exact softmax."""
        offset = torch.zeros(self.n_seen + 1)
        offset[-1] = math.log(self.s.n_vocab - self.n_seen)
        return offset

    def score(self, compact: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
        """(ids, next ids) of one window -> loss at each position, over the whole vocabulary."""

        def score(ids: Tensor, targets: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                x = self(compact[ids][None])[0].float()
            offset = self.log_multiplicity()
            t = compact[targets]
            own = (x * self.W_E[t]).sum(
                -1
            )  # of one id: an unseen one has a single share of the shared row
            return torch.logsumexp(x @ self.W_E.T + offset, -1) - own

        return score


def full_loss(x: Tensor, W: Tensor, offset: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy over the whole vocabulary."""
    return FullLoss.apply(x.flatten(0, -2), W, offset, targets.flatten())


class FullLoss(torch.autograd.Function):
    """Exact softmax cross entropy in chunks that stay in the cache, gradients made on the way."""

    @staticmethod
    def forward(ctx, x: Tensor, W: Tensor, offset: Tensor, targets: Tensor) -> Tensor:
        n = x.shape[0]
        xb, Wb = x.detach().bfloat16(), W.detach().bfloat16()
        shift = offset.bfloat16()
        dx, dW = torch.empty_like(xb), torch.zeros_like(W)
        total = torch.zeros(())
        for i in range(0, n, 256):
            rows, t = xb[i : i + 256], targets[i : i + 256, None]
            logits = torch.addmm(shift, rows, Wb.T)
            p = torch.softmax(logits, -1)
            total -= p.gather(1, t).float().clamp_min(1e-30).log().sum()
            p.scatter_add_(1, t, torch.full_like(t, -1, dtype=p.dtype))
            torch.mm(p, Wb, out=dx[i : i + 256])
            dW += p.T @ rows
        ctx.save_for_backward(dx.float() / n, dW / n)
        return total / n

    @staticmethod
    def backward(ctx, grad: Tensor):
        dx, dW = ctx.saved_tensors
        return grad * dx, grad * dW, None, None
