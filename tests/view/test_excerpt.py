"""Of a long text, its end is what an experiment runs the model on again."""

import pytest

import core
from core.graph import Step
from core.view.look import EXCERPT, Look
from tests.support.app import open_page, said

WORDS = "and the king said unto them in the house of the lord "
LONG = WORDS * 8  # 96 tokens


def look_at(trace, token):
    return Look(None, trace, None, 0, 0, token)


def test_a_short_text_is_its_own_excerpt():
    short = look_at(core.load("bundled").trace(WORDS), 0)
    assert short.excerpt() is short


def test_the_excerpt_is_the_end_and_looks_where_it_did():
    trace = core.load("bundled").trace(LONG)
    left_out = len(trace) - EXCERPT
    short = look_at(trace, left_out + 3).excerpt()
    assert short.trace.ids == trace.ids[-EXCERPT:] and short.token == 3
    other = look_at(trace, left_out - 1).excerpt()
    assert other.trace is short.trace and other.token == EXCERPT - 1


def test_an_excerpt_keeps_changed_weights():
    trace = core.load("bundled").trace(LONG).edit({"embed.W_E": {(0, 0): 5.0}})
    assert look_at(trace, 0).excerpt().trace.value("embed.W_E", (0, 0)) == 5.0


@pytest.mark.parametrize("page", ["position", "norm"])
def test_pages_that_run_the_model_again_do_so_for_the_end(page, monkeypatch):
    """So that the whole text is read once at most, whatever a page tries out."""
    read, compute = [], Step.compute

    def counted(step, *inputs):
        value = compute(step, *inputs)
        if step.role == "attn.q":
            read.append(value.shape[1])
        return value

    monkeypatch.setattr(Step, "compute", counted)
    model, prompt = core.load("bundled"), LONG + f"the end of the {page}"
    at = open_page(page, model="bundled", prompt=prompt)
    assert read.count(len(model.trace(prompt))) <= model.config.n_layers <= read.count(EXCERPT)
    assert f"only the last {EXCERPT} are used" in said(at)
