"""Which query heads use the same keys and values, and what that saves."""

from __future__ import annotations

import streamlit as st

from core.view import shared_heads
from core.view.generation_writer import Writer
from core.view.lesson import Lesson
from core.view.look import Look
from core.view.sketch import facts


def sharing(lesson: Lesson, writer: Writer, look: Look) -> None:
    """Query heads over the keys and values they use, and the cache's bytes for each way."""
    lesson.part("sharing")
    config = look.trace.model.config
    n, shared = config.n_heads, config.n_kv_heads
    kind = "each" if shared == n else "one" if shared == 1 else "groups"
    lesson.switches("kv_heads")
    st.html(shared_heads.picture(look))
    if n == 1:
        lesson.elsewhere("sharing.alone", model="worked-example", preset="block")
    else:
        lesson.say(f"sharing.{kind}", n=n, shared=shared, each=n // shared, cls="says outcome")
    each = 2 * config.n_layers * config.d_head * look.trace.model.dtype.itemsize
    ways = sorted({n, shared, 1} | ({n // 2} if n % 2 == 0 else set()), reverse=True)
    rows = [
        [
            lesson.text("sharing.heads", n=ways_n) + (" ←" if ways_n == shared else ""),
            f"{each * ways_n:,}",
            f"{each * ways_n * len(look.trace):,}",
        ]
        for ways_n in ways
    ]
    heads = [lesson.text(f"sharing.{key}") for key in ("way", "per_token")]
    heads.append(lesson.text("sharing.now", n=len(look.trace)))
    st.html(facts(heads, rows, "plain stacked"))
