"""Models that are not here yet: fetching one from the hub, or pointing at one's own files.

Only for whoever may add models, see `host`.
"""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from core.models import catalogue
from core.models.checkpoint.download import Download, Downloads
from core.models.device import pick_device
from core.models.memory import free_memory
from core.view import engine, host
from core.view.html import para
from core.view.model_names import bytes_in_words, offer, title, why_not
from core.view.state import CLICK, State
from core.view.texts import Text
from core.view.unfold import unfold

PATHS = "_model_paths"  # session: the files of their own that this visitor opened
TYPED, WANTED = "_model_path", "_model_wanted"  # session: the widgets'
AWAITED = "_model_awaited"  # session: what this visitor asked to be fetched
UNFOLDED = "_model_more"  # session: whether it is; what it holds is drawn only then
MOST_PATHS, PATH_LIKE = 8, "/home/me/my-gpt"


def draw(t: Text) -> None:
    """Folded: what can be added to the models."""
    if not host.may_add_models():
        return
    fold = unfold(t("more.title"), UNFOLDED)
    if fold.open or _runs(st.session_state.get(AWAITED, "")):
        with fold:
            _ways(t)


def _ways(t: Text) -> None:
    """To fetch one that the catalogue knows, or to name a path."""
    missing = [entry for entry in catalogue.models() if entry.download and not entry.available]
    if missing:
        _fetch(t, missing)
    st.text_input(
        t("more.path"),
        key=TYPED,
        placeholder=PATH_LIKE,
        help=t("more.path_help"),
        on_change=_open,
    )


def paths() -> list[str]:
    """The paths that this visitor opened."""
    return st.session_state.get(PATHS, [])


def remember(path: str) -> None:
    """Offer a path among the models."""
    others = [other for other in paths() if other != path]
    st.session_state[PATHS] = [*others, path][-MOST_PATHS:]


def forget(path: str) -> None:
    """Offer it no longer."""
    st.session_state[PATHS] = [other for other in paths() if other != path]


def _open() -> None:
    """Show the model at the path that was typed, read anew even if it is loaded."""
    # The field of a page that is being left may still call, when its text is gone already.
    typed = st.session_state.get(TYPED, "").strip().strip("\"'")
    if typed:
        st.session_state[UNFOLDED] = True
        path = os.path.abspath(os.path.expanduser(typed))
        engine.reload(path)
        st.session_state[CLICK] = urlencode({"model": path})


def _start(repo: str) -> None:
    downloads().start(repo)
    st.session_state[AWAITED] = repo
    st.session_state[UNFOLDED] = True


def greet(t: Text, state: State, here: Container[str]) -> None:
    """Say so when what this visitor waited for is here."""
    if st.session_state.get(AWAITED) in here:
        state.say("more.arrived", model=title(t, st.session_state.pop(AWAITED)))


@st.cache_resource(show_spinner=False)
def downloads() -> Downloads:
    """Everybody's."""
    return Downloads(_from_the_hub)


def _from_the_hub(repo: str, report) -> Path:
    from core.models.checkpoint import hub  # takes a second to import

    return hub.fetch(repo, report)


def _runs(repo: str) -> bool:
    download = downloads().of(repo)
    return download is not None and download.running


def _fetch(t: Text, missing: list[catalogue.ModelEntry]) -> None:
    """Which one, what there is to know about it, and the button or how far it is."""
    entries = {entry.key: entry for entry in missing}
    if st.session_state.get(WANTED) not in entries:
        st.session_state[WANTED] = next(filter(_runs, entries), missing[0].key)
    key = st.selectbox(
        t("more.which"),
        list(entries),
        key=WANTED,
        persist_state="session",
        format_func=lambda key: title(t, key),
    )
    free = free_memory(pick_device())
    warning = t("more.too_large", free=bytes_in_words(free)) if entries[key].memory > free else ""
    st.html(para(offer(t, entries[key]), "aside") + (para(warning, "aside") if warning else ""))
    download = downloads().of(key)
    if download and download.running:
        _progress(t, download)
        return
    if download and download.error:
        st.html(para(why_not(t, download.error), "aside"))
    st.button(t("more.fetch"), on_click=_start, args=(key,), width="stretch")


@st.fragment(run_every=1.0)
def _progress(t: Text, download: Download) -> None:
    """How far a download is; drawn again each second, and the whole page when it ended."""
    if not download.running:
        st.rerun()
    here, total = download.here, download.total
    said = t("more.so_far", here=bytes_in_words(here), total=bytes_in_words(total))
    st.progress(min(1.0, here / total) if total else 0.0, said if total else t("more.asking"))
    st.button(t("more.stop"), on_click=download.stop, width="stretch")
