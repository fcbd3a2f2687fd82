"""The Generation page's lesson: about all of the text, the written tokens included."""

from __future__ import annotations

from dataclasses import replace

from core.view.frame import View
from core.view.generation_writer import Writer
from core.view.lesson import Lesson
from core.view.look import Look


def lesson_of(view: View, writer: Writer) -> Lesson:
    """The lesson whose matrices and opened numbers are those of one full pass over the text.

    A decode step computes the same numbers, one row of them; here all rows can be looked at.
    """
    return Lesson(replace(view, look=writer.look()), opens=False)


def missing(lesson: Lesson, look: Look) -> bool:
    """Whether there can be no cache here; then it is said, with a link to where there is one."""
    config = look.trace.model.config
    if not config.n_layers:
        lesson.elsewhere("no_blocks", model="bundled")
    elif not config.causal:
        lesson.elsewhere("no_mask", do="add.mask~on")
    return not config.n_layers or not config.causal
