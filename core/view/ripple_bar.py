"""What followed from a change, in one line under the strip of every page."""

from __future__ import annotations

from core.graph import StepDiff
from core.view import elements
from core.view.compare import SIDES, Comparison
from core.view.html import chip, div, esc, para, shown, tag
from core.view.look import Look
from core.view.ripple_words import step_name
from core.view.strip import OVERVIEW, step_goal

LOOKED_UP = {"embed.W_E", "embed.W_P"}  # of these only the rows of the text's tokens are used
MOST = 6  # tokens that are named
MAP = "stop-ripple"  # where on the Overview the whole ripple is drawn


def ripple_bar(look: Look) -> str:
    """How many steps changed, where first, which tokens are new, and which side is shown.

    Empty where nobody changed anything.
    """
    if look.compared is None:
        return ""
    line = div("count", _count(look), _tokens(look))
    foot = div("foot", _legend(look), _travels(look)) if has_picture(look.compared) else ""
    key = para(look.t("ripple.bar.numbers"), "path-key") if look.compared.ripple.first else ""
    parts = div("line", line, _sides(look)), foot, key, *_notes(look)
    return tag("section", *parts, cls="ripple-bar", aria_label=look.t("ripple.bar.label"))


def has_picture(compared: Comparison) -> bool:
    """Whether there is something to see on the Overview: another text has another last token."""
    return bool(compared.ripple.count) or compared.before.ids != compared.after.ids


def _count(look: Look) -> str:
    t, ripple = look.t, look.compared.ripple
    rounded, total = len(ripple.rounded), len(ripple.diffs)
    says = tag("b", esc(t("ripple.bar.count", n=ripple.count - rounded, total=total)))
    more = f"; {t('ripple.bar.rounded', n=rounded)}" if rounded else ""
    if ripple.first is None:
        return tag("span", says, esc(f"{more or '.'} {_nothing(look)}"))
    link = tag(
        "a", esc(first_words(look, ripple.first)), **step_goal(look.state, ripple.first.name)
    )
    return tag("span", says, esc(t("ripple.bar.first")), " ", link, esc(more))


def _nothing(look: Look) -> str:
    """Why nothing followed: from another text, and from the numbers and switches."""
    t, compared = look.t, look.compared
    old, new = compared.before, compared.after
    says = [_same_rows(look)] if old.ids != new.ids else []
    if not says or new.edits or new.model.config != old.model.config:
        says.append(t(f"ripple.nothing.{why_nothing(compared)}"))
    return " ".join(says)


def _same_rows(look: Look) -> str:
    """Why the rows of another text are what they were."""
    t, compared = look.t, look.compared
    gone = [old for i, old in enumerate(compared.before.tokens) if i not in compared.rows]
    if not gone:
        return t("ripple.nothing.moved")
    straight = compared.rows == tuple(range(len(compared.rows)))
    key = "shortened" if straight and compared.after.model.config.causal else "left"
    words = ", ".join(f"“{shown(token.strip() or token)}”" for token in gone[:MOST])
    words += ", …" if len(gone) > MOST else ""
    return t(f"ripple.nothing.{key}", n=len(gone), words=words)


def first_words(look: Look, diff: StepDiff) -> str:
    """The first step that changed, and the weights that were changed before it."""
    t, compared = look.t, look.compared
    after, name = compared.after, step_name(look.t, diff.name)
    if diff.name not in after:
        return t("ripple.bar.gone_step", step=name)
    if diff.name in after.edits:
        return t("ripple.bar.by_hand", step=name)
    old = compared.before.weights
    causes = [
        elements.within(part).rpartition(".")[2]
        for part in after.step(diff.name).inputs
        if part in after.weights and after.weights[part] is not old.get(part)
    ]
    return f"{', '.join(causes)} → {name}" if causes else name


def why_nothing(compared: Comparison) -> str:
    """Why nothing followed: the key of a sentence."""
    after, before = compared.after, compared.before
    if after is before:
        return "unfit" if compared.applied.unfit else "off"
    if not after.edits:  # a switch
        return "absorbed"
    other = {name for name in after.edits if _is_another(name, compared)}
    if not other:
        return "equal"
    return "unused" if other <= LOOKED_UP else "absorbed"


def _is_another(name: str, compared: Comparison) -> bool:
    """Whether a weight differs; a step that does would have been counted."""
    new, old = (trace.weights.get(name) for trace in (compared.after, compared.before))
    return new is not None and (old is None or not new.equal(old))


def _tokens(look: Look) -> str:
    """For another text: the tokens that are new, in another's place, elsewhere, and gone."""
    compared, t = look.compared, look.t
    old, new, rows = compared.before, compared.after, compared.rows
    if old.ids == new.ids:
        return ""
    added = [chip(new.tokens[i], i, cls="tok mini") for i, row in enumerate(rows) if row is None]
    swapped = [
        esc(f"{shown(old.tokens[row])} → ") + chip(new.tokens[i], i, cls="tok mini")
        for i, row in enumerate(rows)
        if row is not None and old.ids[row] != new.ids[i]
    ]
    moved = sum(row not in (None, i) and old.ids[row] == new.ids[i] for i, row in enumerate(rows))
    gone = [tag("s", esc(shown(old.tokens[i]))) for i in range(len(old)) if i not in rows]
    parts = [
        _named(look, key, found)
        for key, found in (("added", added), ("swapped", swapped), ("gone", gone))
        if found
    ]
    if moved:
        parts.append(tag("span", esc(t("ripple.bar.moved", n=moved))))
    return "".join(parts)


def _named(look: Look, key: str, found: list[str]) -> str:
    rest = len(found) - MOST
    more = esc(look.t("overview.belt.more", n=rest)) if rest > 0 else ""
    label = esc(look.t(f"ripple.bar.{key}"))
    return tag("span", label, " ", " ".join(found[:MOST]), " ", more, cls="tokens")


def _travels(look: Look) -> str:
    """A link to the picture of the whole ripple."""
    where = {"data_page": OVERVIEW, "data_anchor": MAP}
    href = f"./{look.state.address()}#{MAP}"
    return tag("a", esc(look.t("ripple.bar.travels")), href=href, **where)


def _sides(look: Look) -> str:
    """Which of the two is shown, or what is between them."""
    options = (
        tag(
            "a",
            esc(look.t(f"ripple.side.{side}")),
            aria_current="true" if side == look.side else None,
            title=look.t(f"ripple.side.{side}_says"),
            **look.state.link(side=side),
        )
        for side in SIDES
    )
    return div("sides", *options, role="group", aria_label=look.t("ripple.side.label"))


def _legend(look: Look) -> str:
    """How to read what is marked on this side."""
    mark = tag("i", cls="swatch changed") if look.side != "before" else ""
    return tag("p", mark, esc(look.t(f"ripple.side.{look.side}_says")))


def _notes(look: Look) -> list[str]:
    unfit = len(look.compared.applied.unfit)
    return [para(look.t("ripple.bar.unfit", n=unfit), "unfit")] if unfit else []
