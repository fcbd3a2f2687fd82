"""What each stage of sampling did, where a draw falls, and what many draws come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.generate.sampling import Distribution, Stage


@dataclass(frozen=True)
class Row:
    """One token before and after a stage.

    before, after: its probability. decides: what the stage looks at: its logit (repetition
    penalty), its distance to the largest logit (temperature), its rank (top-k), what all likelier
    tokens hold together (top-p), its share of the likeliest (min-p). turned: that, after the
    stage, where the stage changes it. stays: whether it was left in.
    """

    id: int
    before: float
    after: float
    decides: float
    turned: float | None
    stays: bool


@dataclass(frozen=True)
class Rest:
    """All tokens that have no row: how many there were, how many stay, and what they held."""

    n: int
    kept: int
    before: float
    lost: float
    after: float


@dataclass(frozen=True)
class Effect:
    """What one stage did to the whole vocabulary.

    n, kept: the tokens before and after it. held, lost: what those that stay, and those that go,
    had of the probability before. last, first: the least likely that stays and the likeliest that
    goes, None where none goes.
    """

    name: str
    rows: tuple[Row, ...]
    rest: Rest
    n: int
    kept: int
    held: float
    lost: float
    last: int | None
    first: int | None


@dataclass(frozen=True)
class Piece:
    """A stretch of the line on which a draw falls: one token, or `n` too narrow to tell apart."""

    low: float
    high: float
    id: int | None
    n: int


def effect(name: str, before: Stage, after: Stage, ids: Sequence[int]) -> Effect:
    """What the stage `name` did; `ids` are the tokens that get a row of their own."""
    before, after = _here(before), _here(after)
    with torch.inference_mode():
        stays, was_in = after.logits.isfinite(), before.logits.isfinite()
        gone = was_in & ~stays
        rows = tuple(_rows(name, before, after, list(ids)))
        last = first = None
        if gone.any():
            last = int(torch.where(stays, before.logits, torch.inf).argmin())
            first = int(torch.where(gone, before.logits, -torch.inf).argmax())
        held, lost = shares(before, after)
    rest = _rest(rows, before, after, lost)
    return Effect(name, rows, rest, before.kept, after.kept, held, lost, last, first)


def shares(before: Stage, after: Stage) -> tuple[float, float]:
    """What the tokens that stay had of the probability before, and what those that go had."""
    probs, stays = before.probs.cpu().double(), after.logits.cpu().isfinite()
    return probs[stays].sum().item(), probs[~stays].sum().item()


def _here(stage: Stage) -> Stage:
    """On the processor: Apple's GPU has no float64."""
    return replace(stage, logits=stage.logits.cpu(), probs=stage.probs.cpu())


def _rows(name: str, before: Stage, after: Stage, ids: list[int]) -> Iterator[Row]:
    decides, turned = _decides(name, before, after)
    stays = after.logits[ids].isfinite().tolist()
    columns = (before.probs[ids].tolist(), after.probs[ids].tolist(), decides[ids].tolist())
    changed = [None] * len(ids) if turned is None else turned[ids].tolist()
    for token, was, now, value, new, kept in zip(ids, *columns, changed, stays, strict=True):
        yield Row(token, was, now, value, new, kept)


def _decides(name: str, before: Stage, after: Stage) -> tuple[Tensor, Tensor | None]:
    """What the stage looks at in each token, and what it makes of that; both [vocab]."""
    logits, probs = before.logits, before.probs
    if name == "repetition_penalty":
        return logits, after.logits
    if name == "temperature":
        return logits - logits.max(), after.logits - after.logits.max()
    if name == "min_p":
        return probs / probs.max(), None
    order = logits.argsort(descending=True, stable=True)
    if name == "top_k":
        return _placed(torch.arange(1, len(order) + 1), order), None
    sorted_probs = probs.double()[order]
    return _placed(sorted_probs.cumsum(-1) - sorted_probs, order), None


def _placed(values: Tensor, order: Tensor) -> Tensor:
    """Values in order of likelihood, in order of IDs."""
    return values[order.argsort()]


def _rest(rows: Sequence[Row], before: Stage, after: Stage, lost: float) -> Rest:
    return Rest(
        n=before.kept - len(rows),
        kept=after.kept - sum(row.stays for row in rows),
        before=max(0.0, 1 - sum(row.before for row in rows)),
        lost=max(0.0, lost - sum(row.before for row in rows if not row.stays)),
        after=max(0.0, 1 - sum(row.after for row in rows)),
    )


def likeliest(logits: Tensor, n: int, among: Sequence[int] | None = None) -> list[int]:
    """The IDs of the `n` largest finite logits [vocab], of equal ones the lowest IDs first."""
    if among is not None:
        ids = torch.tensor(sorted(set(among)), dtype=torch.long, device=logits.device)
        return ids[likeliest(logits[ids], n)].tolist() if len(ids) else []
    least = logits.topk(min(n, len(logits))).values[-1]
    ids = ((logits >= least) & logits.isfinite()).nonzero().flatten()
    return ids[logits[ids].argsort(descending=True, stable=True)][:n].tolist()


def draws(seed: int, n: int) -> Tensor:
    """The first `n` random numbers [n] of a seed, those that `generate` takes one after another."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, generator=generator, dtype=torch.float64)


def picks(chosen: Distribution, numbers: Tensor) -> Tensor:
    """The token [n] that each of the numbers [n] falls on, as `pick` says it of one."""
    line = _line(chosen.probs)
    places = torch.searchsorted(line, numbers * line[-1], right=True)
    return places.clamp(max=int(chosen.probs.cpu().nonzero()[-1]))


def interval(chosen: Distribution, token_id: int) -> tuple[float, float]:
    """From where to where a token lies on the line from 0 to 1."""
    line = _line(chosen.probs)
    ends = torch.cat([line.new_zeros(1), line]) / line[-1]
    return ends[token_id].item(), ends[token_id + 1].item()


def pieces(
    chosen: Distribution, low: float, high: float, token_id: int, least: float
) -> list[Piece]:
    """The line from `low` to `high`, in order of IDs, cut off at its ends.

    A token is a piece of its own if it is as wide as `least` of the stretch, or `token_id`.
    """
    line = _line(chosen.probs)
    ends = torch.cat([line.new_zeros(1), line]) / line[-1]
    starts, stops = ends[:-1].clamp(low, high), ends[1:].clamp(low, high)
    inside = stops > starts
    wide = (stops - starts >= least * (high - low)) & inside
    wide[token_id] = True
    counts = inside.cumsum(0)
    found: list[Piece] = []
    at, seen = low, 0
    for i in wide.nonzero().flatten().tolist():
        before = int(counts[i]) - int(inside[i])
        if before > seen:
            found.append(Piece(at, starts[i].item(), None, before - seen))
        found.append(Piece(starts[i].item(), stops[i].item(), i, 1))
        at, seen = stops[i].item(), before + 1
    if int(counts[-1]) > seen:
        found.append(Piece(at, high, None, int(counts[-1]) - seen))
    return found


def _line(probs: Tensor) -> Tensor:
    return probs.cpu().double().cumsum(-1)
