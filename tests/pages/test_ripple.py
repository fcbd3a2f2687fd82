"""The ripple on the strip, in the bar and on the Overview, against traces compared here."""

import html
import math
import re

import numpy as np
import pytest

import core
from core.graph.op import Input
from core.models.catalogue import load
from tests.support.app import boards, components, drawn, open_page, said

TEXT = "나는 밥을 먹었다"
LONGER = "In the beginning God created the"
EDIT = "v1~~blocks.0.attn.W_Q~0-0-1~0.8"
EXAMPLE = {"model": "worked-example", "preset": "block"}
ROLES = {  # of every stop of the strip: what is computed there
    "Embedding": ("embed.onehot", "embed.token"),
    "Position": ("embed.position", "embed.sum"),
    "Q K V": ("attn.q", "attn.k", "attn.v"),
    "Scores": ("attn.scores", "attn.scores_scaled", "attn.scores_masked", "attn.weights"),
    "Heads": ("attn.heads", "attn.concat"),
    "W_O": ("attn.out",),
    "Residual": ("resid_in", "resid_mid", "resid_out"),
    "Norm": ("ln_1", "ln_2", "ln_f"),
    "MLP": ("mlp.hidden", "mlp.act", "mlp.out"),
    "Logits": ("logits",),
    "Sample": ("probs",),
}


@pytest.fixture(scope="module")
def traces():
    before = load("worked-example", preset="block").trace(TEXT)
    return before, before.edit({"blocks.0.attn.W_Q": {(0, 0, 1): 0.8}})


def computed(trace):
    return [name for name in trace.steps if not isinstance(trace.step(name).op, Input)]


def gap(before, after, name):
    """Largest difference, and over the largest finite value before."""
    a, b = before[name].numpy(), after[name].numpy()
    with np.errstate(invalid="ignore"):
        differences = np.where(a == b, 0.0, np.abs(a - b))
    return differences.max(), differences.max() / np.abs(a[np.isfinite(a)]).max()


def belongs(name, roles):
    within = name.split(".", 2)[2] if name.startswith("blocks.") else name
    return any(within == role or within.startswith(f"{role}.") for role in roles)


def stops(at):
    """Of each stop by name: whether it is grey, its two numbers, and what it says."""
    found = {}
    for link in re.findall('<a class="stop.*?</a>', drawn(at), re.S):
        name = re.search("<span>([^<]*)</span><span class=.much", link).group(1)
        numbers = re.search('class="much"><span>(.*?)</span><span>(.*?)</span>', link).groups()
        found[name] = "same" in link.split(">")[0], numbers, re.search('title="(.*?)"', link)[1]
    return found


def test_strip_shows_the_largest_and_the_relative_change_of_every_stop(traces):
    found = stops(open_page("scores", **EXAMPLE, edits=EDIT))
    for stop, roles in ROLES.items():
        gaps = [gap(*traces, name) for name in computed(traces[0]) if belongs(name, roles)]
        assert gaps, stop
        largest, relative = max(gaps, key=lambda pair: pair[1])
        grey, numbers, says = found[stop]
        assert grey == (largest == 0), stop
        if not grey:
            written = f"{largest:.2f}" if largest >= 0.00995 else f"{largest:.3f}"
            share = f"{100 * relative:.0f} %" if relative >= 0.0995 else f"{100 * relative:.1f} %"
            assert numbers == (written, share), stop
            assert (written in says and share in says and "block 0" in says) or stop != "Scores"
    assert [found[stop][0] for stop in ("Text", "Tokens")] == [True, True]


def test_the_count_is_exact_and_the_first_step_is_named(traces):
    before, after = traces
    changed = [name for name in computed(before) if not before[name].equal(after[name])]
    at = open_page("mlp", **EXAMPLE, edits=EDIT)
    assert f"{len(changed)} of {len(computed(before))} steps changed" in said(at)
    assert changed[0] == "blocks.0.attn.q"
    assert "W_Q → query in block 0" in said(at)
    assert set(changed) <= after.reached


def test_without_a_change_there_is_neither_bar_nor_number():
    at = open_page("scores", **EXAMPLE)
    assert "ripple-bar" not in drawn(at) and "rippled" not in drawn(at)
    assert 'class="much"' not in drawn(at)


def test_the_side_that_is_shown_is_a_link_and_says_how_to_read_it():
    for side, says in (("before", "before your change"), ("difference", "after − before")):
        at = open_page("scores", **EXAMPLE, edits=EDIT, side=side)
        links = re.search('<div class="sides".*?</div>', drawn(at), re.S).group(0)
        current = re.search(
            r'<a aria-current="true"[^>]*>(.*?)</a>|<a[^>]*aria-current="true"[^>]*>(.*?)</a>',
            links,
        )
        assert side.capitalize() in current.group(0)
        assert says in said(at)


@pytest.mark.parametrize(
    "edits, says",
    [
        ("v1~~-blocks.0.attn.W_Q~0-0-1~0.8", "are paused"),
        ("v1~~blocks.7.attn.W_Q~0-0-1~0.8", "does not fit this text or model"),
        ("v1~~blocks.0.attn.W_Q~0-0-1~0.0", "the same as the old ones"),
        ("v1~~embed.W_E~4-0~0.5", "does not look up"),
    ],
)
def test_nothing_changed_and_why(edits, says):
    at = open_page("scores", **EXAMPLE, edits=edits)
    assert re.search(r"0 of \d+ steps changed", said(at))
    assert says in said(at)
    assert all(grey for grey, *_ in stops(at).values())
    assert not components(open_page("overview", **EXAMPLE, edits=edits), "ripple")


def ripple_map(at):
    (data,) = components(at, "ripple")
    width = len(data["columns"])
    return data, [data["kinds"][i : i + width] for i in range(0, len(data["kinds"]), width)]


def test_map_shows_every_step_of_the_example_and_each_rows_own_change(traces):
    before, after = traces
    data, kinds = ripple_map(open_page("overview", **EXAMPLE, edits=EDIT))
    names = computed(before)
    assert len(data["columns"]) == len(names)
    for j, name in enumerate(names):
        axis = next(i for i, word in enumerate(before.step(name).axes) if word in ("pos", "query"))
        for i in range(3):
            a, b = (t[name].select(axis, i).numpy() for t in (before, after))
            k = i * len(names) + j
            assert (kinds[i][j] == "same") == np.array_equal(a, b), (name, i)
            with np.errstate(invalid="ignore"):
                part = np.where(a == b, 0, np.abs(b - a)).max() / np.abs(a[np.isfinite(a)]).max()
            assert data["strengths"][k] == pytest.approx(math.sqrt(min(part, 1)), abs=0.001)


def test_tokens_before_the_edited_one_stay_untouched():
    at = open_page("overview", **EXAMPLE, edits="v1~~blocks.0.resid_in~1-0~0.3")
    data, kinds = ripple_map(at)
    raw = [j for j, column in enumerate(data["columns"]) if column["text"] in ("score", "scaled")]
    assert raw
    assert all(kind == "same" for j, kind in enumerate(kinds[0]) if j not in raw)
    for row in kinds[1:]:
        assert row.count("same") < len(row) - 5
    assert "no token before “밥을” changed" in said(at)


def test_of_a_deep_model_one_block_is_unfolded():
    edit = {"edits": "v1~~blocks.2.attn.W_Q~0-3-3~2.0", "model": "bundled"}
    data, kinds = ripple_map(open_page("overview", **edit, layer=2))
    spans = {group["text"]: group["span"] for group in data["groups"]}
    assert spans["Block 1"] == spans["Block 5"] == 3 < spans["Block 2"]
    at_two = [column["says"] for column in data["columns"]].index("query in block 2")
    assert all(kind == "same" for row in kinds for kind in row[:at_two])
    assert all(row[at_two] == "cell" for row in kinds)


def test_another_text_is_compared_token_by_token():
    at = open_page("overview", **EXAMPLE, prompt="나는 물을 먹었다", was=TEXT)
    assert "Replaced: 밥을 → 물을" in said(at)
    data, kinds = ripple_map(at)
    assert [row["mark"] for row in data["rows"]] == ["", "new", ""]
    assert stops(at)["Text"][1] == ("1 / 3", "tokens")
    at = open_page("overview", **EXAMPLE, prompt="나는 밥을 먹었다 .", was=TEXT)
    assert "New: ." in said(at)
    _, kinds = ripple_map(at)
    assert set(kinds[3]) == {"new"}
    assert {kind for row in kinds[:3] for kind in row} == {"same"}


def test_next_tokens_before_and_after_are_those_of_both_models(traces):
    page = drawn(open_page("overview", **EXAMPLE, edits="v1~~blocks.0.resid_in~1-0~0.3"))
    before = traces[0]
    after = before.edit({"blocks.0.resid_in": {(1, 0): 0.3}})
    table = re.search('<section class="fates">.*?</table>', page, re.S).group(0)
    rows = re.findall(r"<code>(.*?)</code>.*?([\d.]+) %.*?([\d.]+) %", table, re.S)
    old, new = (
        dict(zip(range(6), trace["probs"][-1].tolist(), strict=True)) for trace in (before, after)
    )
    names = [html.escape(before.model.tokenizer.token_text(i)) for i in range(6)]
    assert len(rows) == 6
    for name, was, now in rows:
        i = names.index(name)
        assert (was, now) == (f"{100 * old[i]:.1f}", f"{100 * new[i]:.1f}")
    half = sum(abs(old[i] - new[i]) for i in range(6)) / 2
    assert f"{100 * half:.1f} % of the probability" in html.unescape(page)


@pytest.mark.parametrize(
    "switch", ["scaled~off", "mask~off", "norm~none", "heads~one", "position~none"]
)
def test_switches_have_a_ripple_too(switch):
    for query in (EXAMPLE, {"model": "bundled"}):
        at = open_page("overview", **query, edits=f"v1~~{switch}", lang="ko")
        assert re.search(r"\d+단계 가운데 \d+단계가 바뀌었어요", said(at))
        assert components(at, "ripple")


def test_core_and_page_agree_on_the_bundled_model():
    model = core.load("bundled")
    before = model.trace(model.default_prompt)
    after = before.edit({"blocks.2.attn.W_Q": {(0, 3, 3): 2.0}})
    changed = [step for step in core.diff(before, after) if step.changed]
    at = open_page("logits", model="bundled", edits="v1~~blocks.2.attn.W_Q~0-3-3~2.0")
    assert f"{len(changed)} of {len(computed(before))} steps changed" in said(at)


def test_a_text_that_lost_its_end_says_so_and_shows_what_comes_next():
    shorter = "In the beginning God created"
    at = open_page("overview", prompt=shorter, was=LONGER)
    assert "The word “the” is gone. No other token sees a later one" in said(at)
    assert "numbers you changed" not in said(at)
    assert stops(at)["Text"][1] == ("1 / 6", "tokens")
    _, kinds = ripple_map(at)
    assert len(kinds) == 5 and "cell" not in {kind for row in kinds for kind in row}
    model = core.load("bundled")
    table = re.search('<section class="fates">.*?</section>', drawn(at), re.S).group(0)
    for text in (LONGER, shorter):
        probs = model.trace(text)["probs"][-1]
        token = html.escape(model.tokenizer.token_text(int(probs.argmax())).strip())
        assert token in table and f"{100 * probs.max().item():.1f} %" in table
    assert "ended with “the” and now ends with “created”" in said(at)


def test_words_that_moved_took_their_rows_along():
    where = {"model": "worked-example", "preset": "part-3-no-position"}
    at = open_page("overview", **where, prompt="밥을 나는 먹었다", was=TEXT)
    assert "The words moved, and each row moved with its word." in said(at)
    assert "numbers you changed" not in said(at)


def test_rounding_of_a_shorter_text_is_told_apart():
    """A change as small as rounding, for on this processor there may be none."""
    edits = "v1~~blocks.0.resid_mid~0-0~{}"
    model = load("worked-example", preset="block")
    value = model.trace("나는 밥을").value("blocks.0.resid_mid", (0, 0))
    at = open_page(
        "qkv", **EXAMPLE, prompt="나는 밥을", was=TEXT, edits=edits.format(repr(value + 3e-16))
    )
    assert re.search(r"0 of \d+ steps changed ?; \d+ more differ only by rounding", said(at))
    grey, numbers, says = stops(at)["MLP"]
    assert grey and numbers == ("≈", "") and "rounding" in says


def test_the_bar_says_what_the_numbers_on_the_path_are():
    at = open_page("scores", **EXAMPLE, edits=EDIT)
    assert "Numbers on the path: largest change, and its part" in said(at)


def test_a_share_of_a_middle_row_leaves_what_follows_the_last_token():
    at = open_page("overview", **EXAMPLE, edits="v1~~blocks.0.attn.weights~0-1-0~0.9")
    assert "After the last token no probability differs." in said(at)
    assert not stops(at)["Sample"][0]


PAGES = ("embedding", "norm", "position", "scores", "heads", "stream", "mlp", "logits")


@pytest.mark.parametrize("side", ["difference", "after"])
@pytest.mark.parametrize("page", PAGES)
def test_a_word_that_is_new_is_nowhere_a_number_that_is_none(page, side):
    texts = {"prompt": "In the very beginning God created the", "was": LONGER}
    at = open_page(page, **texts, token=2, side=side)
    grids = [panel for data in boards(at) for panel in data["panels"]]
    assert "NaN" not in said(at)
    assert not any("NaN" in (*panel["values"], *(panel["before"] or ())) for panel in grids)
