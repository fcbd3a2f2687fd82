"""The whole view as a file and as a link: written, copied, opened again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from core.changes import decode, encode
from core.changes.file import LARGEST, TRAIL, BadFile, Saved, read, write
from core.models import catalogue
from core.models.config import ConfigError
from core.models.worked_example import other_sizes
from core.view import changes, engine, host
from core.view.component import component, said
from core.view.look import Look
from core.view.packed import pack
from core.view.precision import EXACT, PRECISION, ROUGH
from core.view.state import CLICK, GO, tell
from core.view.strip import FILES

KEY = "file"  # of the component
WHERE = ("layer", "head", "token", "side")  # what of the session says where we look
WORDS = ("save", "open", "copy", "copied", "link", "dropped", "large", "group")


def controls(look: Look, page: str, text: str, was: str) -> None:
    """Copy the link, save the view as a file, open one."""
    data = {
        "words": {word: look.t(f"file.{word}") for word in WORDS},
        "name": f"ripple-{Path(look.trace.model.key).name}.json",
        "text": write(current(look, page, text, was)),
        "largest": LARGEST,
    }
    component("file", "file-box")(key=KEY, data=data, on_open_change=_open(page))


def current(look: Look, page: str, text: str, was: str) -> Saved:
    """The view that is shown."""
    model = look.trace.model
    where = {key: st.session_state[key] for key in WHERE if st.session_state.get(key) is not None}
    # What is opened is declared further down, by the page.
    opened = look.state.asked.get("open", st.session_state.get("open", ""))
    where |= {"open": opened} if TRAIL.fullmatch(opened) else {}
    where |= {PRECISION: ROUGH} if model.variant == ROUGH else {}
    return Saved(
        model.key,
        model.preset or "",
        text,
        was,
        decode(st.session_state[changes.EDITS]),
        {"page": page, **where},
        model.size,
    )


def _open(page: str) -> Callable[[], None]:
    return lambda: open_file(str(said(KEY, "open") or ""), page)


def open_file(text: str, page: str) -> None:
    """Show what a file asks for; one that cannot be read changes nothing. For callbacks."""
    try:
        found = read(text)
    except BadFile as error:
        tell(f"file.bad.{error.kind}")
        return
    entry = engine.entries().get(found.model)
    if entry is None and not (host.may_add_models() and catalogue.is_path(found.model)):
        tell("file.bad.model", model=found.model)
    elif found.preset not in ((entry and entry.presets) or ("",)):
        tell("file.bad.preset", preset=found.preset)
    elif not _can_be(found):
        tell("file.bad.size")
    else:
        _show(found, page)


def _can_be(found: Saved) -> bool:
    """Whether the model can have the sizes that the file asks for."""
    try:
        return not found.size or bool(found.preset and other_sizes(found.preset, found.size))
    except ConfigError:
        return False


def _show(found: Saved, page: str) -> None:
    """Follow the file like a link; the page it was saved on included."""
    asked = {"model": found.model, "prompt": found.prompt, "was": found.was}
    if found.preset:
        asked |= {"preset": found.preset, "size": found.size}
    asked |= {changes.EDITS: encode(found.changes), "open": "", PRECISION: EXACT}
    asked |= {key: str(value) for key, value in found.look.items() if key != "page"}
    st.session_state[CLICK] = urlencode({key: pack(value) for key, value in asked.items()})
    to = found.look.get("page", page)
    if to != page and to in FILES:
        st.session_state[GO] = {"page": to, "anchor": ""}
    tell("file.opened")
