"""Ready experiments: one change each, with a claim about what follows that a test checks.

    for experiment in EXPERIMENTS:
        print(experiment.key, experiment.state())

What an experiment asks and what one sees is in `assets/texts/*/experiments.toml`, under its key.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.changes import Change, Changes, Patch, Put, Switch, encode

EXAMPLE = "나는 밥을 먹었다"
LIGHT = "And God said, Let there be"
HEAVENS = "In the beginning God created the"


@dataclass(frozen=True)
class Experiment:
    """One state of the app that is worth a look.

    stop: the step of the path it is about. pages: where to look, the first of them first.
    prompt, was: the text, and the one that it is compared with where the text is what changes.
    at: block, head and token to look at.
    """

    key: str
    stop: str
    pages: tuple[str, ...]
    model: str = "worked-example"
    preset: str = ""
    prompt: str = EXAMPLE
    was: str = ""
    changes: tuple[Change, ...] = ()
    at: tuple[int, int, int] = (0, 0, 0)

    @property
    def edits(self) -> str:
        """The changes as in a link."""
        return encode(Changes().with_change(*self.changes))

    def subject(self) -> dict[str, str]:
        """The model and the text, as parameters of a link; the changes come on top."""
        preset = {"preset": self.preset} if self.preset else {}
        return {"model": self.model, "prompt": self.prompt, "was": self.was} | preset

    def state(self) -> dict[str, str]:
        """All parameters of a link that starts it."""
        where = dict(zip(("layer", "head", "token"), map(str, self.at), strict=True))
        shown = {"edits": self.edits, "side": "after", "experiment": self.key}
        return self.subject() | where | shown


EXPERIMENTS = (
    Experiment(
        "twins",
        "embedding",
        ("embedding", "position", "overview"),
        preset="block",
        changes=tuple(Put("embed.W_E", (1, i), v) for i, v in enumerate((0.2, 0.9, 0.1))),
        at=(0, 0, 1),
    ),
    Experiment(
        "swap_with",
        "position",
        ("overview", "position", "scores"),
        preset="part-3",
        prompt="밥을 나는 먹었다",
        was=EXAMPLE,
        at=(0, 0, 2),
    ),
    Experiment(
        "swap_without",
        "position",
        ("overview", "position", "scores"),
        preset="part-3-no-position",
        prompt="밥을 나는 먹었다",
        was=EXAMPLE,
        at=(0, 0, 2),
    ),
    Experiment(
        "mirror",
        "qkv",
        ("scores", "qkv"),
        preset="part-2",
        changes=(Put("blocks.0.attn.W_K", (0, 0, 1), 1.0),),
        at=(0, 0, 1),
    ),
    Experiment(
        "unscaled",
        "scores",
        ("scores", "logits", "overview"),
        model="bundled",
        prompt=LIGHT,
        changes=(Switch("scaled", "off"),),
        at=(0, 2, 6),
    ),
    Experiment(
        "unmasked",
        "scores",
        ("scores", "overview", "logits"),
        preset="block",
        changes=(Switch("mask", "off"),),
    ),
    Experiment(
        "row_by_hand",
        "scores",
        ("heads", "scores", "overview"),
        preset="block",
        changes=tuple(Put("blocks.0.attn.weights", (0, 2, k), float(k == 0)) for k in range(3)),
        at=(0, 0, 2),
    ),
    Experiment(
        "one_head",
        "heads",
        ("scores", "heads"),
        preset="block",
        changes=(Switch("heads", "one"),),
        at=(0, 0, 2),
    ),
    Experiment(
        "ablate",
        "heads",
        ("logits", "heads", "overview"),
        model="bundled",
        prompt=LIGHT,
        changes=(Put("blocks.4.attn.heads", (3, None, None), 0.0),),
        at=(4, 3, 6),
    ),
    Experiment(
        "no_residual",
        "residual",
        ("overview", "norm", "logits"),
        model="bundled",
        prompt=HEAVENS,
        changes=(Switch("residual", "off"),),
        at=(0, 0, 5),
    ),
    Experiment(
        "post_norm",
        "norm",
        ("norm", "overview"),
        preset="block",
        changes=(Switch("norm", "post"),),
        at=(0, 0, 2),
    ),
    Experiment(
        "gamma",
        "norm",
        ("logits", "norm"),
        preset="block",
        changes=(Put("ln_f.gamma", (None,), 2.0),),
        at=(0, 0, 2),
    ),
    Experiment(
        "no_curve",
        "mlp",
        ("mlp", "overview"),
        preset="block",
        changes=(Switch("activation", "none"),),
        at=(0, 0, 2),
    ),
    Experiment(
        "one_cell",
        "logits",
        ("logits", "overview"),
        preset="block",
        changes=(Put("unembed.W_U", (0, 2), 0.1),),
        at=(0, 0, 2),
    ),
    Experiment(
        "causality",
        "text",
        ("overview", "stream", "logits"),
        model="bundled",
        prompt="In the beginning Jane created the",
        was=HEAVENS,
        at=(0, 0, 5),
    ),
    Experiment(
        "patch_early",
        "text",
        ("overview", "stream", "logits"),
        model="bundled",
        prompt="And the house of",
        changes=(Patch("blocks.2.resid_in", (2, None), "And the children of"),),
        at=(2, 0, 3),
    ),
    Experiment(
        "patch_late",
        "text",
        ("overview", "stream", "logits"),
        model="bundled",
        prompt="And the house of",
        changes=(Patch("blocks.5.resid_in", (2, None), "And the children of"),),
        at=(5, 0, 3),
    ),
)
BY_KEY = {experiment.key: experiment for experiment in EXPERIMENTS}
