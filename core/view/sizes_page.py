"""The parts of the Sizes page: each a sentence, its arithmetic, and a chart of how it grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core import sizes
from core.analysis import recall as lost
from core.models.config import Config
from core.models.model import ContextTooLong
from core.models.tokenizer import UnknownWord
from core.sizes import GIB, Machine
from core.view import sizes_card
from core.view import sizes_tables as tables
from core.view.frame import View
from core.view.html import esc, number, para, percent, picks
from core.view.lesson import Lesson
from core.view.texts import Text
from core.view.unfold import unfold

QUICK = 50_000_000  # parameters up to which a model reads eight texts without being asked to
PLOTLY = {"displayModeBar": False}
# The illustration of the overview that this project grew from: scores, and weights beside them.
WORDS, AT = ("The", "cat", "sat", "on"), 2
SCORES = np.array([1.2, 4.1, 3.0, 0.4])
PRINTED = np.array([0.05, 0.60, 0.31, 0.04])
SCALE = 2.0  # √d_head for d_head = 4, chosen for the example


@dataclass(frozen=True)
class Card:
    """What is calculated with: a model's numbers, and what it is called."""

    title: str
    config: Config


@dataclass(frozen=True)
class Use:
    """How it is used: tokens in the text, people at once, and the precision of the cache."""

    n_tokens: int
    people: int
    precision: str


def card(lesson: Lesson, view: View) -> Card:
    lesson.part("card")
    key, config = sizes_card.choose(view)
    return Card(sizes_card.title(view, key), config)


def parameters(lesson: Lesson, card: Card) -> None:
    t, config = lesson.view.t, card.config
    total = sizes.total(sizes.parameters(config))
    lesson.part("parameters", name=card.title, total=tables.short(total))
    st.html(tables.parameters(t, config))
    blocks = sizes.block_matrices(config)
    if config.tied:
        more = config.n_vocab * config.d_model
        lesson.say("parameters.tied", more=f"{more:,}", untied=f"{total + more:,}")
    lesson.say("parameters.blocks", n=f"{blocks:,}", share=percent(blocks / total))
    _in_each_block(lesson, config)
    lesson.why("why_blocks")


def _in_each_block(lesson: Lesson, config: Config) -> None:
    """How the matrices of one block are shared out between attention and MLP."""
    attention, mlp = (
        sum(line.value for line in sizes.matrices(config) if line.group == group)
        // max(config.n_layers, 1)
        for group in ("attention", "mlp")
    )
    if attention and mlp:
        ratio = f"{mlp / attention:.3g}"
        lesson.say("parameters.each", attention=f"{attention:,}", mlp=f"{mlp:,}", ratio=ratio)


def memory(lesson: Lesson, card: Card) -> None:
    lesson.part("memory")
    st.html(tables.precisions(lesson.view.t, card.config))


def cache(lesson: Lesson, view: View, card: Card) -> Use:
    t, config = view.t, card.config
    lesson.part("cache")
    with st.container(key="cache_controls", horizontal=True):
        n_tokens = _number(view, "len", 1, _most(config), min(config.n_ctx, 2048))
        use = Use(n_tokens, _number(view, "people", 1, 10_000, 1), _precision(view, "kv"))
    st.html(tables.cache(t, config, use.n_tokens, use.people, use.precision))
    if config.n_layers:
        lesson.say("cache.sharing")
        st.html(tables.sharing(t, config, use.precision))
        _chart("cache", t, config, max(use.n_tokens, config.n_ctx, 2), use.precision)
    return use


def prefill(lesson: Lesson, card: Card, use: Use) -> None:
    t, config = lesson.view.t, card.config
    lesson.part("prefill")
    found = sizes.prefill(config, use.n_tokens)
    parts = (("linear", found.linear), ("quadratic", found.quadratic))
    rows = [
        (
            esc(t(f"sizes.chart.{part}_grows")),
            esc(f"{value:,}"),
            percent(value / found.multiply_adds),
        )
        for part, value in parts
    ]
    heads = [t(f"sizes.head.{key}") for key in ("what", "multiply_adds", "share")]
    st.html(tables.table(heads, rows))
    if config.n_layers:
        each = 2 * config.n_layers * config.n_heads * config.d_head
        equal = round(sizes.block_matrices(config) / each)
        lesson.say("prefill.equal", n=f"{equal:,}")
        _chart("prefill", t, config, max(use.n_tokens, config.n_ctx, equal + equal // 2, 2))


def decode(lesson: Lesson, view: View, card: Card, use: Use) -> str:
    """The precision of the weights that was chosen."""
    t, config, people = view.t, card.config, use.people
    lesson.part("decode")
    with st.container(key="decode_controls", horizontal=True):
        machine, precision = _machine(view), _precision(view, "weights")
    step = sizes.decode_time(config, use.n_tokens, machine, people, precision)
    prompt = sizes.prefill_time(config, use.n_tokens, machine, people, precision)
    rows = [
        (
            esc(t(f"sizes.decode.{name}", n=f"{use.n_tokens:,}")),
            esc(tables.seconds_text(time.compute)),
            esc(tables.seconds_text(time.traffic)),
            esc(t(f"sizes.decode.bound.{time.bottleneck}")),
        )
        for name, time in (("prefill", prompt), ("decode", step))
    ]
    heads = [t(f"sizes.head.{key}") for key in ("what", "compute", "traffic", "bound")]
    st.html(tables.table(heads, rows))
    speed = 1 / step.seconds
    lesson.say("decode.speed", n=f"{speed:,.1f}", all=f"{people * speed:,.1f}")
    _chart("decode", t, config, max(use.n_tokens, config.n_ctx, 2), people, precision)
    crossing = sizes.crossing(config, use.n_tokens, machine, precision)
    if crossing is None:
        lesson.say("decode.never")
    else:
        lesson.say("decode.crossing", n=f"{crossing:,.0f}")
    most = int(min(max(4 * (crossing or 64), 4), 4096))
    _chart("bottleneck", t, config, use.n_tokens, machine, most, precision)
    return precision


def fits(lesson: Lesson, view: View, card: Card, use: Use, weights: str) -> None:
    lesson.part("fit", name=card.title)
    held = _number(view, "memory_gib", 0.1, 100_000.0, 24.0, whole=False)
    needed = sizes.needed(card.config, use.n_tokens, use.people, weights, use.precision)
    st.html(tables.fits(view.t, needed, held * GIB))
    said = {"weights": weights, "kv": use.precision, "n": use.people}
    lesson.say("fit.with", tokens=f"{use.n_tokens:,}", **said)


def four_tokens(lesson: Lesson, view: View) -> None:
    """Printed scores and weights, and the softmax that really follows from the scores."""
    t = view.t
    lesson.part("four")
    hidden = np.where(np.arange(len(SCORES)) > AT, -np.inf, SCORES)
    rows = [
        ("scores", SCORES),
        ("printed", PRINTED),
        ("softmax", softmax(SCORES)),
        ("scaled", softmax(SCORES / SCALE)),
        ("masked", softmax(hidden)),
        ("both", softmax(hidden / SCALE)),
    ]
    written = [
        (esc(t(f"sizes.four.{key}")), *(esc(number(value)) for value in row)) for key, row in rows
    ]
    st.html(tables.table([t("sizes.four.row"), *WORDS], written, cls="sums plain"))
    one, other = (
        np.diff(SCORES[pair]) / np.diff(np.log(PRINTED[pair])) for pair in ([2, 1], [0, 2])
    )
    lesson.say("four.no_scale", one=number(one.item()), other=number(other.item()))
    lesson.say("four.mask")


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp, divided by its sum."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def recall(lesson: Lesson, view: View) -> None:
    """A fact at the start, in the middle and at the end of a text, and how well it is used."""
    lesson.part("recall")
    if sizes.total(sizes.parameters(view.model.config)) <= QUICK:
        _measured(lesson, view)
        return
    asked = unfold(lesson.text("recall.asks"), "sizes.recall_asked")
    if asked.open:
        with asked:
            _measured(lesson, view)


def _measured(lesson: Lesson, view: View) -> None:
    t, state = view.t, view.state
    name = state.choice("fact", lost.NAMES, lost.NAMES[0])
    try:
        found = _recall(view.look.trace.model.key, view.model.variant, name, view.look.trace.model)
    except (ContextTooLong, UnknownWord):
        lesson.elsewhere("recall_none", model=sizes_card.BUNDLED)
        return
    st.html(
        picks(t("sizes.recall.choose"), [(n, n == name, state.link(fact=n)) for n in lost.NAMES])
    )
    st.html(para(lost.text_with_fact(name, 0), "quote"))
    without, *with_fact = found
    last = len(with_fact) - 1
    names = [_place(t, one.place or 0, last) for one in with_fact]
    _chart("recall", t, names, [one.prob for one in with_fact], without.prob)
    best = max(with_fact, key=lambda one: one.prob)
    worst = min(with_fact, key=lambda one: one.prob)
    lesson.say(
        "recall.measured",
        name=name,
        best=_place(t, best.place or 0, last),
        high=percent(best.prob),
        worst=_place(t, worst.place or 0, last),
        low=percent(worst.prob),
        without=percent(without.prob),
        n=best.n_tokens,
    )
    lesson.say("recall.honest")


def _place(t: Text, place: int, last: int) -> str:
    if place in (0, last):
        return t(f"sizes.recall.{'first' if place == 0 else 'last'}")
    return t("sizes.recall.after", n=place)


@st.cache_data(max_entries=16, show_spinner=False)
def _recall(key: str, variant: str, name: str, _model: object) -> list[lost.Recall]:
    return lost.recall(_model, name)


def _chart(kind: str, *values: object) -> None:
    from core.view import sizes_charts  # plotly takes a while to import, and other pages need none

    figure = getattr(sizes_charts, kind)(*values)
    st.plotly_chart(figure, key=f"sizes.{kind}", config=PLOTLY)


def _most(config: Config) -> int:
    return max(config.n_ctx, 1_000_000)


def _number(
    view: View, key: str, low: float, high: float, default: float, *, whole: bool = True
) -> float:
    """A field for a number that is kept in the address."""
    value = view.state.number(key, low, high, default, whole=whole)
    text = view.t(f"sizes.field.{key}")
    st.number_input(text, low, high, key=key, persist_state="session", width=190)
    return value


def _precision(view: View, key: str) -> str:
    options = list(sizes.PRECISIONS)
    value = view.state.choice(key, options, "bf16")
    text = view.t(f"sizes.field.{key}")
    st.segmented_control(text, options, key=key, required=True, persist_state="session")
    return value


def _machine(view: View) -> Machine:
    flops = _number(view, "tflops", 0.001, 1e6, 100.0, whole=False)
    bandwidth = _number(view, "gb_s", 0.1, 1e6, 1000.0, whole=False)
    return Machine(flops * 1e12, bandwidth * 1e9, 0.0)
