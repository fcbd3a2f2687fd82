"""Generation: token by token, one wide pass and then single rows, with the KV cache."""

from core.view import frame, generation_cache, generation_cost
from core.view.generation_lesson import lesson_of, missing
from core.view.generation_sharing import sharing
from core.view.generation_tree import tree
from core.view.generation_write import write
from core.view.generation_writer import Writer

with frame.page("generation") as view:
    writer = Writer(view)
    writer.act()
    lesson = lesson_of(view, writer)
    look = lesson.view.look
    step = writer.step(look.trace)
    write(lesson, writer, writer.next())
    tree(lesson, writer)
    if writer.playing["all"] and writer.playing["left"]:
        lesson.say("resting")
    else:
        generation_cache.passes(lesson, writer, look, step)
        if not missing(lesson, look):
            generation_cache.kept(lesson, writer, look, step)
            sharing(lesson, writer, look)
        if look.trace.model.config.causal:
            if not writer.playing["left"]:
                generation_cost.compare(lesson, writer, look, step)
            generation_cost.costs(lesson, writer)
        lesson.why("why_cache", "why_q", "why_memory", "why_same")
    lesson.end()
