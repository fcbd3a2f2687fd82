"""Element reads by name and index, and what they say when either does not exist."""

import pytest

from tests.support.random_models import IDS, random_model

TRACE = random_model("gpt2").trace(IDS)
each_read = pytest.mark.parametrize("read", [TRACE.value, TRACE.explain])


@each_read
@pytest.mark.parametrize("index", [(), (0,), (0, 1), (0, 1, 2, 3)], ids=str)
def test_wrong_number_of_indices_names_the_axes(read, index):
    with pytest.raises(IndexError, match=r"scores has the axes head query key: 3 indices"):
        read("blocks.0.attn.scores", index)


@each_read
@pytest.mark.parametrize(
    "index, message",
    [
        ((4, 0, 0), "head index 4 is outside 0 to 3"),
        ((0, 8, 0), "query index 8 is outside 0 to 7"),
        ((0, 0, -9), "key index -9 is outside 0 to 7"),
    ],
)
def test_an_index_out_of_range_names_its_axis(read, index, message):
    with pytest.raises(IndexError, match=message):
        read("blocks.0.attn.scores", index)


@each_read
def test_weights_are_checked_too(read):
    with pytest.raises(IndexError, match=r"W_Q has the axes head d_model d_head"):
        read("blocks.0.attn.W_Q", (0, 0))
    with pytest.raises(IndexError, match="d_model index 16 is outside 0 to 15"):
        read("blocks.0.attn.W_Q", (0, 16, 0))


@pytest.mark.parametrize(
    "read",
    [
        TRACE.__getitem__,
        TRACE.step,
        TRACE.shape,
        TRACE.cost,
        lambda name: TRACE.value(name, (0,)),
        lambda name: TRACE.explain(name, (0,)),
        lambda name: TRACE.read(["logits", name]),
    ],
)
def test_an_unknown_name_suggests_similar_ones(read):
    with pytest.raises(KeyError, match=r"blocks\.0\.attn\.scoers.*did you mean.*attn\.scores"):
        read("blocks.0.attn.scoers")


@pytest.mark.parametrize(
    "name", ["tokens.ids", "embed.onehot", "blocks.1.attn.scores_masked", "embed.W_E", "probs"]
)
def test_elements_are_python_floats(name):
    index = (0,) * len(TRACE.shape(name))
    assert type(TRACE.value(name, index)) is float
    found = TRACE.explain(name, index)
    assert type(found.value) is float
    assert all(type(factor.value) is float for term in found.terms for factor in term.factors)
    assert all(type(term.value) is float for term in found.terms)


def test_whether_a_trace_has_a_step():
    assert "blocks.1.attn.q" in TRACE
    assert "blocks.2.attn.q" not in TRACE
    assert "embed.W_E" not in TRACE
