"""The residual stream of one token: what every part found, what it added, what was left."""

from __future__ import annotations

from collections.abc import Sequence

from core.analysis.residual import Stage
from core.view import scale, vector
from core.view.cut import Cut, cut
from core.view.html import bar, div, esc, number, tag
from core.view.look import Look
from core.view.sketch import block_name

NUMBERS = 12  # of a wide row, those that are shown in numbers


def steps(stages: Sequence[Stage]) -> list[str]:
    """All steps that the belt shows."""
    names = [name for stage in stages for name in (stage.before, stage.added, stage.after)]
    return list(dict.fromkeys(names))


def belt(look: Look, stages: Sequence[Stage]) -> str:
    """One row per part: what was there, what was added, what there is now."""
    limit = scale.end(look.trace, "embed.sum")
    heads = ("part", "before", "added", "after")
    cells = [tag("span", esc(look.t(f"stream.belt.{key}")), cls=f"at-{key}") for key in heads]
    rows = [div("sum-row head", *cells), _start(look, limit)]
    rows += [_stage(look, stage, limit) for stage in stages]
    return div("journey", *rows) + scale.legend(look.t, ("", limit), note=look.t("vector.legend"))


def _start(look: Look, limit: float) -> str:
    """What is on the belt before the first block."""
    name = tag("b", esc(look.t("stream.belt.start")))
    cells = [tag("span", name, cls="at-part"), tag("span", cls="at-before"), _sign("", "plus")]
    cells += [tag("span", cls="at-added"), _sign("", "equals")]
    cells.append(_vector(look, "after", "embed.sum", limit))
    return div("sum-row first", *cells)


def _stage(look: Look, stage: Stage, limit: float) -> str:
    part = tag("b", esc(look.t(f"stream.part.{stage.part}")))
    note = tag("small", esc(look.t("stream.belt.replaces"))) if stage.replaces else ""
    cells = [
        tag("span", block_name(look, stage.block, part), note, cls="at-part"),
        _vector(look, "before", stage.before, limit),
        _sign("→" if stage.replaces else "+", "plus"),
        _vector(look, "added", stage.added, limit),
        _sign("=", "equals"),
        _vector(look, "after", stage.after, limit),
    ]
    here = " here" if stage.block == look.layer and look.n_layers > 1 else ""
    gone = " gone" if stage.replaces else ""
    return div(f"sum-row{here}{gone}", *cells)


def _sign(text: str, cls: str) -> str:
    return tag("span", text, cls=f"sign {cls}")


def _vector(look: Look, key: str, name: str, limit: float) -> str:
    label = tag("small", esc(look.t(f"stream.belt.{key}")), cls="only-narrow")
    return tag("span", label, vector.row(look, name, look.token, limit, "belt"), cls=f"at-{key}")


def lengths(look: Look, stages: Sequence[Stage]) -> str:
    """How long the row is, how long what was added is, and which way that points."""
    t = look.t
    longest = max(max(stage.length_added, stage.length_after) for stage in stages) or 1.0
    heads = ("part", "added", "after", "cosine")
    head = [tag("th", esc(t(f"stream.lengths.{key}")), scope="col") for key in heads]
    rows = []
    for stage in stages:
        part = esc(f" {t(f'stream.part.{stage.part}')}")
        cells = [
            _bar(stage.length_added, longest, "added"),
            _bar(stage.length_after, longest, "after"),
            tag("td", tag("span", vector.signed(stage.cosine)), cls="n"),
        ]
        rows.append(tag("tr", tag("th", block_name(look, stage.block, part), scope="row"), *cells))
    return tag("table", tag("tr", *head), *rows, cls="plain lengths")


def _bar(value: float, longest: float, cls: str) -> str:
    length = bar(value / longest, f"bar {cls}")
    return tag("td", div("length", length, tag("span", number(value))))


def largest(look: Look, stages: Sequence[Stage]) -> dict[str, str]:
    """The longest addition and the lengths at both ends, for a sentence."""
    stage = max(stages, key=lambda stage: stage.length_added)
    part = look.t(f"stream.part.{stage.part}")
    return {
        "part": f"{look.t('path.block_number', i=str(stage.block))} {part}",
        "length": number(stage.length_added),
        "first": number(stages[0].length_before),
        "last": number(stages[-1].length_after),
    }


def cuts(look: Look, stages: Sequence[Stage]) -> list[Cut]:
    """The block where we look in numbers; of a wide row those that changed most in it."""
    stages = [stage for stage in stages if stage.block == look.layer]
    names = steps(stages)
    width = look.trace.model.config.d_model
    columns: list[int] | None = None
    if width > NUMBERS:
        change = abs(look.values(names[-1])[look.token] - look.values(names[0])[look.token])
        columns = sorted(change.argsort()[::-1][:NUMBERS].tolist())
    index, signs = ([look.token], columns), _signs(stages)
    titles = [look.t(f"steps.{look.trace.step(name).role}.title") for name in names]
    return [
        cut(look.trace, name, index, title=f"{signs.get(name, '')}{title}", picks=False)
        for name, title in zip(names, titles, strict=True)
    ]


def _signs(stages: Sequence[Stage]) -> dict[str, str]:
    """What is done with each row, to stand before its name: so the matrices read as sums."""
    signs = {}
    for stage in stages:
        signs |= {stage.added: "→ " if stage.replaces else "+ ", stage.after: "= "}
    return signs


def adds(look: Look) -> tuple[str, ...]:
    """The two additions of the block where we look."""
    return f"blocks.{look.layer}.resid_mid", f"blocks.{look.layer}.resid_out"
