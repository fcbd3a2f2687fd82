"""Where the files that come with the project lie."""

from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"
