"""The opened number: links, names, arithmetic, for every step and weight in both languages."""

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import core
from core.graph import Graph, Ref, Scope
from core.graph.ops import Affine
from core.models.config import Config
from core.models.gpt import gpt
from core.models.model import Model
from core.models.tokenizer import WordTokenizer
from core.view import elements, opened
from core.view.arithmetic import row_sum, written_out
from core.view.elements import BadLink, checked, decode, encode
from core.view.texts import speaker

NAMES = st.from_regex(r"[A-Za-z0-9_.]{1,60}", fullmatch=True)
INDICES = st.lists(st.integers(0, 9_999_999) | st.none(), min_size=1, max_size=4).map(tuple)
TRAILS = st.lists(st.builds(Ref, NAMES, INDICES), max_size=20).map(tuple)
LIKE_LLAMA = {
    "position": "rotary",
    "norm": "rms",
    "gated": True,
    "activation": "silu",
    "bias_qkv": False,
    "bias_out": False,
    "bias_mlp": False,
    "tied": False,
}


def load(preset):
    model = core.load("worked-example", preset=preset)
    return model.trace(model.default_prompt)


def random_trace(**switches):
    """A small model of random numbers, with whatever parts the switches ask for."""
    config = Config(n_layers=1, n_heads=2, d_model=12, n_vocab=3, n_ctx=8, **switches)
    graph, sizes = Graph(), config.sizes()
    gpt(Scope(graph), config)
    make = torch.Generator().manual_seed(1)
    tensors = {
        name: torch.randn([sizes[axis] for axis in axes], generator=make, dtype=torch.float64)
        for name, axes in graph.weights.items()
    }
    words = WordTokenizer(["<b>", "$x$", "the"])
    model = Model("random", config, tensors, words, torch.device("cpu"), torch.float64)
    return model.trace([2, 2, 0, 1])


@pytest.fixture(scope="module")
def trace():
    return load("block")


TRACES = {
    "block": lambda: load("block"),
    "unmasked": lambda: load("part-2"),
    "gpt2": lambda: random_trace(),
    "llama": lambda: random_trace(**LIKE_LLAMA),
    "sinusoidal": lambda: random_trace(position="sinusoidal", scaled=False),
}


@given(TRAILS)
def test_links_come_back_as_they_were(trail):
    assert decode(encode(trail)) == trail


@given(st.text(max_size=200))
def test_any_text_is_a_trail_or_a_bad_link(link):
    try:
        trail = decode(link)
    except BadLink:
        return
    assert decode(encode(trail)) == trail


@given(trail=TRAILS)
def test_a_trail_that_does_not_exist_is_refused(trace, trail):
    try:
        checked(trace, trail)
    except BadLink:
        return
    assert all(ref.name in trace or ref.name in trace.weights for ref in trail)


def test_a_link_needs_no_escaping(trace):
    link = encode([Ref("blocks.0.attn.weights", (0, 2, 1)), Ref("logits", (1, None))])
    assert link == "blocks.0.attn.weights~0-2-1~logits~1-x"
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", link)


def test_a_trail_without_end_forgets_where_it_began():
    trail = tuple(Ref("logits", (i, 0)) for i in range(100))
    assert decode(encode(trail)) == trail[-elements.LONGEST_TRAIL :]


@pytest.mark.parametrize(
    "link",
    [
        "nonsense",
        "~",
        "logits~",
        "logits~0",
        "logits~0-0-0",
        "logits~3-0",
        "logits~0-6",
        "logits~-1-0",
        "logits~x-0",
        "logits~x-x",
        "blocks.0.attn.q~0-0-x",
        "embed.W_E~0-x",
        "logits~0-0~nothing~1",
        "logits~٣-0",
        "logits~0-0\n",
        "logits~99999999999999999999-0",
        "__class__~0",
        "<img src=x onerror=alert(1)>",
        "logits~0-0" * 1000,
    ],
)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_nonsense_gives_a_notice_and_opens_nothing(trace, language, link):
    drawn = opened.content(speaker(language), trace, link)
    assert drawn["notice"]
    assert "name" not in drawn
    assert link not in str(drawn["notice"])


def test_no_link_opens_nothing_and_says_nothing(trace):
    drawn = opened.content(speaker("en"), trace, "")
    assert not {"name", "notice"} & drawn.keys()


def every_element(trace):
    """The last and a first element of each step and weight."""
    for name in [*trace.steps, *trace.weights]:
        for index in {tuple(n - 1 for n in trace.shape(name)), tuple(0 for _ in trace.shape(name))}:
            yield Ref(name, index)


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("kind", TRACES)
def test_every_step_and_weight_can_be_opened(kind, language):
    trace, t = TRACES[kind](), speaker(language)
    for ref in every_element(trace):
        drawn = opened.content(t, trace, encode([ref]))
        assert drawn["name"] and drawn["says"] and drawn["value"]
        texts = [drawn["name"], drawn["says"], drawn["where"]]
        assert not any("{" in text or "None" in text for text in texts)


PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number_of(text):
    digits, _, power = text.replace("−", "-").replace("∞", "inf").partition("·10")
    return float(digits) * 10.0 ** int(power.translate(PLAIN) or 0)


@pytest.mark.parametrize("kind", TRACES)
def test_what_is_written_is_what_the_trace_explains(kind):
    trace, t = TRACES[kind](), speaker("en")
    for ref in every_element(trace):
        explained = trace.explain(ref.name, ref.index)
        found = written_out(trace, explained, 400)
        assert len(found.terms) == len(explained.terms)
        assert explained.text.endswith(f"= {drawn_value(t, trace, ref)}")
        for term, pieces in zip(explained.terms, found.terms, strict=True):
            refs = [piece.ref for piece in pieces if piece.ref]
            assert refs == list(term.refs)
            assert "".join(piece.text for piece in pieces).strip(" +−") == str(term).lstrip("−")


def drawn_value(t, trace, ref):
    drawn = opened.content(t, trace, encode([ref]))
    return trace.ids[ref.index[0]] if ref.name == "tokens.ids" else drawn["value"]


@pytest.mark.parametrize("kind", TRACES)
def test_a_plain_operand_shows_its_own_value(kind):
    """What can be clicked and is a bare number is that element, to four digits."""
    trace = TRACES[kind]()
    plain = 0
    for ref in every_element(trace):
        for factor in (
            f for term in trace.explain(ref.name, ref.index).terms for f in term.factors
        ):
            if factor.refs and not factor.text and not isinstance_of_gate(trace, ref, factor):
                shown = number_of(str(factor))
                value = trace.value(factor.refs[0].name, factor.refs[0].index)
                one_hot = trace.step(ref.name).role in ("embed.token", "embed.position")
                if not one_hot and trace.step(ref.name).role != "embed.onehot":
                    assert shown == pytest.approx(value, rel=1e-3)
                    plain += 1
    assert plain > 20


def isinstance_of_gate(trace, ref, factor):
    """An activation's second factor is computed from its input and is not the input itself."""
    value = trace.value(factor.refs[0].name, factor.refs[0].index)
    return trace.step(ref.name).role == "mlp.act" and factor.value != value


def test_the_worked_example_reads_as_in_the_book():
    trace = load("part-2")
    explained = trace.explain("blocks.0.attn.scores", (0, 2, 0))
    found = written_out(trace, explained, opened.LARGEST)
    assert found.text == "0.6·0.2 + 0.4·1 + 0.9·0.1 = 0.61"


def test_both_numbers_of_a_distance_can_be_opened(trace):
    explained = trace.explain("blocks.0.ln_1.var", (2,))
    pieces = written_out(trace, explained, 6).terms[0]
    texts = [(piece.text, piece.ref and piece.ref.name) for piece in pieces]
    assert texts[:5] == [
        ("(", None),
        ("0.6", "blocks.0.resid_in"),
        (" − ", None),
        ("0.6333", "blocks.0.ln_1.mean"),
        (")", None),
    ]
    assert pieces[-1] == opened.Piece("1/3")


def test_a_long_sum_shows_its_largest_terms_and_the_rest():
    trace = random_trace()
    ref = Ref("blocks.0.attn.q", (1, 2, 3))
    explained = trace.explain(ref.name, ref.index)
    found = written_out(trace, explained, 6)
    assert len(found.terms) == 6
    assert found.n_rest == 12 + 1 - 6  # and the bias
    sizes = sorted((abs(term.value) for term in explained.terms), reverse=True)
    assert found.rest == pytest.approx(
        explained.value - sum(t.value for t in explained.terms if abs(t.value) >= sizes[5])
    )
    short = opened.content(speaker("en"), trace, encode([ref]))
    assert short["rest"]["text"] == "(the other 7 terms)"
    assert len(opened.content(speaker("en"), trace, encode([ref]), True)["terms"]) == 13


@pytest.mark.parametrize("name", ["blocks.0.attn.scores_masked", "logits"])
def test_the_row_of_a_softmax_is_its_divisor(name):
    trace = random_trace()
    *others, n = trace.shape(name)
    row = tuple(size - 1 for size in others)
    found = row_sum(trace, Ref(name, (*row, None)), n)
    values = trace[name][row]
    assert found.value == pytest.approx((values - values.max()).exp().sum().item())
    refs = [piece.ref.index for term in found.terms for piece in term if piece.ref]
    assert refs == [(*row, i) for i in range(n)]
    few = row_sum(trace, Ref(name, (*row, None)), n)
    assert few.rest == 0


def test_a_long_row_keeps_its_largest_and_sums_the_rest():
    config = {"n_layers": 0, "n_heads": 1, "d_model": 4, "n_vocab": 40, "n_ctx": 4}
    graph, sizes = Graph(), Config(**config).sizes()
    gpt(Scope(graph), Config(**config))
    tensors = {
        name: torch.linspace(-1, 1, math.prod(sizes[a] for a in axes)).reshape(
            [sizes[a] for a in axes]
        )
        for name, axes in graph.weights.items()
    }
    words = WordTokenizer([f"w{i}" for i in range(40)])
    model = Model("m", Config(**config), tensors, words, torch.device("cpu"), torch.float32)
    trace = model.trace([3, 1])
    found = row_sum(trace, Ref("logits", (1, None)), 6)
    assert (len(found.terms), found.n_rest) == (6, 34)
    every = row_sum(trace, Ref("logits", (1, None)), 40)
    assert every.value == found.value
    assert found.rest == pytest.approx(sum_of(every) - sum_of(found))


def sum_of(found):
    return found.value - found.rest


def test_the_way_back_ends_at_token_ids_and_weights(trace):
    t = speaker("en")
    ends, passed = set(), set()
    waiting, seen = [Ref("probs", (2, 1))], set()
    while waiting:
        ref = waiting.pop()
        if ref in seen:
            continue
        seen.add(ref)
        drawn = opened.content(t, trace, encode([ref]))
        nexts = [piece["to"] for term in drawn["terms"] for piece in term if "to" in piece]
        passed |= {between.name for part in operands_of(trace, ref) for between in part}
        waiting += [decode(link)[-1] for link in nexts]
        if not nexts and drawn["value"] != "−∞":
            ends.add(ref.name)
    assert "tokens.ids" in ends
    assert ends - {"tokens.ids", "tokens.positions"} <= set(trace.weights)
    steps = {name for name in trace.steps if name != "embed.onehot"}
    assert steps <= {ref.name for ref in seen} | passed
    assert passed == {
        "blocks.0.resid_in",
        "blocks.0.attn.concat",
        "blocks.0.attn.scores_masked",
    }


def operands_of(trace, ref):
    """For each number that an element is made of, what merely passes it on."""
    if None in ref.index:
        return []
    terms = trace.explain(ref.name, ref.index).terms
    return [opened.source(trace, part)[1] for term in terms for part in term.refs]


def test_what_only_passes_a_number_on_is_no_stop_but_named(trace):
    t = speaker("en")
    mean = opened.content(t, trace, encode([Ref("blocks.0.ln_1.mean", (2,))]))
    link = mean["terms"][0][0]["to"]
    assert decode(link)[-1] == Ref("embed.sum", (2, 0))  # and not the stream on its way in
    after = opened.content(t, trace, link)
    assert after["passed"].endswith(": Number 0 of the stream of 먹었다 (2), on its way in.")
    assert len(after["trail"]) == 2
    out = opened.content(t, trace, encode([Ref("blocks.0.attn.out", (2, 1))]))
    assert decode(out["terms"][0][0]["to"])[-1].name == "blocks.0.attn.heads"
    direct = opened.content(t, trace, encode([Ref("blocks.0.ln_1.normed", (2, 0))]))
    assert direct["passed"] == ""


def test_mask_is_a_stop_only_where_it_replaces_a_score(trace):
    t = speaker("en")
    share = opened.content(t, trace, encode([Ref("blocks.0.attn.weights", (0, 2, 1))]))
    link = share["terms"][0][0]["to"]
    assert decode(link)[-1] == Ref("blocks.0.attn.scores_scaled", (0, 2, 1))
    assert "Masked score of 먹었다 (2) on 밥을 (1)" in opened.content(t, trace, link)["passed"]
    hidden = Ref("blocks.0.attn.scores_masked", (0, 0, 2))
    assert opened.source(trace, hidden) == (hidden, ())
    edited = trace.edit({"blocks.0.attn.scores_masked": {(0, 2, 1): 5.0}})
    by_hand = Ref("blocks.0.attn.scores_masked", (0, 2, 1))
    assert opened.source(edited, by_hand) == (by_hand, ())


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_masked_score_leads_on_to_the_score_that_it_would_be(trace, language):
    t, here = speaker(language), Ref("blocks.0.attn.scores_masked", (0, 0, 2))
    drawn = opened.content(t, trace, encode([here]))
    score = trace.value("blocks.0.attn.scores_scaled", (0, 0, 2))
    (pieces,) = drawn["terms"]
    assert number_of(pieces[1]["text"]) == pytest.approx(score, rel=1e-3)
    assert decode(pieces[1]["to"]) == (here, Ref("blocks.0.attn.scores_scaled", (0, 0, 2)))
    assert (drawn["joint"], drawn["value"], drawn["exact"]) == ("", "−∞", "")
    text = "".join(piece["text"] for piece in pieces)
    if language == "en":
        assert text == f"the score would be {pieces[1]['text']}; the mask replaces it by "


def test_a_number_set_by_hand_is_a_stop_of_its_own(trace):
    edited = trace.edit({"blocks.0.resid_in": {(2, 0): 5.0}})
    here = Ref("blocks.0.resid_in", (2, 0))
    assert opened.source(edited, here) == (here, ())
    assert opened.source(edited, Ref("blocks.0.resid_in", (2, 1)))[0].name == "embed.sum"


def test_a_token_id_names_its_token(trace):
    drawn = opened.content(speaker("en"), trace, "tokens.ids~2")
    assert (drawn["left"], drawn["value"]) == ("token ID 2", "먹었다")


def test_names_say_which_token(trace):
    drawn = opened.content(speaker("en"), trace, "blocks.0.attn.weights~0-2-1")
    assert drawn["name"] == "Share of 먹었다 (2) that goes to 밥을 (1)"
    assert drawn["place"] == "block 0, head 0"


def test_the_trail_leads_back(trace):
    link = "blocks.0.attn.weights~0-2-1~blocks.0.attn.scores_masked~0-2-1"
    drawn = opened.content(speaker("en"), trace, link)
    assert [stop["to"] for stop in drawn["trail"]] == ["blocks.0.attn.weights~0-2-1", link]
    operand = drawn["terms"][0][0]
    assert operand["to"] == f"{link}~blocks.0.attn.scores_scaled~0-2-1"


def test_a_masked_score_says_so(trace):
    shown = opened.content(speaker("en"), trace, "blocks.0.attn.scores_masked~0-0-2")
    assert shown["value"] == "−∞"
    assert "may not look ahead" in shown["says"]
    assert shown["masked"] == "masked: hidden from this query"
    share = opened.content(speaker("ko"), trace, "blocks.0.attn.weights~0-0-2")
    assert share["value"] == "0" and share["masked"].startswith("가려짐")
    seen = opened.content(speaker("en"), trace, "blocks.0.attn.weights~0-2-0")
    assert seen["masked"] == ""


def test_a_token_with_markup_stays_text():
    trace = random_trace()
    drawn = opened.content(speaker("en"), trace, "blocks.0.attn.weights~0-3-2")
    assert drawn["name"] == "Share of $x$ (3) that goes to <b> (2)"


def test_biases_are_in_the_symbol_where_the_step_has_one(trace):
    t = speaker("en")
    with_bias = opened.content(t, random_trace(), "blocks.0.attn.q~0-0-0")
    assert with_bias["left"] == "x·W_Q + b_Q"
    assert opened.content(t, trace, "blocks.0.attn.q~0-0-0")["left"] == "x·W_Q"
    assert isinstance(trace.step("blocks.0.attn.q").op, Affine)
