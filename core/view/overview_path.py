"""The whole path: every step of the ends and of one block, with its shape and its values."""

from __future__ import annotations

from itertools import groupby

from core.graph import Step
from core.view.elements import generic
from core.view.html import chip, div, esc, numbered, para, shown, tag
from core.view.look import Look
from core.view.sketch import block_links
from core.view.step_pictures import STREAM, own_row, picture
from core.view.step_words import gives_key, group_key, step_key

# Where each step belongs on the path strip, by the beginning of its role.
STOPS = (
    ("tokens.ids", "tokens"),
    ("tokens.positions", "position"),
    ("embed.position", "position"),
    ("embed.sum", "position"),
    ("embed.", "embedding"),
    ("resid_", "residual"),
    ("ln_", "norm"),
    ("attn.scores", "scores"),
    ("attn.weights", "scores"),
    ("attn.heads", "heads"),
    ("attn.concat", "heads"),
    ("attn.out", "wo"),
    ("attn.", "qkv"),
    ("mlp.", "mlp"),
    ("logits", "logits"),
    ("probs", "sample"),
)
FIRST = "embedding"  # the group that is not folded to begin with; see assets/js/page.js
GROUPS = (
    ("tokens.", "embedding"),
    ("embed.", "embedding"),
    ("resid_in", "attention"),
    ("ln_1", "attention"),
    ("attn.", "attention"),
    ("resid_mid", "attention"),
    ("ln_2", "mlp"),
    ("mlp.", "mlp"),
    ("resid_out", "mlp"),
)


def stop_of(role: str) -> str:
    """The stop of the path strip where a step belongs."""
    return next(stop for prefix, stop in STOPS if role.startswith(prefix))


def group_of(role: str, has_mlp: bool = True) -> str:
    """The part of the model where a step belongs."""
    if role == "resid_out" and not has_mlp:
        return "attention"
    return next((group for prefix, group in GROUPS if role.startswith(prefix)), "output")


def path_section(look: Look) -> str:
    """The whole path with its heading and, where there are several, the choice of block."""
    head = numbered(3, look.t("path.title"), "ruled") + para(look.t("path.says"))
    return head + block_links(look) + path(look)


def path(look: Look) -> str:
    """All groups in the order in which they are computed."""
    steps = [look.trace.step(name) for name in look.trace.steps]
    steps = _position_together([step for step in steps if step.block in (None, look.layer)])
    seen: set[str] = set()
    has_mlp = look.trace.model.config.d_mlp
    groups = groupby(steps, key=lambda step: group_of(step.role, bool(has_mlp)))
    return "".join(_group(look, name, list(part), seen) for name, part in groups)


def _position_together(steps: list[Step]) -> list[Step]:
    """The positions, an input, stand beside what is made of them."""
    positions = [step for step in steps if step.role == "tokens.positions"]
    others = [step for step in steps if step.role != "tokens.positions"]
    roles = [step.role for step in others]
    place = next((i for i, role in enumerate(roles) if stop_of(role) == "position"), 0)
    return [*others[:place], *positions, *others[place:]]


def _group(look: Look, name: str, steps: list[Step], seen: set[str]) -> str:
    title = look.t(f"path.groups.{name}.title", i=str(look.layer))
    head = tag("summary", tag("h3", esc(title)))
    says = para(look.t(group_key(look.trace.model.config, name)), "says")
    parts = []
    for on_belt, some in groupby(steps, key=lambda step: step.role in STREAM):
        lanes = groupby(some, key=lambda step: stop_of(step.role))
        body = "".join(_lane(look, stop, list(part), seen) for stop, part in lanes)
        parts.append(_on_belt(body) if on_belt else _detour(look, name, body))
    first = "open" if name == FIRST else None
    folded = tag("details", head, says, div("lanes", *parts), open=first, data_fold=name)
    return tag("section", folded, cls=f"group {name}")


def _on_belt(body: str) -> str:
    return div("on-belt", body)


def _detour(look: Look, group: str, body: str) -> str:
    """What happens beside the belt, with what it takes from it and gives back."""
    takes = {"attention": "reads", "mlp": "reads", "output": "leaves"}.get(group)
    config = look.trace.model.config
    gives = gives_key(config, group) if group in ("attention", "mlp") else None
    before = para(look.t(f"path.{takes}"), "flow") if takes else ""
    after = para(look.t(gives), "flow back") if gives else ""
    return div("beside", before, body, after)


def _lane(look: Look, stop: str, steps: list[Step], seen: set[str]) -> str:
    """The steps of one stop, side by side."""
    anchor = None if stop in seen else f"stop-{stop}"
    seen.add(stop)
    cards = [_sum(look, step) if _adds(step) else _card(look, step) for step in steps]
    label = "" if anchor is None and stop == "position" else tag("h4", esc(look.t(f"stops.{stop}")))
    return div("lane", label, div("cards", *cards), id=anchor)


def _adds(step: Step) -> bool:
    return step.role in STREAM and len(step.inputs) == 2


def _card(look: Look, step: Step) -> str:
    key = step_key(look.trace.model.config, step.role)
    return tag(
        "figure",
        tag("figcaption", tag("b", esc(look.t(f"{key}.title"))), _formula(step)),
        picture(look, step.name),
        _facts(look, step),
        para(look.t(f"{key}.says")),
        cls="card",
    )


def _formula(step: Step) -> str:
    return tag("span", esc(step.formula), cls="formula")


def _facts(look: Look, step: Step) -> str:
    """The shape, in words and as the arrays have it; the head, and how the selected row begins."""
    sizes = " × ".join(f"{size:,}" for size in look.trace.shape(step.name))
    words = look.shape_words(step.name)
    facts = tag("span", esc(words), cls="shape", title=f"{step.name} [{sizes}]")
    n_heads = look.trace.shape(step.name)[0]
    own = {"head": look.head, "kv_head": look.kv_head}.get(step.axes[0])
    if own is not None and n_heads > 1:
        facts += tag("span", esc(look.t("path.head", i=str(own), n=n_heads)))
    row = own_row(look, step.name)
    if row is not None:
        name = chip(look.trace.tokens[look.token], look.token, cls="tok mini")
        facts += tag("span", name, " ", esc(look.some_numbers(row)), cls="numbers")
    return div("facts", facts)


def _sum(look: Look, step: Step) -> str:
    """Two pictures that add up to a third: what the belt had, what was added, what it has now."""
    names = [*step.inputs, step.name]
    parts = []
    for sign, name in zip(("", "+", "="), names, strict=True):
        part = look.trace.step(name)
        title = look.t(f"steps.{generic(part.role)}.title")
        row = own_row(look, name)
        numbers = "" if row is None else tag("span", esc(look.some_numbers(row, 3)), cls="numbers")
        drawn = picture(look, name, legend=name == step.name)
        parts.append(tag("span", sign, cls="sign") if sign else "")
        parts.append(div("term", tag("b", esc(title)), drawn, numbers))
    key = step_key(look.trace.model.config, step.role)
    title = tag("figcaption", tag("b", esc(look.t(f"{key}.title"))), _formula(step))
    row_of = look.t("path.row_of", token=shown(look.trace.tokens[look.token]))
    note = tag("span", esc(row_of)) if own_row(look, step.name) is not None else ""
    facts = div("facts", tag("span", esc(look.shape_words(step.name)), cls="shape"), note)
    return tag(
        "figure", title, div("sum", *parts), facts, para(look.t(f"{key}.says")), cls="card wide"
    )
