"""The ways in which a text went on: a small tree of tokens, and where in it one is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

PROMPT = -1  # the place before any new token
MOST = 1_000  # nodes
RUN = re.compile(r"([0-9]{1,4}|p)_([0-9]{1,7}(?:\.[0-9]{1,7})*)")


class BadBranches(ValueError):
    """A text that `Branches.encode` does not write."""


@dataclass(frozen=True)
class Branches:
    """Tokens after a prompt, each with the one that it follows.

    nodes: (number of the token before, or PROMPT; token ID), parents first. at: where one is.
    """

    nodes: tuple[tuple[int, int], ...] = ()
    at: int = PROMPT

    def __len__(self) -> int:
        return len(self.nodes)

    def path(self) -> list[int]:
        """The numbers of the tokens from the prompt to where one is."""
        found, node = [], self.at
        while node != PROMPT:
            found.append(node)
            node = self.nodes[node][0]
        return found[::-1]

    def ids(self) -> list[int]:
        """The token IDs from the prompt to where one is."""
        return [self.nodes[node][1] for node in self.path()]

    def children(self, node: int) -> list[int]:
        """The tokens that followed a place, in the order in which they were written."""
        return [i for i, (parent, _) in enumerate(self.nodes) if parent == node]

    def grown(self, token_id: int) -> Branches:
        """With one more token after where one is, and there; one that is known is only gone to.

        A full tree forgets all but the present path. Raises BadBranches if that fills it.
        """
        for child in self.children(self.at):
            if self.nodes[child][1] == token_id:
                return replace(self, at=child)
        if len(self) >= MOST:
            ids = self.ids()
            if len(ids) >= MOST:
                raise BadBranches(f"no more than {MOST} tokens can be kept")
            path = tuple((i - 1, token) for i, token in enumerate(ids))
            return Branches(path, len(path) - 1).grown(token_id)
        return Branches((*self.nodes, (self.at, token_id)), len(self))

    def back(self) -> Branches:
        """One token back; the token itself stays in the tree."""
        return self if self.at == PROMPT else replace(self, at=self.nodes[self.at][0])

    def moved(self, node: int) -> Branches:
        """At another place. Raises BadBranches if there is none of that number."""
        if not PROMPT <= node < len(self):
            raise BadBranches(f"there is no token {node}")
        return replace(self, at=node)

    def encode(self) -> str:
        """`p_12.7.9~1_4~@2`: runs of tokens, each with what it follows, and where one is."""
        if not self.nodes:
            return ""
        runs: list[list[int]] = []
        for i, (parent, token) in enumerate(self.nodes):
            if i and parent == i - 1:
                runs[-1].append(token)
            else:
                runs.append([parent, token])
        written = ("p" if run[0] == PROMPT else str(run[0]) for run in runs)
        parts = [f"{p}_{'.'.join(map(str, run[1:]))}" for p, run in zip(written, runs, strict=True)]
        return "~".join([*parts, f"@{'p' if self.at == PROMPT else self.at}"])

    @classmethod
    def decode(cls, text: str, n_vocab: int) -> Branches:
        """What `encode` was given. Raises BadBranches for anything else."""
        if not text:
            return cls()
        *runs, at = text.split("~", MOST + 1)
        nodes: list[tuple[int, int]] = []
        for run in runs:
            found = RUN.fullmatch(run)
            if not found:
                raise BadBranches(f"not a run of tokens: {run[:40]}")
            parent = PROMPT if found[1] == "p" else int(found[1])
            for token in map(int, found[2].split(".")):
                if parent >= len(nodes) or token >= n_vocab or len(nodes) >= MOST:
                    raise BadBranches(f"no such token: {run[:40]}")
                nodes.append((parent, token))
                parent = len(nodes) - 1
        place = at.removeprefix("@")
        if not at.startswith("@") or not (place == "p" or re.fullmatch(r"[0-9]{1,4}", place)):
            raise BadBranches(f"not a place: {at[:40]}")
        return cls(tuple(nodes)).moved(PROMPT if place == "p" else int(place))
