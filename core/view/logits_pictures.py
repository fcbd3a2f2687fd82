"""From the last row to a word: the final norm, one dot product per token, softmax, every row."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import core
from core.analysis import logits, residual
from core.graph import Ref
from core.models.config import Config
from core.models.model import Candidate, PromptTrace
from core.view import scale, vector
from core.view.arrays import array
from core.view.cut import Cut, cut
from core.view.html import (
    bar,
    cell,
    chip,
    div,
    esc,
    number,
    para,
    percent,
    picks,
    shown,
    tag,
)
from core.view.look import Look
from core.view.marks import marks, was

TOP = 10  # candidates that are shown
WIDE = 12  # tokens of a large vocabulary whose logits are shown as a matrix
RANK = "rank"  # the state: which of the candidates is looked at, 0 for the likeliest

_hits: WeakKeyDictionary[PromptTrace, int] = WeakKeyDictionary()


def final_rows(look: Look) -> str:
    """The row as the last block leaves it, and after the final norm if there is one."""
    names = final_steps(look)
    ends = {name: scale.end(look.trace, name) for name in names}
    legends = scale.apart(look.t, list(ends.values()))
    rows = (
        _named(look, key, name, ends[name], legend)
        for key, name, legend in zip(("stream", "normed"), names, legends, strict=False)
    )
    return div("labelled-rows", *rows)


def final_steps(look: Look) -> list[str]:
    """The steps that `final_rows` shows."""
    return [residual.stream_steps(look.trace)[-1], *["ln_f.out"] * ("ln_f.out" in look.trace)]


def _named(look: Look, key: str, name: str, limit: float, legend: str) -> str:
    label = para(look.t(f"logits.rows.{key}"))
    return div("labelled", label, vector.row(look, name, look.token, limit, "rows"), legend)


def read(look: Look) -> str:
    """The step that the unembedding reads."""
    return look.trace.step("logits").inputs[0]


def directions(look: Look) -> str:
    """The weight that holds one direction per token."""
    return look.trace.step("logits").inputs[1]


def candidates(look: Look) -> list[Candidate]:
    return look.trace.top(TOP, look.token)


def chosen(look: Look, found: list[Candidate]) -> int:
    """Which of the candidates is looked at."""
    return look.state.index(RANK, len(found), 0)


def cuts(look: Look) -> list[Cut]:
    """The product, of a large vocabulary for the likeliest tokens."""
    trace, t, tied = look.trace, look.t, look.trace.model.config.tied
    large, ids = trace.model.config.n_vocab > WIDE, None
    if large:
        ids = [candidate.id for candidate in trace.top(WIDE, look.token)]
    name = "W_Eᵀ" if tied else "W_U"
    title = f"{name}, {t('logits.matrix.some')}" if large else name
    weight = (ids, None) if tied else (None, ids)
    rows = read_rows(look)
    return [
        cut(trace, read(look), (rows, None), title=t("logits.matrix.read")),
        cut(trace, directions(look), weight, title=title, transposed=tied),
        cut(trace, "logits", (rows, ids), title=t("logits.matrix.logits")),
    ]


def read_rows(look: Look) -> range | None:
    """The tokens whose logits are shown; of a long text those that are computed with ours."""
    tile, n = look.trace.step("logits").tile, len(look.trace)
    start = look.token - look.token % tile
    return range(start, min(start + tile, n)) if n > tile else None


def choice(look: Look, found: list[Candidate], here: int) -> str:
    """The candidates as links, one of them chosen."""
    options = (
        (shown(candidate.text, 14), rank == here, look.state.link(**{RANK: rank}))
        for rank, candidate in enumerate(found)
    )
    return picks(look.t("logits.choose"), options)


def product(look: Look, candidate: Candidate) -> str:
    """The row, the token's direction, and number by number their product: the logit's terms."""
    own = look.values(read(look))[look.token]
    towards = array(residual.direction(look.trace, candidate.id))
    step = read(look)
    names = {"row": step, "direction": directions(look), "product": scale.TERMS}
    ends = {key: scale.end(look.trace, name) for key, name in names.items()}
    token = shown(candidate.text)
    ref, value = Ref("logits", (look.token, candidate.id)), number(candidate.logit)
    link = vector.opens(look, ref, value, "product")
    total = cell("a", esc(value), was(look, ref), cls="opens", **link)
    drawn = {
        "row": vector.row(look, step, look.token, ends["row"], "product"),
        "direction": vector.plain(look, towards, ends["direction"]),
        "product": vector.plain(look, own * towards, ends["product"]),
    }
    legends = scale.apart(look.t, list(ends.values()))
    rows = [
        div("labelled", para(look.t(f"logits.product.{key}", token=token)), row, legend)
        for (key, row), legend in zip(drawn.items(), legends, strict=True)
    ]
    says = tag("p", esc(look.t("logits.product.sum", token=token)), " ", total)
    return div("labelled-rows", *rows, says)


def bars(look: Look, found: list[Candidate]) -> str:
    """The likeliest tokens with logit and probability; each number can be opened."""
    t = look.t
    heads = ("token", "logit", "probability")
    head = div("row head", *(tag("span", esc(t(f"logits.bars.{key}"))) for key in heads))
    ids = [candidate.id for candidate in found]
    both = [marks(look, name, (look.token, ids)) for name in ("logits", "probs")]
    olds = [[part.was(i) for part in both] for i in range(len(ids))]
    rows = [_bar(look, *pair, found[0].prob) for pair in zip(found, olds, strict=True)]
    return div("ranked", head, *rows)


def _bar(look: Look, candidate: Candidate, olds: list[str], top: float) -> str:
    """olds: what logit and probability were before, in words."""
    pair, values = [], (number(candidate.logit), percent(candidate.prob))
    for name, value, old in zip(("logits", "probs"), values, olds, strict=True):
        link = vector.opens(look, Ref(name, (look.token, candidate.id)), value, "bars")
        pair.append(cell("a", esc(value), old, cls="opens", **link))
    word = tag("code", esc(shown(candidate.text, 14)))
    return div("row", word, pair[0], div("prob", bar(candidate.prob / top), pair[1]))


def share(look: Look, found: list[Candidate]) -> str:
    """How much of the whole the shown tokens have."""
    total, part = look.trace.model.config.n_vocab, sum(candidate.prob for candidate in found)
    rest = total - len(found)
    if not rest:
        return look.t("logits.softmax.all", total=total)
    values = {"n": len(found), "rest": rest, "total": total}
    shares = {"share": percent(part), "others": percent(1 - part)}
    return look.t("logits.softmax.share", **values, **shares)


def hits(look: Look) -> str:
    """How often the first choice was right, counted once for a trace; empty for a single token."""
    total = len(look.trace) - 1
    if not total:
        return ""
    if look.trace not in _hits:
        _hits[look.trace] = logits.hits(look.trace)
    return look.t("logits.every.hits", n=_hits[look.trace], total=total)


def table_size(config: Config) -> int:
    """The numbers in a table with one direction per token."""
    return config.n_vocab * config.d_model


def asked(look: Look, word: str) -> str:
    """How likely the word is that somebody typed: as it is, and with a space before it."""
    spellings = dict.fromkeys((word, f" {word.lstrip()}"))
    tokenizer, rows, seen = look.trace.model.tokenizer, [], set()
    for spelling in spellings:
        try:
            ids = tokenizer.encode(spelling)
        except core.UnknownWord:
            known = look.trace.model.config.n_vocab
            return para(look.t("logits.ask.unknown", word=shown(word), known=known))
        if ids and ids[0] not in seen:
            seen.add(ids[0])
            rows.append(_standing(look, spelling, ids))
    return "".join(rows)


def _standing(look: Look, spelling: str, ids: list[int]) -> str:
    found = logits.standing(look.trace, look.token, ids[0])
    text, values = shown(found.text), {"logit": number(found.logit), "share": percent(found.prob)}
    total = look.trace.model.config.n_vocab
    says = [look.t("logits.ask.rank", token=text, rank=found.rank, total=total, **values)]
    if len(ids) > 1:
        says.append(look.t("logits.ask.parts", word=shown(spelling), n=len(ids), token=text))
    return para(" ".join(says))


def every_row(look: Look) -> str:
    """What every position expects next, and what really came there."""
    t = look.t
    listed = look.rows("every")
    shown_rows = [row for row in listed if not isinstance(row, range)]
    found = {guess.pos: guess for guess in logits.guesses(look.trace, shown_rows)}
    heads = ("after", "guess", "came")
    rows = [tag("tr", *(tag("th", esc(t(f"logits.every.{key}")), scope="col") for key in heads))]
    for row in listed:
        if isinstance(row, range):
            rows.append(tag("tr", tag("td", look.gap("every", row), colspan=3)))
        else:
            rows.append(_guess(look, found[row]))
    return div("scroll", tag("table", *rows, cls="plain every"))


def _guess(look: Look, guess: logits.Guess) -> str:
    name = chip(look.trace.tokens[guess.pos], guess.pos, **look.state.link(token=guess.pos))
    best = tag("code", esc(shown(guess.best.text, 14))) + _small(percent(guess.best.prob))
    if guess.real is None:
        came, cls = tag("b", esc(look.t("logits.every.used"))), "used"
    else:
        hit = "hit" if guess.real.rank == 1 else "rank"
        note = look.t(f"logits.every.{hit}", rank=guess.real.rank, share=percent(guess.real.prob))
        came, cls = tag("code", esc(shown(guess.real.text, 14))) + _small(note), None
    cls = "here" if guess.pos == look.token else cls
    cells = (tag("td", best), tag("td", came))
    return tag("tr", tag("th", name, scope="row"), *cells, cls=cls)


def _small(text: str) -> str:
    return tag("span", esc(text), cls="aside")
