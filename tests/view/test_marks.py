"""What is marked on a picture is what differs bit for bit, and what it was is said."""

import re
from dataclasses import replace

import numpy as np
import pytest

from core.changes import Put, align, apply
from core.graph.op import Input
from core.models.catalogue import load
from core.view import (
    heads_pictures,
    html,
    norm_residual,
    overview_belt,
    qkv_pictures,
    step_pictures,
    vector,
    window,
)
from core.view.board import board, image, shared
from core.view.compare import Comparison, marked
from core.view.cut import cut
from core.view.look import Look
from core.view.marks import Marks, marks
from core.view.texts import speaker
from tests.support.random_models import IDS, random_model
from tests.support.still import Still

EDIT = Put("blocks.0.attn.W_Q", (0, 0, 1), 0.8)


def look_at(before, change=EDIT, side="after", token=1):
    applied = apply(before, [change])
    compared = Comparison(before, applied, tuple(range(len(before))))
    trace = before if side == "before" else applied.trace
    return Look(speaker("en"), trace, Still(), 0, 0, token, compared, side)


@pytest.fixture(scope="module")
def before():
    return load("worked-example", preset="block").trace("나는 밥을 먹었다")


@pytest.fixture(scope="module")
def wide():
    return random_model("gpt2").trace(IDS)


@pytest.mark.parametrize("subject", ["before", "wide"])
def test_marks_are_where_the_bits_differ(subject, request):
    old = request.getfixturevalue(subject)
    look = look_at(old)
    for name in old.steps:
        if isinstance(old.step(name).op, Input):
            continue
        found = marks(look, name, (None,) * len(old.shape(name)))
        differs = old[name].numpy() != look.trace[name].numpy()
        np.testing.assert_array_equal(found.changed, differs, err_msg=name)
        if differs.any():
            np.testing.assert_array_equal(found.before, old[name].numpy())
            assert found.some().startswith(f"{differs.sum():,} of {differs.size:,}")
        else:
            assert found.some() == ""


def test_what_it_was_is_said_only_where_it_changed(before):
    found = marks(look_at(before), "blocks.0.attn.W_Q", (0, None, None))
    assert found.was((0, 1)) == "was 0.00"
    assert found.was((0, 0)) == ""


def test_before_has_no_marks_and_the_difference_keeps_them(before):
    name, index = "blocks.0.attn.q", (0, None, None)
    assert not marks(look_at(before, side="before"), name, index).changed.any()
    after, gap = (
        marks(look_at(before, side=side), name, index) for side in ("after", "difference")
    )
    np.testing.assert_array_equal(after.changed, gap.changed)
    assert after.changed.any()


def test_a_new_token_is_said_to_be_new():
    model = random_model("gpt2")
    old, new = model.trace([3, 4, 5]), model.trace([3, 9, 4, 5])
    compared = Comparison(old, apply(new, []), align(old.ids, new.ids))
    look = Look(speaker("en"), new, Still(), 0, 0, 0, compared)
    found = marks(look, "embed.token", (None, None))
    np.testing.assert_array_equal(found.rows(), [False, True, False, False])
    assert found.was((1, 0)) == "new"


@pytest.mark.parametrize(
    "old, new, says",
    [
        (0.4, 0.7, "was 0.40"),
        (0.4012, 0.4031, "was 0.401, now 0.403"),
        (0.4, 0.4039, "was 0.400, now 0.404"),
        (-0.4, -0.40003, "was −0.40000, now −0.40003"),
        (0.4, 0.4 + 1e-12, "was 0.40"),
    ],
)
def test_old_and_new_that_look_alike_are_told_apart(old, new, says):
    old, new = np.array(old), np.array(new)
    assert Marks(speaker("en"), old, new, old != new).was() == says


def inserted(side):
    model = random_model("gpt2")
    old, new = model.trace([3, 4, 5]), model.trace([3, 9, 4, 5])
    compared = Comparison(old, apply(new, []), align(old.ids, new.ids))
    return Look(speaker("en"), new, Still(), 0, 0, 1, compared, side)


@pytest.mark.parametrize("name, head", [("embed.sum", ()), ("blocks.0.attn.scores_masked", (0,))])
def test_a_difference_from_nothing_is_the_word_new(name, head):
    look, index = inserted("difference"), (*head, None, None)
    found = marked(cut(look.trace, name, index), look.compared, "difference")
    (panel,) = board(look, [found])["panels"]
    values = np.array(panel["values"], object).reshape(found.values.shape)
    old = look.compared.before[name][head].numpy()
    kept = np.ix_([0, 2, 3], [0, 2, 3] if head else range(old.shape[1]))
    assert set(values[1]) == {"new"} and "NaN" not in panel["values"]
    gap = look.trace[name][head].numpy()[kept].astype(float) - np.where(old == -np.inf, 0, old)
    gap[old == -np.inf] = 0.0
    np.testing.assert_allclose(values[kept].astype(float), gap, rtol=1e-8, atol=1e-12)
    assert "new" in board(look, [found.window((1, 0), (1, 2))])["panels"][0]["values"]
    assert shared(look)["words"]["new"] == "new"


def test_a_picture_of_a_difference_is_not_the_one_of_the_numbers_after():
    look, index = inserted("difference"), (None, None)
    plain = cut(look.trace, "embed.sum", index)
    gap = marked(plain, look.compared, "difference")
    after = window.picture(look, marked(plain, look.compared, "after"))
    assert window.picture(look, gap) != after
    assert image(gap) == image(replace(gap, values=np.nan_to_num(gap.values), new=None))


def framed(made):
    return len(re.findall(r'class="(?:[^"]* )?changed(?: [^"]*)?"', made))


def test_pictures_frame_as_many_numbers_as_differ(before):
    look = look_at(before)
    t, u = before, look.trace
    gone = {name: int((t[name] != u[name]).sum()) for name in t.steps}
    rows = {
        name: int((t[name] != u[name])[1].sum()) for name in ("embed.sum", "blocks.0.resid_mid")
    }
    belt = gone["embed.sum"] + gone["blocks.0.resid_out"]
    assert framed(overview_belt.belt(look)) == belt > 0
    assert framed(vector.row(look, "blocks.0.resid_mid", 1, 1.0, "x")) == rows["blocks.0.resid_mid"]
    added = [f"blocks.0.{name}" for name in ("resid_in", "attn.out", "resid_mid")]
    drawn = sum(int((t[name] != u[name])[1].sum()) for name in added)
    assert framed(norm_residual.added(look, "attn")) == drawn > 0
    q, k, v = (int((t[f"blocks.0.attn.{x}"] != u[f"blocks.0.attn.{x}"])[0, 1].sum()) for x in "qkv")
    assert framed(qkv_pictures.jobs(look)) == q + k + v == q > 0
    z = (t["blocks.0.attn.heads"] != u["blocks.0.attn.heads"])[:, 1]
    concat = (t["blocks.0.attn.concat"] != u["blocks.0.attn.concat"])[1]
    assert framed(heads_pictures.side_by_side(look)) == int(z.sum() + concat.sum()) > 0


def test_a_picture_of_thin_bars_says_how_many_changed(wide):
    look = look_at(wide, Put("blocks.0.resid_mid", (1, 3), 2.0))
    name = "blocks.0.resid_mid"
    differs = (wide[name] != look.trace[name])[1]
    made = vector.row(look, name, 1, 1.0, "x")
    assert framed(made) == 1
    assert f"{int(differs.sum())} of {len(differs)} number" in made
    assert framed(vector.row(look, name, 0, 1.0, "x")) == 0


def test_what_was_typed_stays_text():
    made = html.cell("span", "1", 'was <b>"', title='<i>"')
    assert "<b>" not in made and "<i>" not in made
    assert 'title="&lt;i&gt;&quot;, was &lt;b&gt;&quot;"' in made


def test_marks_do_not_wait_for_the_whole_comparison(before):
    look = look_at(before, EDIT)
    assert marks(look, "blocks.0.attn.q", (0, 1, None)).changed.any()
    assert not marks(look, "blocks.0.attn.k", (0, 1, None)).changed.any()
    assert not look.compared.is_compared
    assert look.compared.ripple["blocks.0.attn.q"].changed
    assert look.compared.is_compared


def test_what_is_no_number_in_both_is_not_marked(before):
    """0·∞ is none: what a masked token with an infinite value offers."""
    old = before.edit({"blocks.0.attn.v": {(0, 2, 0): float("inf")}})
    look = look_at(old, EDIT)
    found = marks(look, "blocks.0.attn.heads", (0, None, None))
    assert np.argwhere(np.isnan(found.now)).tolist() == [[0, 0], [1, 0]]
    assert not found.changed[np.isnan(found.now)].any() and found.changed[2, 1]


def test_of_the_one_hot_rows_only_those_that_are_drawn_are_compared(monkeypatch):
    model = load("bundled")
    before, after = model.trace(list(range(40))), model.trace(list(range(40, 80)))
    compared = Comparison(before, apply(after, []), tuple(range(40)))
    look = Look(speaker("en"), after, Still(), 0, 0, 39, compared)
    rows = []
    row = type(after).row
    monkeypatch.setattr(type(after), "row", lambda self, *at: rows.append(at) or row(self, *at))
    made = step_pictures.picture(look, "embed.onehot")
    assert made.count('class="line changed"') == 5
    assert sorted({index for _, index in rows}) == [0, 1, 2, 36, 37]
