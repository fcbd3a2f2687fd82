"""The Sampling page: what it says against numpy and the processors of `transformers`."""

import json
import math
import re

import numpy as np
import pytest
import torch
from transformers import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

import core
from core.view import sampling_code
from core.view.sampling_draws import digits
from core.view.sampling_settings import RANGES, Settings
from tests.support.app import ROOT, click, drawn, open_page, rerun, rows, said

USUAL = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}


def example(**query):
    return open_page(
        "sampling", **{"lang": "en", "model": "worked-example", "preset": "part-6"} | query
    )


def bundled(**query):
    return open_page("sampling", **{"lang": "en", "model": "bundled", "token": 1} | query)


def softmax(values):
    powers = np.exp(np.asarray(values) - np.max(values))
    return powers / powers.sum()


def numbers(seed, n):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, generator=generator, dtype=torch.float64).numpy()


def printed():
    """Logits and probabilities of the last row of part 6, worked out apart from this code."""
    data = json.loads((ROOT / "tests/data/worked_example.json").read_text())
    found = data["last row of the same computation"]["part-6"]
    return np.array(found["logits"]), np.array(found["probs"])


def left(at):
    """Tokens left and probability they held, by setting, as the table has them."""
    return {
        row[0]: (row[1], int(row[2].replace(",", "")), row[3])
        for row in rows(at, "plain funnel")[1:]
    }


def processors(temperature, top_k, top_p, min_p, penalty):
    return {
        "Repetition penalty": RepetitionPenaltyLogitsProcessor(float(penalty)),
        "Temperature T": TemperatureLogitsWarper(float(temperature)),
        "Top-k": TopKLogitsWarper(top_k),
        "Top-p": TopPLogitsWarper(top_p),
        "Min-p": MinPLogitsWarper(min_p),
    }


@pytest.mark.parametrize("order", ["transformers", "llama.cpp"])
def test_every_stage_keeps_what_transformers_keeps(order):
    values = {"temperature": 1.4, "top_k": 300, "top_p": 0.9, "min_p": 0.02}
    at = bundled(**values, repetition_penalty=1.3, order=order)
    trace = core.load("bundled").trace(core.load("bundled").default_prompt)
    theirs = processors(1.4, 300, 0.9, 0.02, 1.3)
    names = list(theirs)
    if order == "llama.cpp":
        names = [names[0], *names[2:], names[1]]
    table, scores, ids = left(at), trace["logits"][1][None].clone(), torch.tensor([trace.ids[:2]])
    assert list(table) == ["All tokens", *names]
    for name in names:
        before = scores.double().softmax(-1)
        scores = theirs[name](ids, scores)
        kept = scores.isfinite()
        assert table[name][1] == int(kept.sum())
        written = float(re.search(r"[\d.]+", table[name][2]).group())
        assert written == pytest.approx(100 * before[kept].sum().item(), abs=0.11)


def test_drawn_token_is_where_the_cumulative_sum_passes_the_number():
    text = said(bundled(seed=5, draw=2, top_k=0, top_p=1, temperature=1))
    number = numbers(5, 3)[2]
    model = core.load("bundled")
    line = np.cumsum(softmax(model.trace(model.default_prompt)["logits"][1].double().numpy()))
    token = model.tokenizer.token_text(int(np.searchsorted(line, number, side="right")))
    said_number, name, low, high = re.search(
        r"The number is ([\d.]+)\. On the line “(.*?)” lies from ([\d.]+) to ([\d.]+)", text
    ).groups()
    assert float(said_number) == pytest.approx(number, abs=1e-4)
    assert name == token.replace(" ", "·")
    assert float(low) <= float(said_number) < float(high)


def test_taking_each_drawn_token_writes_what_generate_writes():
    at = open_page("sampling", lang="en", model="bundled", prompt="It was", seed=3)
    for _ in range(4):
        link = re.search(r'data-set="(add=\d+&amp;draw=\d+)"', drawn(at)).group(1)
        at = click(at, **dict(part.split("=") for part in link.split("&amp;")))
    steps = list(core.load("bundled").generate("It was", 4, seed=3, **USUAL))
    assert at.session_state["prompt"] == "It was" + "".join(step.text for step in steps)
    assert "draw 5 with seed 3" in said(at)


def test_the_same_link_gives_the_same_token_and_draw_again_another_number():
    one, two = (said(bundled(seed=11, draw=4)) for _ in range(2))
    assert one == two
    assert "draw=5" in drawn(bundled(seed=11, draw=4))
    assert re.search(r"number is ([\d.]+)", one) != re.search(
        r"number is ([\d.]+)", said(bundled(seed=11, draw=5))
    )


def test_counts_of_a_thousand_draws_beside_what_is_expected():
    text = said(example(temperature=2, top_k=0, top_p=1, draws=1000))
    shares = softmax(printed()[0] / 2)
    picked = np.searchsorted(np.cumsum(shares), numbers(0, 1000), side="right")
    counts = np.bincount(picked, minlength=6)
    table = re.findall(r"(\S+) ([\d.]+) (\d+) ", text.split("Expected Drawn ")[1])[:6]
    order = np.argsort(-shares)
    assert [float(row[1]) for row in table] == pytest.approx(list(1000 * shares[order]), abs=0.051)
    assert [int(row[2]) for row in table] == list(counts[order])
    spread = 2 * np.sqrt(1000 * shares * (1 - shares))
    inside = int((abs(counts - 1000 * shares) <= spread).sum())
    assert f"{inside} of the 6 counts" in text


def test_softmax_and_temperature_of_the_worked_example():
    logits, probs = printed()
    text = said(example(temperature=2, top_k=0, top_p=1))
    for share in probs:
        assert f"{100 * share:.1f} %" in text.split("The settings")[0]
    stage = text.split("Temperature: bold")[1].split("Top-k: only")[0]
    changes = re.findall(r"([\d.]+) % → ([\d.]+) %", stage)
    order = np.argsort(-logits)
    pairs = zip(100 * softmax(logits)[order], 100 * softmax(logits / 2)[order], strict=True)
    assert changes == [(f"{a:.1f}", f"{b:.1f}") for a, b in pairs]
    picture = text.split("Three times the same logits")[1].split("The order stays")[0]
    for warmth in (0.5, 1, 2):
        for share in softmax(logits / warmth):
            assert f"{100 * share:.1f} %" in picture


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"temperature": 0}, "This is greedy decoding, and no chance is left"),
        ({"temperature": 1}, "At T = 1 the probabilities stay"),
        ({"temperature": 0.01}, "So cold, nearly everything"),
        ({"temperature": 1000}, "the same chance, 1 in 6"),
        ({"top_k": 1}, "With k = 1 only the likeliest"),
        ({"top_k": 6}, "Only 6 tokens are left here, no more than k"),
        ({"top_k": 999_999}, "Only 6 tokens are left here, no more than k"),
        ({"top_k": 0}, "At 0 it is off: every token stays"),
        ({"top_p": 0}, "With p = 0 the likeliest token alone stays"),
        ({"top_p": 1}, "At p = 1 every token stays"),
        ({"min_p": 1, "top_p": 1}, "At 1 only the likeliest token is likely enough"),
        ({"repetition_penalty": 0.5}, "Below 1 it works the other way"),
        ({"temperature": 0}, "Only “먹었다” is left here. At least one token always stays"),
    ],
)
def test_limits_are_explained_where_they_occur(query, sentence):
    text = said(example(**query))
    assert sentence in text and "nan" not in text.lower()


def set_logits(*values):
    """A link's changes that set the last row's logits."""
    return "v1" + "".join(f"~~logits~2-{i}~{value}" for i, value in enumerate(values))


def test_ties_and_equal_logits():
    text = said(example(edits=set_logits(1.0, 3.0, 3.0, 2.0, 2.0, 0.0), top_k=3, temperature=1))
    assert "4 tokens stay, more than k" in text.replace("  ", " ")
    greedy = said(example(edits=set_logits(1.0, 3.0, 3.0, 2.0, 2.0, 0.0), temperature=0))
    assert (
        "2 tokens share the largest logit. Greedy takes the one with the lowest ID, “밥을”"
        in greedy
    )
    assert "All 6 tokens have the same logit" in said(example(edits=set_logits(*[2.0] * 6)))


def test_logits_that_are_no_numbers_are_said():
    assert "no longer numbers" in said(example(edits="v1~~unembed.W_U~x-x~1.7e308"))


def test_single_finite_logit_is_drawn_whatever_is_set():
    others = "".join(f"~~unembed.W_U~0-{i}~-1.7e308" for i in range(6) if i != 2)
    for query in ({}, {"temperature": 0}, {"top_p": 0}, {"temperature": 1000, "draws": 100}):
        text = said(example(edits=f"v1{others}", **query))
        assert "Only “먹었다” has a finite logit" in text
        assert "Only “먹었다” is left and fills the whole line" in text
        assert "nan" not in text.lower()


def test_change_shows_both_distributions_and_both_tokens():
    text = said(example(edits="v1~~logits~2-0~9.0", draw=0, temperature=1, top_k=0, top_p=1))
    part = text.split("Before and after your change")[1]
    assert "나는 11.7 % → 99.9 %" in part
    assert "Before the change the number 0.9701 fell on “.”. Now it falls on “나는”" in part
    plain = said(example())
    assert "Before and after your change" not in plain
    earlier = said(example(edits="v1~~logits~2-0~9.0", token=0))
    assert "distribution is exactly the same" in earlier


def test_change_is_the_same_from_the_side_before():
    query = {"edits": "v1~~logits~2-0~9.0", "temperature": 1, "top_k": 0, "top_p": 1}
    texts = (said(example(**query, side=side)) for side in ("after", "before"))
    one, two = (re.search("after your change (.*?) Draw a thousand", text)[1] for text in texts)
    assert one == two


def test_prompts_of_other_tokens_have_nothing_to_compare():
    at = example(prompt="나는 밥을 먹었다 물을", was="나는 밥을 먹었다")
    assert "no counterpart" in said(at)


def test_token_that_is_not_the_last_cannot_be_taken():
    at = bundled(token=0)
    assert "already goes on" in said(at) and "add=" not in drawn(at).split("Draw again")[1][:600]


def test_settings_are_typed_and_slid():
    at = example(top_p=1)
    at.text_input(key="top_k_typed").set_value("2").run()
    assert left(at)["Top-k"][:2] == ("2", 2)
    assert at.query_params["top_k"] in ("2", ["2"])
    at.select_slider(key="top_k_slider").set_value(1).run()
    assert left(at)["Top-k"][:2] == ("1", 1)
    at.text_input(key="temperature_typed").set_value("1,5").run()
    assert left(at)["Temperature T"][0] == "1.5"


@pytest.mark.parametrize(
    "typed", ["abc", "NaN", "-1", "inf", "", "1e999", "<script>", "0x10", "2000"]
)
def test_what_cannot_be_is_said_and_the_value_stays(typed):
    at = example(temperature=0.7)
    at.text_input(key="temperature_typed").set_value(typed).run()
    assert not at.exception
    assert "It must be a number from 0 to 1,000. 0.7 stays" in said(at)
    assert left(at)["Temperature T"][0] == "0.7"
    assert at.text_input(key="temperature_typed").value == "0.7"
    assert "<script>" not in drawn(at)
    assert "It must be" not in said(rerun(at))


def test_half_a_token_is_no_k():
    at = example()
    at.text_input(key="top_k_typed").set_value("2.5").run()
    assert "It must be a whole number from 0 to 1,000,000. 40 stays" in said(at)


@pytest.mark.parametrize(
    ("query", "notice"),
    [
        ({"temperature": "nan"}, "temperature = “nan”. Here it can be 0 to 1,000, so we use 0.8"),
        ({"temperature": -1}, "temperature = “-1”"),
        ({"top_k": 1.5}, "top_k = “1.5”"),
        ({"top_p": 1.01}, "top_p = “1.01”. Here it can be 0 to 1, so we use 0.95"),
        ({"min_p": "1e400"}, "min_p = “1e400”"),
        ({"repetition_penalty": 0}, "repetition_penalty = “0”"),
        ({"seed": 10**9}, "seed = “1000000000”"),
        ({"draw": 10_000}, "draw = “10000”"),
        ({"draws": 999}, "draws = “999”"),
        ({"order": "<b>"}, "order = “<b>”"),
    ],
)
def test_link_out_of_range_gives_a_notice_and_the_default(query, notice):
    at = example(**query)
    assert notice in said(at)
    assert "<b>”" not in drawn(at)


def test_presets_set_everything_in_one_link():
    at = bundled()
    greedy = re.search(r'data-set="([^"]*)">Greedy', drawn(at)).group(1)
    at = click(at, **dict(part.split("=") for part in greedy.split("&amp;")))
    assert left(at)["Temperature T"][:2] == ("0", 1)
    assert left(at)["Top-k"][0] == "off"


def test_top_p_adapts_and_top_k_does_not():
    model = core.load("bundled")
    trace = model.trace(model.default_prompt)
    probs = torch.softmax(trace["logits"].double(), -1).numpy()
    entropy = -(probs * np.log(probs)).sum(-1)
    at = bundled()
    table = rows(at, "plain adapts")[1:]
    for row, pos in zip(table, (entropy.argmin(), entropy.argmax()), strict=True):
        line = np.cumsum(np.sort(probs[pos])[::-1])
        assert row[0] == trace.tokens[pos].replace(" ", "·")
        assert row[2].startswith(f"{1 + int((line < 0.9).sum()):,} token")
        assert row[3].startswith(f"40 tokens with {100 * line[39]:.1f} %")


def test_places_that_are_alike_are_not_said_to_differ():
    text = said(example())
    assert "is sure after neither" in text and "tokens more through" not in text
    assert "39 tokens more through than top-p" in said(bundled())


def test_sure_place_leads_to_an_open_one():
    at = bundled(token=5)
    assert "The model is sure here" in said(at) and "Look after “·the”" in said(at)
    assert "The model is sure here" not in said(bundled(token=1))


def test_one_token_has_nothing_to_compare():
    assert "your text has one token only" in said(bundled(prompt="Hello", token=0))


def test_korean_says_it_all():
    text = said(bundled(lang="ko", draws=100, edits="v1~~blocks.0.attn.heads~1-x-x~0.0"))
    assert "무작위 수 하나로 정해요" in text and "바꾸기 전과 후" in text


def test_hostile_text_stays_text():
    at = open_page("sampling", lang="en", model="bundled", prompt="<img src=x> {n} <b>", draws=100)
    assert "<img" not in drawn(at) and "<b>”" not in drawn(at)


@pytest.mark.parametrize("order", ["transformers", "llama.cpp"])
@pytest.mark.parametrize(
    "chosen",
    [
        Settings(),
        Settings(0.0),
        Settings(1.7, 12, 0.6, 0.05, 1.4, seed=9),
        Settings(0.5, 0, 0.0, 0.0, 0.7),
    ],
)
def test_code_draws_the_same_token(chosen, order):
    chosen = Settings(**vars(chosen) | {"order": order})
    logits = 3 * torch.randn(80, generator=torch.Generator().manual_seed(1)).double()
    found = {"logits": logits}
    exec(sampling_code.code(chosen, [3, 5, 3], 6), found)
    ours = chosen.distribution(logits, [3, 5, 3])
    number = torch.rand(
        7, generator=torch.Generator().manual_seed(chosen.seed), dtype=torch.float64
    )
    line = np.cumsum(ours.probs.numpy())
    assert torch.equal(found["logits"].isfinite(), ours.probs > 0)
    assert int(found["token"]) == int(np.searchsorted(line, number[-1].item() * line[-1], "right"))


def test_settings_that_are_off_are_no_stages():
    plain = Settings(1.0, 0, 1.0, 0.0, 1.0).distribution(torch.zeros(4))
    assert [stage.name for stage in plain.stages] == ["logits", "temperature"]
    assert set(RANGES) == set(vars(Settings())) - {"order"}


def test_digits_tell_the_ends_apart():
    assert digits(0.1, 0.25, 0.4) == 4
    assert digits(0.123456, 0.1234565, 0.2) >= 7
    low, number, high = 0.5, 0.5, 0.5000001
    count = digits(low, number, high)
    assert f"{number:.{count}f}" != f"{high:.{count}f}"
    assert math.isfinite(count)
