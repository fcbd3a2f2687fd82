"""What the pages that teach are made of: a lead, numbered parts, formula and code, and the whys.

A page reads from top to bottom: sentence, picture, numbers; then, folded, the formula with shapes,
the same with this row's numbers, and the same in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count

import streamlit as st

from core.graph.op import Input
from core.models.model import PromptTrace
from core.view import engine, interventions, matrix, opened, switch_row
from core.view.cut import Cut
from core.view.elements import axes, within
from core.view.frame import View
from core.view.html import div, esc, fold, numbered, para, tag
from core.view.interventions import Intervention
from core.view.look import Look
from core.view.sketch import block_links


class Lesson:
    """Draws the parts of one page in order and counts them; texts are under the page's name."""

    def __init__(self, view: View, *, opens: bool = True, lead: str = "lead") -> None:
        """opens: whether the page has numbers of a trace that can be opened and changed.

        lead: the key of the text that begins the page, where it depends on the model.
        """
        self.view = view
        self._count = count(1)
        self._panel_drawn = False
        if "open" in view.state.asked:  # by a link, of a picture that may have said which it is
            at = view.state.asked.get(opened.LINK_AT)
            st.session_state[opened.AT] = self._key(at) if at else ""
        begins = tag("h1", esc(self.text("title"))) + para(self.text(lead), "lead")
        st.html(begins + (para(_to_do(view), "to-do") if opens else ""))

    def text(self, key: str, **values: object) -> str:
        """A text of this page."""
        return self.view.t(f"{self.view.page}.{key}", **values)

    def part(self, key: str, anchor: str | None = None, **values: object) -> None:
        """A numbered heading and the one thing to know, from `<key>.title` and `<key>.says`.

        anchor: where a stop of the path strip leads within the page.
        """
        title = numbered(next(self._count), self.text(f"{key}.title", **values))
        st.html(
            div("lesson-part", title, para(self.text(f"{key}.says", **values), "says"), id=anchor)
        )

    def say(self, key: str, cls: str = "says", **values: object) -> None:
        """A paragraph between pictures."""
        st.html(para(self.text(key, **values), cls))

    def excerpt(self) -> Look:
        """What is looked at where the model is run anew: of a long text the end, as is said."""
        whole = self.view.look
        look = whole.excerpt()
        if look is not whole:
            n, total = len(look.trace), len(whole.trace)
            st.html(para(self.view.t("lesson.excerpt", n=n, total=total), "says"))
        return look

    @contextmanager
    def of_block(self) -> Iterator[None]:
        """Around a picture of one block: where the model has several, a frame that is theirs.

        The blocks stand along its top as tabs do.
        """
        links = block_links(self.view.look)
        with st.container(key="of_block") if links else nullcontext():
            if links:
                st.html(links)
            yield

    def switches(self, *settings: str) -> None:
        """The switches of what is drawn here, where this model can be another one."""
        if rows := switch_row.rows(self.view.look, *settings):
            st.html(rows)

    def without(self, *parts: Intervention) -> None:
        """What of the picture here can be switched off."""
        st.html(interventions.links(self.view.look, parts))

    def matrices(self, key: str, cuts: Sequence[Cut], **options: object) -> None:
        """Matrices, as one element, and below them what is opened in them; see `matrix.draw`."""
        key = self._key(key)
        matrix.draw(self.view.look, key, cuts, **options)
        self._opened_here(key, {cut.name for cut in cuts})

    def _opened_here(self, key: str, names: set[str]) -> None:
        """What is opened, once on a page: after the matrices where that was done, if on this page.

        Whoever came with a link sees it after the first matrices that show one of its stops.
        """
        trail = opened.current(self.view.look)
        if self._panel_drawn or not trail:
            return
        at = st.session_state.get(opened.AT, "")
        elsewhere = not at.startswith(self._key(""))
        if at.startswith(key) or (elsewhere and names & {ref.name for ref in trail}):
            self._draw_panel()

    def pictures(self, key: str, names: Sequence[str]) -> None:
        """Below a picture whose numbers are links that say `key`: what is opened there.

        names: the steps that it shows.
        """
        self._opened_here(self._key(key), set(names))

    def end(self) -> None:
        """The end of the page: what is opened and belongs to no matrix here; broken links."""
        if not self._panel_drawn:
            self._draw_panel()

    def _draw_panel(self) -> None:
        opened.panel(self.view.look)
        self._panel_drawn = True

    def _key(self, key: str) -> str:
        return f"{self.view.page}.{key}"

    def elsewhere(self, key: str, **changes: object) -> None:
        """A friendly word where this model lacks the step, and a link to where it can be seen."""
        if not engine.is_here(changes.get("model", self.view.model.key)):
            changes = {}
        link = tag(
            "a", esc(self.text(f"{key}.link")), cls="pill", **self.view.state.link(**changes)
        )
        st.html(div("notice", para(self.text(f"{key}.says")), link if changes else "", role="note"))

    def formula(
        self,
        steps: Sequence[str],
        at: Sequence[tuple[int, ...]] = (),
        trace: PromptTrace | None = None,
    ) -> None:
        """Folded: each step's formula with shapes, with real numbers, and in PyTorch.

        at: for each step the element whose arithmetic is written out; by default the first of
        the row we look at. trace: the one that is looked at unless given.
        """
        trace, t = trace or self.view.look.trace, self.view.t
        steps = [name for name in steps if name in trace]
        at = at or [self._first(name) for name in steps]
        rows = (self._written(trace, name, index) for name, index in zip(steps, at, strict=True))
        key = self._key(f"formula.{within(steps[0])}")
        st.html(fold(key, t("lesson.formula"), div("formulas", *rows)))
        with st.expander(t("lesson.code")):
            st.html(para(t("lesson.code_says")))
            st.code("\n".join(filter(None, map(trace.code, steps))), language="python")

    def why(self, *keys: str, **values: object) -> None:
        """Folded: questions a reader may have, each with its answer, from `<key>.asks`, `.says`.

        As one element: the browser spends some milliseconds on each in every run.
        """
        st.html(div("folds", *(self._why(key, **values) for key in keys)))

    def _why(self, key: str, **values: object) -> str:
        paragraphs = self.text(f"{key}.says", **values).strip().split("\n\n")
        return fold(self._key(key), self.text(f"{key}.asks", **values), *map(para, paragraphs))

    def _first(self, name: str) -> tuple[int, ...]:
        look = self.view.look
        here = {"pos": look.token, "query": look.token, "head": look.head, "kv_head": look.kv_head}
        return tuple(here.get(axis, 0) for axis in axes(look.trace, name))

    def _written(self, trace: PromptTrace, name: str, index: tuple[int, ...]) -> str:
        """One step: its formula, the shapes of all that occurs, and one element's arithmetic."""
        step = trace.step(name)
        shapes = "   ".join(_shape(trace, part) for part in (name, *step.inputs))
        place = f"{within(name)}[{', '.join(map(str, index))}]"
        if isinstance(step.op, Input):
            numbers = f"{place} = {opened.value_text(trace, opened.Ref(name, index))}"
        else:
            explained = trace.explain(name, index)
            numbers = f"{place} = {opened.written_out(trace, explained, opened.LARGEST).text}"
            if explained.edited:
                value = opened.value_text(trace, opened.Ref(name, index))
                numbers = f"{place} = {value}   ({self.view.t('lesson.by_hand')})"
        return div(
            "formula-row",
            tag("b", esc(f"{within(name)}: {step.formula}")),
            tag("span", esc(shapes), cls="formula-shapes"),
            tag("span", esc(numbers), cls="formula-numbers"),
        )


def _shape(trace: PromptTrace, name: str) -> str:
    sizes = " × ".join(f"{size:,}" for size in trace.shape(name))
    return f"{within(name)} [{sizes}]"


def _to_do(view: View) -> str:
    """What can be done with the numbers of the page as it is shown now."""
    if view.look.hidden is not None:
        return view.t("lesson.do.guess")
    return view.t("lesson.do.change" if view.look.side == "after" else "lesson.do.back")
