"""Sampling: from the scores of all tokens to the one that is written next."""

from core.view import frame, sampling_drawn, sampling_settings
from core.view import sampling_page as parts
from core.view.lesson import Lesson

with frame.page("sampling") as view:
    settings = sampling_settings.read(view.state)
    lesson, look = Lesson(view, opens=False), view.look
    found = sampling_drawn.drawn(look, settings)
    if found is None:
        lesson.say("broken")
    else:
        parts.start(lesson, look, found)
        parts.way(lesson, look, found)
        for stage in found.stages():
            parts.stage(lesson, look, found, stage)
        parts.draw(lesson, look, found)
        parts.change(lesson, look, settings, found.nth)
        parts.many(lesson, look, found)
        parts.whys(lesson, look, found)
    lesson.end()
