"""One element written out: the terms sum to the value, and every reference leads down."""

import math
import random

import pytest
import torch

from core.generate.cache import KVCache
from core.graph import Factor, Ref, Term
from core.graph.explain import Explanation, number
from core.graph.ops import (
    Activation,
    Add,
    Affine,
    Concat,
    Multiply,
    QueryKey,
    Same,
    ScaleShift,
    WeightedSum,
)
from tests.support.explained import (
    assert_references_exist,
    assert_terms_sum,
    random_explanations,
    random_index,
)
from tests.support.random_models import IDS, random_model
from tests.support.subjects import SUBJECTS, example, subject_id, subject_trace

# In these every factor is an element itself; other ops derive some of theirs from one.
PLAIN = (Add, Affine, Concat, Multiply, QueryKey, Same, ScaleShift, WeightedSum)
each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)


@each_subject
def test_terms_sum_to_the_value(subject):
    trace = subject_trace(subject)
    for found in random_explanations(trace):
        assert_terms_sum(trace, found)


@each_subject
def test_references_are_to_elements_of_the_inputs(subject):
    trace = subject_trace(subject)
    for found in random_explanations(trace):
        assert_references_exist(trace, found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["gpt2", "llama", "one-kv-head-interleaved"])
def test_a_decode_step_is_explained_from_its_cache(name, dtype):
    model = random_model(name, dtype)
    cache = KVCache(model)
    cache.append(model.trace(IDS[:6]))
    trace, cached = model.decode(IDS[6:], cache), set()
    for found in random_explanations(trace, count=12):
        assert_terms_sum(trace, found)
        assert_references_exist(trace, found)
        cached |= {ref.name for term in found.terms for ref in term.refs if "cache" in ref.name}
    assert cached == {f"blocks.{i}.cache.{c}" for i in (0, 1) for c in "kv"}


@each_subject
def test_a_factor_that_is_an_element_has_its_value(subject):
    trace, seen = subject_trace(subject), set()
    for found in random_explanations(trace):
        op = trace.step(found.name).op
        if not isinstance(op, PLAIN):
            continue
        seen.add(type(op))
        for factor in (factor for term in found.terms for factor in term.factors):
            (ref,) = factor.refs
            assert factor.value == trace.value(ref.name, ref.index), (found.name, ref)
    assert seen


@each_subject
def test_every_input_that_counts_is_referred_to(subject):
    """Each input turns up in some element's references; a sinusoid only borrows a width."""
    trace = subject_trace(subject)
    found: dict[str, set[str]] = {}
    for explanation in random_explanations(trace):
        refs = {ref.name for term in explanation.terms for ref in term.refs}
        found.setdefault(explanation.name, set()).update(refs)
    for name, refs in found.items():
        step = trace.step(name)
        borrowed = {"embed.token"} if step.role == "embed.position" else set()
        assert refs == set(step.inputs) - borrowed, name


def walk_down(trace, name, index, rng) -> tuple[str, Explanation]:
    """Follow one random reference after the other until there is none."""
    while refs := [r for term in trace.explain(name, index).terms for r in term.refs]:
        ref = rng.choice(refs)
        sizes = trace.shape(ref.name)
        name = ref.name
        pairs = zip(ref.index, sizes, strict=True)
        index = tuple(rng.randrange(size) if i is None else i for i, size in pairs)
    return name, trace.explain(name, index)


@each_subject
def test_references_lead_down_to_tokens_positions_and_weights(subject):
    """The one other end is a masked score: -inf is a constant."""
    trace, rng = subject_trace(subject), random.Random(5)
    for _ in range(40):
        start = random_index(trace.shape("probs"), rng)
        name, last = walk_down(trace, "probs", start, rng)
        if name.endswith("scores_masked"):
            assert last.value == -math.inf
            assert last.index[2] > last.index[1]
        else:
            assert name in trace.weights or name in ("tokens.ids", "tokens.positions")


def test_the_number_on_the_first_page_of_attention():
    """0.6·0.2 + 0.4·1.0 + 0.9·0.1 = 0.61: how much 먹었다 looks at 나는."""
    found = example("part-2").trace("나는 밥을 먹었다").explain("blocks.0.attn.scores", (0, 2, 0))
    assert found.text == "blocks.0.attn.scores[0, 2, 0] = 0.6·0.2 + 0.4·1 + 0.9·0.1 = 0.61"
    assert [term.refs for term in found.terms] == [
        (Ref("blocks.0.attn.q", (0, 2, j)), Ref("blocks.0.attn.k", (0, 0, j))) for j in range(3)
    ]


def test_one_hot_row_points_at_the_token():
    trace = example("block").trace([4])
    hit, miss = (trace.explain("embed.onehot", (0, column)) for column in (4, 3))
    assert (hit.value, miss.value) == (1.0, 0.0)
    assert hit.terms[0].refs == miss.terms[0].refs == (Ref("tokens.ids", (0,)),)


def test_lookup_points_at_the_row_of_the_token():
    found = random_model("gpt2").trace(IDS).explain("embed.token", (4, 7))
    assert found.terms[0].refs == (Ref("tokens.ids", (4,)), Ref("embed.W_E", (IDS[4], 7)))


def test_a_query_head_points_at_the_key_head_that_serves_it():
    """4 heads share 2 kv heads: 0 and 1 the first, 2 and 3 the second."""
    trace = random_model("llama").trace(IDS)
    for head, kv_head in enumerate([0, 0, 1, 1]):
        found = trace.explain("blocks.0.attn.scores", (head, 3, 2))
        assert {ref.index[0] for term in found.terms for ref in term.refs[1:]} == {kv_head}


def test_softmax_points_at_its_score_and_at_the_whole_row():
    found = random_model("gpt2").trace(IDS).explain("blocks.1.attn.weights", (2, 5, 3))
    masked = "blocks.1.attn.scores_masked"
    assert found.terms[0].refs == (Ref(masked, (2, 5, 3)), Ref(masked, (2, 5, None)))


def test_a_masked_score_is_a_constant():
    found = random_model("gpt2").trace(IDS).explain("blocks.0.attn.scores_masked", (0, 2, 3))
    assert found.value == -math.inf
    assert found.terms == (Term((Factor(-math.inf),)),)
    assert found.text == "blocks.0.attn.scores_masked[0, 2, 3] = −∞ = −∞"


@pytest.mark.parametrize("name", ["tokens.ids", "tokens.positions"])
def test_inputs_have_no_terms(name):
    found = random_model("gpt2").trace(IDS).explain(name, (5,))
    assert found.terms == ()
    assert found.value == {"tokens.ids": 9.0, "tokens.positions": 5.0}[name]


def test_weights_have_no_terms():
    trace = random_model("gpt2").trace(IDS)
    found = trace.explain("blocks.0.attn.W_Q", (1, 2, 3))
    assert found.terms == ()
    assert found.value == trace.weights["blocks.0.attn.W_Q"][1, 2, 3].item()


def test_negative_indices_count_from_the_end():
    trace = random_model("gpt2").trace(IDS)
    assert trace.explain("logits", (-1, -2)) == trace.explain("logits", (7, 27))


@pytest.mark.parametrize("kind", ["relu", "gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("z", [-1e200, -800.0, -6.0, -1e-9, 0.0, 1e-9, 3.0, 800.0, 1e200])
def test_gates_of_extreme_values(kind, z):
    """Nothing overflows, and z·gate is what torch computes."""
    gate = Activation(kind).gate(z)
    assert 0 <= gate <= 1
    computed = Activation(kind).compute(torch.tensor(z, dtype=torch.float64)).item()
    assert z * gate == pytest.approx(computed, rel=1e-12, abs=1e-12 * min(abs(z), 1.0))


def test_a_long_sum_shows_its_largest_terms_and_the_rest():
    terms = tuple(Term((Factor(float(v)),)) for v in (1, -20, 3, 40, 5, -60, 7, 80, 9))
    text = Explanation("x", (0,), 65.0, terms).text
    assert text == "x[0] = −20 + 40 − 60 + 7 + 80 + 9 + 9 (3 more) = 65"


def test_the_largest_terms_and_the_rest_are_all_terms():
    found = random_model("gpt2").trace(IDS).explain("logits", (3, 4))
    shown, rest, n_rest = found.largest(5)
    assert len(shown) == 5
    assert n_rest == len(found.terms) - 5
    total = math.fsum(term.value for term in shown) + rest
    assert total == pytest.approx(math.fsum(term.value for term in found.terms), abs=1e-12)
    assert min(abs(t.value) for t in shown) >= max(
        abs(t.value) for t in found.terms if t not in shown
    )


@pytest.mark.parametrize(
    "value, text",
    [
        (0.61, "0.61"),
        (-0.5, "−0.5"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "NaN"),
        (50256.0, "50256"),
        (-12345.0, "−12345"),
        (-0.0, "0"),
        (1234.5678, "1235"),
        (1e12, "1·10¹²"),
        (-1.23456e-5, "−1.235·10⁻⁵"),
        (0.0001234, "0.0001234"),
    ],
)
def test_numbers_are_written_with_real_signs(value, text):
    assert number(value) == text


def test_a_negative_second_factor_stands_in_brackets():
    assert str(Term((Factor(-2.0), Factor(-0.5)))) == "−2·(−0.5)"


@pytest.mark.parametrize("variance", [-1.0, -1e-5])
def test_a_variance_without_a_root_is_explained(variance):
    trace = example("block").trace([0, 1, 2]).edit({"blocks.0.ln_2.var": {(1,): variance}})
    found = trace.explain("blocks.0.ln_2.normed", (1, 0))
    assert not math.isfinite(found.value)
    assert not math.isfinite(found.terms[0].factors[1].value)


def test_a_long_sum_has_the_values_of_its_terms_before_these_are_made():
    """In each op whose terms are a line, with and without a bias."""
    trace = random_model("gpt2", torch.float32).trace(IDS)
    for name in ("attn.q", "attn.scores", "attn.heads", "mlp.hidden", "ln_1.mean", "ln_1.var"):
        terms = trace.explain(f"blocks.0.{name}", (0,) * len(trace.shape(f"blocks.0.{name}"))).terms
        assert list(terms.values) == [term.value for term in terms]
        assert len(terms) == len(list(terms)) and terms[-1] == list(terms)[-1]
        with pytest.raises(IndexError):
            terms[len(terms)]
