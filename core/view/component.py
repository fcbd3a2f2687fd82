"""Our own components: what the browser runs, read from assets/ and registered once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

EDITING = ("grid", "opened")  # the components in which numbers are typed
ASSETS = Path(__file__).resolve().parents[2] / "assets"


@cache
def asset(path: str) -> str:
    """A script or stylesheet, by its path in assets/."""
    return (ASSETS / path).read_text(encoding="utf-8")


@st.cache_resource(max_entries=16, show_spinner=False)
def component(name: str, root: str):
    """The component in assets/components/<name>; `root` is the class of the box it draws in."""
    return st.components.v2.component(
        f"ripple_{name}",
        html=f'<div class="{root}"></div>',
        css=asset(f"components/{name}.css"),
        js=_scripts(name),
    )


def _scripts(name: str) -> str:
    """One module for the browser: what is shared, then <name>.js or every script in <name>/."""
    parts = ["shared", *(["editing"] if name in EDITING else []), name]
    return "".join(asset(path) for part in parts for path in _files(part))


def _files(part: str) -> list[str]:
    folder = ASSETS / "components" / part
    files = sorted(folder.glob("*.js")) if folder.is_dir() else [folder.with_suffix(".js")]
    return [path.relative_to(ASSETS).as_posix() for path in files]
