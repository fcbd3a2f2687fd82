"""What models are called, what is said about them, and why one cannot be had."""

from __future__ import annotations

from pathlib import Path

from core.models import catalogue
from core.models.catalogue import ModelEntry
from core.models.checkpoint import CheckpointError
from core.models.id_tokenizer import IdTokenizer
from core.models.model import Model
from core.view.texts import Text


def title(t: Text, key: str) -> str:
    """The name of a model: in the reader's language if it is ours, its own if it is not."""
    entry = catalogue.entry(key)
    if entry is None:
        return Path(key).name or key
    return entry.title if entry.source else t(f"models.{key}.title")


def says(t: Text, model: Model) -> list[str]:
    """A sentence or a few about the model that is shown."""
    entry = catalogue.entry(model.key)
    if entry is None:
        said = [t("models.file", path=model.key)]
    elif entry.source:
        said = [t("models.hub", parameters=entry.parameters, licence=entry.licence)]
    else:
        said = [t(f"models.{model.key}.says")]
    if isinstance(model.tokenizer, IdTokenizer):
        said.append(t("models.ids", last=model.config.n_vocab - 1))
        if isinstance(model.tokenizer.why, CheckpointError):
            said.append(why_not(t, model.tokenizer.why))
    return said


def offer(t: Text, entry: ModelEntry) -> str:
    """What somebody should know before fetching a model."""
    return t(
        "more.offer",
        download=bytes_in_words(entry.download),
        memory=bytes_in_words(entry.memory),
        licence=entry.licence,
        source=entry.source,
        parameters=entry.parameters,
    )


def why_not(t: Text, error: CheckpointError) -> str:
    """Why a model cannot be had, in the reader's language."""
    return t(f"checkpoint.{error.kind}", **error.values)


def bytes_in_words(n: float) -> str:
    """Bytes as 353 MB or 6.4 GB."""
    return f"{n / 1e9:.1f} GB" if n >= 999_500_000 else f"{n / 1e6:.0f} MB"
