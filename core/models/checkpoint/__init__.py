"""Published models: their files, their names for things, and how they become ours.

`folder` opens a folder or a file; `hub` brings one from the Hugging Face hub; `gpt2` and `llama`
know the names and layouts of their architectures; `stored` reads and checks tensors; `gguf_model`
opens a GGUF file; `tokenizer_json` and `merges` make tokenizers. Whatever is
wrong is a `CheckpointError` with one sentence. Nothing is ever unpickled, and no code that comes
with a model is run.
"""

from core.models.checkpoint.error import CheckpointError

__all__ = ["CheckpointError"]
