"""The text: where it is typed, and the one before, which it is compared with."""

from __future__ import annotations

import streamlit as st

from core.changes import align
from core.models.model import Model
from core.view import changes, engine
from core.view.state import State
from core.view.texts import Text

PROMPT, WAS = "prompt", "was"
SEEN = "_prompt_seen"  # session: the model and the text of the run before


def prompt_box(t: Text, label_visibility: str = "visible") -> None:
    """The one box where the text is typed."""
    st.text_area(
        t("frame.prompt"),
        key=PROMPT,
        height="content",
        persist_state="session",
        placeholder=t("frame.placeholder"),
        label_visibility=label_visibility,
    )


def read(state: State, model: Model) -> tuple[str, str]:
    """The text, with the token that a clicked candidate adds; and the one before, "" for none.

    Whoever types over a text compares with it, as long as the two have half of their tokens in
    common. What comes by a link is a new start. Only before the box is drawn.
    """
    prompt, was = state.text(PROMPT, model.default_prompt), state.text(WAS, "")
    owner, seen = st.session_state.get(SEEN, ("", ""))
    here = changes.identity(model)
    add = state.asked.get("add", "")
    if add.isascii() and add.isdigit() and int(add[:9]) < model.tokenizer.n_vocab:
        prompt, was = engine.extend(model, prompt, int(add[:9])), ""
    elif state.asked.get("do") == "old_text" and was:
        prompt, was = was, ""
    elif state.asked.get("do") == "new_text" or (PROMPT in state.asked and WAS not in state.asked):
        was = ""
    elif owner != here or WAS in state.asked:
        was = was if WAS in state.asked else ""
    elif seen != prompt:
        was = _comparable(model, was or seen, prompt)
    st.session_state[SEEN] = here, prompt
    state.put(PROMPT, prompt)
    state.put(WAS, was if was != prompt else "")
    return prompt, st.session_state[WAS]


def _comparable(model: Model, before: str, prompt: str) -> str:
    """The text before, if enough of its tokens are still there; else ""."""
    old, new = engine.read(model, before), engine.read(model, prompt)
    if old.instead or new.instead:
        return ""
    rows = align(old.ids, new.ids)
    kept = sum(row is not None and old.ids[row] == i for row, i in zip(rows, new.ids, strict=True))
    return before if 2 * kept >= min(len(old.ids), len(new.ids)) else ""
