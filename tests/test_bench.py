"""The benchmark measures what it says: the same model on both sides, and times in turn."""

import itertools

import pytest
import torch

from tools.bench.report import Result, table
from tools.bench.rows import Row
from tools.bench.timing import Timing, alternate


def test_both_sides_are_the_same_model():
    transformers = pytest.importorskip("transformers")
    from tools.bench.peers import from_transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=2, n_head=4, n_embd=24, vocab_size=97, n_positions=16, layer_norm_epsilon=1e-3
    )
    gpt2 = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in gpt2.parameters():  # biases start at 0 and gammas at 1: hide nothing
            parameter.normal_(std=0.3)
        ids = [3, 1, 41, 59, 26, 53, 58, 96, 0]
        expected = gpt2(torch.tensor([ids])).logits[0]
    logits = from_transformers(gpt2).trace(ids)["logits"]
    assert (logits - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_works_run_in_turn_and_the_warm_up_does_not_count():
    now, order = itertools.count(), []

    def work(name, ticks):
        def run():
            order.append(name)
            for _ in range(ticks):
                next(now)

        return run

    timings = alternate(
        {"a": work("a", 2), "b": work("b", 8)}, rounds=3, warm_up=1, clock=lambda: next(now)
    )
    assert "".join(order) == "abbaabba"
    assert timings["a"].seconds == (3, 3, 3)  # two ticks of its own, one to read the clock
    assert timings["b"].seconds == (9, 9, 9)


def test_one_slow_round_does_not_change_the_ratio():
    ours, theirs = Timing((2.0, 2.2, 90.0, 2.2, 2.2)), Timing((1.0, 1.1, 1.1, 1.1, 1.0))
    assert ours.ratio(theirs) == pytest.approx(2.0)


@pytest.mark.parametrize(("at_most", "verdict"), [(1.6, "met"), (1.4, "MISSED"), (None, "")])
def test_the_table_compares_the_ratio_with_the_target(at_most, verdict):
    row = Row("work", lambda: None, peer="other", theirs=lambda: None, at_most=at_most)
    result = Result(row, Timing((0.003, 0.003)), Timing((0.002, 0.002)))
    line = table([result]).splitlines()[1]
    assert result.verdict == verdict
    assert "3.0" in line and "2.0" in line and "1.50" in line and line.endswith(verdict)


def test_decoding_gives_the_same_tokens_in_every_way():
    """What is compared does the same work: cached, uncached, in transformers, unrecorded."""
    transformers = pytest.importorskip("transformers")
    from core.generate.cache import KVCache
    from tools.bench import decoding
    from tools.bench.peers import from_transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=24, vocab_size=97, n_positions=32)
    gpt2 = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        gpt2.transformer.wpe.weight.normal_()  # so that it does not say one word for ever
    model, prompt = from_transformers(gpt2), [3, 1, 41, 59, 26]
    expected = decoding.transformers_greedy(gpt2, prompt, 12)[0, len(prompt) :].tolist()
    assert len(set(expected)) > 3
    assert decoding.cached(model, prompt, 12) == expected
    assert decoding.uncached(model, prompt, 12) == expected

    cache = KVCache(model)
    cache.append(model.trace(prompt))
    unrecorded = decoding.unrecorded(cache)([7], cache)
    assert torch.equal(unrecorded, decoding.traced([7], cache))


def test_other_runtimes_run_the_same_model():
    """Each with what it is asked for; they are installed for `make bench` only."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("ctranslate2")
    from tools.bench import ctranslate2_peer, decoding, onnx_peer
    from tools.bench.peers import from_transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=24, vocab_size=97, n_positions=32)
    gpt2 = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        gpt2.transformer.wpe.weight.normal_()
    model, prompt = from_transformers(gpt2), [3, 1, 41, 59, 26]
    assert ctranslate2_peer.greedy(gpt2)(prompt, 12) == decoding.cached(model, prompt, 12)

    steps = onnx_peer.capture(gpt2, len(prompt))(prompt)
    full = model.trace(prompt).capture()
    assert len(steps) == 5 + 16 * 2
    shares = torch.from_numpy(steps[10])
    assert (shares - full["blocks.0.attn.weights"]).abs().max() <= 1e-6
    assert (torch.from_numpy(steps[-1]) - full["logits"]).abs().max() <= 1e-6
