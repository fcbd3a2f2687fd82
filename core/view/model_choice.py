"""The choice of a model: those that are here, and what can be added to them."""

from __future__ import annotations

from core.models.checkpoint import CheckpointError
from core.view.texts import Text


def why_not(t: Text, error: CheckpointError) -> str:
    """Why a model cannot be had, in the reader's language."""
    return t(f"checkpoint.{error.kind}", **error.values)
