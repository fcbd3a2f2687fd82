"""The sizes of models that were published, to compare with; see their papers."""

from __future__ import annotations

from core.models.config import Config

GPT2 = Config(n_layers=12, n_heads=12, d_model=768, n_vocab=50257, n_ctx=1024)
GPT3 = Config(n_layers=96, n_heads=96, d_model=12288, n_vocab=50257, n_ctx=2048)
