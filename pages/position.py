"""Position: each place has a row of its own, which is added to the token's row."""

from core.view import frame, position_page
from core.view.lesson import Lesson

with frame.page("position") as view:
    lesson = Lesson(view)
    position_page.add(lesson)
    lesson.switches("position")
    position_page.order(lesson)
    position_page.kinds(lesson)
    lesson.why("which")
    position_page.distance(lesson)
    position_page.limit(lesson)
    lesson.why("beyond", ctx=view.model.config.n_ctx)
    lesson.end()
