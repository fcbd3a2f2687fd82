"""Our own components: what the browser runs, read from assets/ and sent once.

Streamlit sends a component's script and style with each of its elements, again in every run where
that changes: 48 kB for each of a dozen grids. So one element, which never changes, brings them all,
and the others ask it for theirs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

ASSETS = Path(__file__).resolve().parents[2] / "assets"
PARTS = ("curve", "file", "grid", "heads", "opened", "player", "ripple", "vectors")
BROUGHT = "ripple_parts"  # the key of the element that brings them; frame.css hides it
DRAWS = "export default function "  # what draws a part, once in its files


@cache
def asset(path: str) -> str:
    """A script or stylesheet, by its path in assets/."""
    return (ASSETS / path).read_text(encoding="utf-8")


@cache
def component(name: str, root: str) -> Callable[..., None]:
    """What draws the component in assets/components/<name>: `draw(key=…, data=…, on_go_change=…)`.

    root: the class of the box it draws in.
    """
    script = asset("js/part.js").replace("NAME", name)
    html = f'<div class="{root}"></div>'
    mount = st.components.v2.component(f"ripple_{name}", html=html, js=script)

    def draw(*, key: str, data: dict, **callbacks: Callable[[], object]) -> None:
        mount(key=key, data=as_bytes(data), **callbacks)

    return draw


def as_bytes(data: dict) -> bytes:
    """JSON, which part.js reads. Raises ValueError for ∞ and NaN, which JSON lacks.

    In a dict Streamlit would look for tables under every key, and write it down twice.
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()


def bring_parts() -> None:
    """Send what draws the components; once in a run, before any of them."""
    _bringer()(key=BROUGHT)


def said(key: str, event: str) -> Any:
    """What the component with this key says, for its callbacks.

    None where that was forgotten: a click on a page that is just being left may arrive when a run
    that was cut short has dropped its elements.
    """
    state = st.session_state.get(key)
    return state.get(event) if state else None


@cache
def _bringer() -> Callable[..., Any]:
    scripts = [*_files("shared"), *_files("editing")]
    parts = [asset("js/parts.js"), *map(asset, scripts), *map(_part, PARTS)]
    return st.components.v2.component(BROUGHT, js="\n".join(parts))


def _part(name: str) -> str:
    """The script of a component, so that its names stay its own."""
    script = "".join(map(asset, _files(name))).replace(DRAWS, "const draw = function ")
    style = json.dumps(asset(f"components/{name}.css"))
    return f"bring({json.dumps(name)}, {style}, () => {{\n{script}\nreturn draw;\n}});"


def _files(part: str) -> list[str]:
    """Its scripts: <part>.js, or every one in <part>/."""
    folder = ASSETS / "components" / part
    files = sorted(folder.glob("*.js")) if folder.is_dir() else [folder.with_suffix(".js")]
    return [path.relative_to(ASSETS).as_posix() for path in files]
