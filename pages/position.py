"""Position: each place has a row of its own that is added, or turns queries and keys."""

from core.view import frame, position_page, rotation
from core.view.lesson import Lesson

with frame.page("position") as view:
    turns = rotation.turns(view.look)
    lesson = Lesson(view, lead=position_page.LEADS[position_page.way(view.look)])
    if turns:
        position_page.turn(lesson)
        position_page.distance(lesson)
    else:
        position_page.add(lesson)
    lesson.switches("position")
    position_page.order(lesson)
    position_page.kinds(lesson)
    lesson.why("which")
    if not turns:
        position_page.distance(lesson)
    position_page.limit(lesson)
    lesson.why("beyond", ctx=view.model.config.n_ctx)
    lesson.end()
