"""Sizes: from a model card's few numbers to parameters, memory, compute and time."""

from core.view import frame, sizes_page
from core.view.lesson import Lesson

with frame.page("sizes") as view:
    lesson = Lesson(view, opens=False)
    card = sizes_page.card(lesson, view)
    sizes_page.parameters(lesson, card)
    sizes_page.memory(lesson, card)
    use = sizes_page.cache(lesson, view, card)
    sizes_page.prefill(lesson, card, use)
    weights = sizes_page.decode(lesson, view, card, use)
    sizes_page.fits(lesson, view, card, use, weights)
    sizes_page.four_tokens(lesson, view)
    sizes_page.recall(lesson, view)
    lesson.why("why_heads", "why_length")
    lesson.end()
