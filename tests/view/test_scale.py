"""One scale for one quantity: on every page, for every prompt, after every edit."""

import gc
import html
import re

import numpy as np
import pytest

import core
from core.view import engine, scale
from core.view.elements import role
from core.view.figures import NEGATIVE, POSITIVE, degree, strength
from core.view.texts import speaker
from tests.support.app import boards, drawn, open_page

PAGES = "overview embedding position qkv scores heads norm mlp logits stream"
LONG = "It is a truth universally acknowledged, that a single man in possession of a good fortune"
LOOKS = {
    "bundled": [{"prompt": p, "layer": i} for p, i in (("Hi", 0), (LONG, 5))],
    "worked-example": [{"prompt": p} for p in ("나는", "밥을 밥을 나는 먹었다")],
}
# What a person compares because it stands side by side, most often as the terms of a sum.
ALIKE = (
    "embed.W_E embed.W_P embed.token embed.position embed.sum resid_in attn.out resid_mid mlp.out",
    "attn.scores attn.scores_scaled attn.scores_masked",
    "attn.q attn.k attn.v attn.heads attn.concat",
    "attn.W_Q attn.W_K attn.W_V",
    "norm.normed norm.out",
    "mlp.hidden mlp.act",
)


@pytest.fixture(scope="module", params=LOOKS)
def model(request):
    preset = {"preset": "block"} if request.param == "worked-example" else {}
    return core.load(request.param, **preset)


@pytest.fixture(scope="module")
def reference(model):
    return model.trace(model.default_prompt)


@pytest.fixture(scope="module")
def pages(model):
    """Every page for every prompt."""
    looks = [{key: str(v) for key, v in look.items() if v} for look in LOOKS[model.key]]
    return [open_page(name, model=model.key, **look) for look in looks for name in PAGES.split()]


def exact(end):
    return float(end), degree(end)


def marks(end):
    """What a legend of this scale writes, for the eye and by hand."""
    top, half = float(end), float(end) / 2 ** degree(end)
    values = [-top, 0, top] if degree(end) == 1 else [-top, -half, 0, half, top]
    written = [f"{value:.3g}".replace("-", "−") for value in values]
    return (f"≤ {written[0]}", *written[1:-1], f"≥ {written[-1]}")


def test_matrices_of_all_pages_and_prompts_agree(pages, reference):
    found = {}
    for page in pages:
        for board in boards(page):
            for panel in board["panels"]:
                if panel["kind"] == "signed":
                    ends = found.setdefault(role(panel["name"]), set())
                    ends.add((panel["limit"], panel["degree"]))
    assert {"resid_out", "attn.out", "attn.scores", "attn.q", "embed.W_E", "logits"} <= set(found)
    for kind, ends in found.items():
        names = [*reference.steps, *reference.weights]
        name = next((name for name in names if role(name) == kind), kind)
        assert ends == {exact(scale.end(reference, name))}, kind


def test_what_stands_side_by_side_shares_a_scale(reference):
    ends = {role(n): scale.end(reference, n) for n in (*reference.steps, *reference.weights)}
    for roles in ALIKE:
        assert len({exact(ends[kind]) for kind in roles.split()}) == 1, roles


def test_legends_of_all_pages_are_those_of_the_table(pages, reference):
    names = (*reference.steps, *reference.weights, scale.TERMS, scale.ONE_MATRIX)
    known = {marks(scale.end(reference, name)) for name in names}
    known.add(("≤ −1", "0", "≥ 1"))  # cosines
    for page in pages:
        written = re.findall(r'<div class="ends">(.*?)</div>', drawn(page))
        ends = [tuple(re.findall("<span>(.*?)</span>", html.unescape(one))) for one in written]
        ends += [
            tuple(legend["ends"])
            for board in boards(page)
            for legend in board["legends"]
            if legend["kind"] == "signed"
        ]
        signed = {one for one in ends if one[0].startswith("≤")}
        assert signed <= known


def test_every_number_of_the_stream_has_its_colour_on_every_page():
    """The worked example writes its numbers out: each tells the scale that it was coloured with."""
    reference = core.load("worked-example", preset="block").trace([0, 1, 2])
    end, count = scale.end(reference, "embed.sum"), 0
    cell = re.compile(
        rf"background:color-mix\(in srgb, (?:{NEGATIVE}|{POSITIVE}) (\d+)%[^>]*>([^<]+)<"
    )
    for page, part in (
        ("stream", r'<div class="journey">(.*?)<div class="legends">'),
        ("overview", r'<div class="belt"(.*?)<div class="legends">'),
        ("norm", r'<div class="stack">(.*?)<div class="legends">'),
    ):
        for prompt in ("나는 밥을 먹었다", "밥을 밥을 나는 먹었다"):
            at = open_page(page, model="worked-example", prompt=prompt)
            for percent, text in cell.findall(re.search(part, drawn(at), re.S).group(1)):
                size, count = abs(float(text.replace("−", "-"))), count + 1
                low, high = (100 * strength(max(size + off, 0), end) for off in (-0.005, 0.005))
                assert low - 1 <= int(percent) <= high + 1, (page, text)
    assert count > 60


def test_a_scale_covers_the_reference(reference):
    values = {}
    for name in reference.steps:
        if role(name) not in scale.UNSIGNED:
            array = np.abs(reference[name].double().numpy()).ravel()
            values.setdefault(role(name), []).append(array[np.isfinite(array)])
    for kind, arrays in values.items():
        name = next(name for name in reference.steps if role(name) == kind)
        covered = np.concatenate(arrays) <= float(scale.end(reference, name))
        assert covered.mean() >= 0.95 - 0.01, kind  # measured on a sample of a large step


def test_no_matrix_of_the_reference_is_all_pale_or_all_full(reference):
    for name in reference.steps:
        values = np.abs(reference[name].double().numpy())
        values = values[np.isfinite(values) & (values > 0)]
        row_each = len(reference.step(name).axes) > 1  # one number each may well be alike
        if role(name) in scale.UNSIGNED or not row_each:
            continue
        end = scale.end(reference, name)
        high, middle = (strength(float(np.quantile(values, q)), end) for q in (0.95, 0.5))
        assert high > 0.15 and middle < 0.85, (name, high, middle)


def test_scale_is_that_of_the_unedited_model(model, reference):
    name, other = "blocks.0.attn.scores", model.trace([1, 0, 2])
    edited = other.edit({"embed.sum": {(0, 0): 900.0}, "blocks.0.attn.W_Q": {(0, 0, 0): -70.0}})
    for changed in (edited, other.switch(scaled=False), edited.switch(norm="none")):
        for step in (name, "embed.sum", "blocks.0.attn.W_Q", "logits"):
            assert exact(scale.end(changed, step)) == exact(scale.end(reference, step))


def test_a_step_that_the_first_model_lacks_is_measured_where_it_is():
    plain = core.load("worked-example", preset="part-2").trace([0, 1, 2])
    assert float(scale.end(plain.switch(norms=True), "ln_f.out")) > 1.0


def test_model_without_a_prompt_of_its_own_is_measured_too(model):
    bare = model.switch()
    bare.default_prompt = ""
    assert float(scale.end(bare.trace([0, 1]), "embed.sum")) > 0


def test_table_goes_when_its_model_goes():
    model = core.load("worked-example", preset="part-1")
    scale.end(model.trace([0]), "embed.sum")
    assert model in scale._known
    before = len(scale._known)
    del model
    gc.collect()
    assert len(scale._known) < before


def test_pages_share_the_models_of_the_engine():
    """So that a server measures each model once."""
    trace = engine.trace("worked-example", "block", (0, 1))
    scale.end(trace, "embed.sum")
    table = scale._known[trace.model]
    scale.end(engine.trace("worked-example", "block", (2, 1, 0)), "logits")
    assert scale._known[engine.load("worked-example", "block")] is table


def test_shares_have_one_scale_in_every_model_and_for_every_text(model, reference):
    for trace in (reference, model.trace([0])):
        for name in ("blocks.0.attn.weights", "probs", "embed.onehot"):
            assert exact(scale.end(trace, name)) == (1.0, 3)


def test_colours_are_said_to_be_uneven_once():
    t = speaker("en")
    uneven = t("matrix.legend.uneven")
    scales = [("W", 1.0), ("R", scale.Root(5.0)), ("A", scale.Root(1.0))]
    assert scale.says(t, scales) == ["W", f"R · {uneven}", "A"]
    assert scale.says(t, [("", 1.0)]) == [""]
    drawn = scale.legend(t, ("x", scale.Root(5.0)), ("y", scale.Root(2.0)))
    assert drawn.count(uneven) == 1


def test_distinct_scales_are_named_only_where_there_are_several():
    ends = [("X", 5.0), ("W", 1.0), ("Q", 5.0), ("R", scale.Root(5.0))]
    assert scale.distinct(ends) == [("X, Q", 5.0), ("W", 1.0), ("R", 5.0)]
    assert scale.distinct([("X", 5.0), ("Q", 5.0)]) == [("", 5.0)]
