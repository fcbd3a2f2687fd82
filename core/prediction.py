"""Guessing which steps a change reaches, and what to say about each guess.

A step can only change if the change touches it or something that it reads did change. That is
necessary, not enough: a mask, a zero or rounding can swallow what arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.changes import Ripple
from core.graph import Step
from core.graph.op import Input
from core.graph.ops import Mask
from core.models.model import PromptTrace

# Steps between two others that nobody needs to guess: inside of a norm, and what only passes on.
INNER = ("mean", "var", "mean_square", "normed", "resid_in", "concat")


@dataclass(frozen=True)
class Verdict:
    """What became of a guess.

    why: "by_hand", "weight", "switch" or "text" where the change touches the step itself, "reads"
    where something that it reads changed, "gone" where it is no longer there; if it did not change,
    "masked", "moved" or "absorbed" where the change reached it, else "apart".
    through: the weight or step that brought the change, "" if none did.
    """

    name: str
    guessed: bool
    changed: bool
    why: str
    through: str = ""

    @property
    def right(self) -> bool:
        return self.guessed == self.changed


def guessable(trace: PromptTrace) -> list[str]:
    """The steps that a person is asked about, in execution order."""
    return [
        name
        for name, step in trace.graph.steps.items()
        if not isinstance(step.op, Input) and name.rpartition(".")[2] not in INNER
    ]


def judge(
    before: PromptTrace, after: PromptTrace, ripple: Ripple, guessed: Collection[str]
) -> list[Verdict]:
    """Every step that could be guessed, with what happened to it and why."""
    names = guessable(before)
    judged = _Judge(before, after, ripple, frozenset(names))
    return [judged.verdict(name, name in guessed) for name in names]


@dataclass(frozen=True)
class _Judge:
    before: PromptTrace
    after: PromptTrace
    ripple: Ripple
    names: frozenset[str]

    def verdict(self, name: str, guessed: bool) -> Verdict:
        changed = self.ripple[name].changed
        if name not in self.after:
            return Verdict(name, guessed, changed, "gone")
        step = self.after.step(name)
        touched, through = self._touched(step)
        read = next(filter(self._differs, step.inputs), "")
        if changed:
            why, brought = (touched, through) if touched else ("reads", self._origin(read))
            return Verdict(name, guessed, changed, why, brought)
        if not touched and not read:
            return Verdict(name, guessed, changed, "apart")
        return Verdict(name, guessed, changed, self._swallowed(step), self._origin(read))

    def _touched(self, step: Step) -> tuple[str, str]:
        """How the change touches the step itself, and the weight where that is one."""
        if step.name in self.after.edits:
            return "by_hand", ""
        old = self.before.graph.steps.get(step.name)
        if old is None or (old.op, old.inputs) != (step.op, step.inputs):
            return "switch", ""
        for part in step.inputs:
            if part in self.after.weights and not self._same_weight(part):
                return "weight", part
        if any(part == "tokens.ids" and self._differs(part) for part in step.inputs):
            return "text", ""
        return "", ""

    def _same_weight(self, name: str) -> bool:
        old, new = self.before.weights.get(name), self.after.weights[name]
        return old is new or (old is not None and old.shape == new.shape and old.equal(new))

    def _differs(self, name: str) -> bool:
        """Whether something that a step reads changed; of what comes from outside, the IDs."""
        if name in self.ripple:
            return self.ripple[name].changed
        return name == "tokens.ids" and self.before.ids != self.after.ids

    def _origin(self, name: str) -> str:
        """The step itself or, where nobody is asked about it, the one that it had it from."""
        while name and name not in self.names and name in self.after:
            further = next(filter(self._differs, self.after.step(name).inputs), "")
            if not further:
                break
            name = further
        return name

    def _swallowed(self, step: Step) -> str:
        """Why a step is as it was, though something arrived."""
        if isinstance(step.op, Mask) and step.op.causal:
            return "masked"
        return "moved" if self._moved() else "absorbed"

    def _moved(self) -> bool:
        """Whether the text has the same tokens at other places."""
        return self.before.ids != self.after.ids and sorted(self.before.ids) == sorted(
            self.after.ids
        )


def score(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many changed steps were found, of how many, and how many named steps did not change."""
    return {
        "found": sum(v.guessed and v.changed for v in verdicts),
        "of": sum(v.changed for v in verdicts),
        "wrong": sum(v.guessed and not v.changed for v in verdicts),
    }
