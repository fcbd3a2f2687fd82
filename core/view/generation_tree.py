"""The ways in which the text went on, as a tree: one line for each stretch without a fork."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from core.generate.branches import PROMPT, Branches
from core.view.generation_writer import WRITE, Writer
from core.view.html import chip, div, esc, shown, tag
from core.view.lesson import Lesson

LINES = 40  # stretches that are drawn
ENDS = 6  # tokens at the start and at the end of a stretch that are drawn
DEEPEST = 8  # steps to the right


@dataclass(frozen=True)
class Run:
    """Tokens that follow each other without a fork, and at how many forks they branched off."""

    nodes: tuple[int, ...]
    forks: int


def runs(tree: Branches) -> Iterator[Run]:
    """The stretches from fork to fork, each followed by those that go on from it."""
    children: dict[int, list[int]] = {}
    for node, (parent, _) in enumerate(tree.nodes):
        children.setdefault(parent, []).append(node)
    waiting = [(child, 0) for child in reversed(children.get(PROMPT, []))]
    while waiting:
        node, forks = waiting.pop()
        run = [node]
        while len(following := children.get(run[-1], [])) == 1:
            run += following
        yield Run(tuple(run), forks)
        waiting += [(child, forks + 1) for child in reversed(following)]


def tree(lesson: Lesson, writer: Writer) -> None:
    """All ways, where there is more than one; else how one makes a second."""
    lesson.part("tree")
    found = list(runs(writer.tree))
    if len(found) < 2:
        lesson.say("tree.single")
        return
    here = set(writer.tree.path())
    depths = _depths(writer.tree)
    start = tag(
        "a",
        esc(lesson.text("tree.start", n=len(writer.prompt))),
        cls="pill here" if writer.tree.at == PROMPT else "pill",
        **writer.state.link(**{WRITE: "to-p"}),
    )
    lines = [_line(lesson, writer, run, here, depths) for run in found[:LINES]]
    rest = len(found) - len(lines)
    more = [tag("li", esc(lesson.text("tree.more", n=rest)), cls="more")] if rest else []
    st.html(div("scroll", tag("ul", tag("li", start), *lines, *more, cls="branches")))


def _depths(tree: Branches) -> list[int]:
    depths: list[int] = []
    for parent, _ in tree.nodes:
        depths.append(depths[parent] + 1 if parent != PROMPT else 0)
    return depths


def _line(lesson: Lesson, writer: Writer, run: Run, here: set[int], depths: list[int]) -> str:
    """A stretch: its tokens, each a way to its place; of a long one the two ends."""
    nodes = run.nodes
    if len(nodes) > 2 * ENDS + 1:
        between = tag("span", esc(lesson.text("write.more", n=len(nodes) - 2 * ENDS)), cls="more")
        parts = [*_chips(writer, nodes[:ENDS], here, depths), between]
        parts += _chips(writer, nodes[-ENDS:], here, depths)
    else:
        parts = _chips(writer, nodes, here, depths)
    style = f"--forks:{min(run.forks, DEEPEST)}"
    return tag("li", *parts, cls="branch on-path" if nodes[0] in here else "branch", style=style)


def _chips(writer: Writer, nodes: tuple[int, ...], here: set[int], depths: list[int]) -> list[str]:
    found = []
    for node in nodes:
        text = shown(writer.model.tokenizer.token_text(writer.tree.nodes[node][1]))
        at = node == writer.tree.at
        cls = "tok mini here" if at else "tok mini" if node in here else "tok mini aside-way"
        link = writer.state.link(**{WRITE: f"to-{node}"})
        position = len(writer.prompt) + depths[node]
        found.append(chip(text, position, cls=cls, aria_current="true" if at else None, **link))
    return found
