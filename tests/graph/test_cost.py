"""What a step costs, against formulas written by hand."""

import pytest
import torch

from core.graph.op import Input
from tests.support.random_models import IDS, random_model
from tests.support.subjects import SUBJECTS, example, subject_id, subject_trace

each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)


def multiply_adds(trace, *parts: str) -> int:
    """Of all steps whose names begin with one of the parts."""
    return sum(trace.cost(name).multiply_adds for name in trace.steps if name.startswith(parts))


def test_block_of_the_worked_example():
    """3 tokens, d_model 3, two heads of width 2, d_mlp 6: all numbers worked out on paper."""
    trace = example("block").trace([0, 1, 2])
    norm = 4 * (3 * 3)  # mean, variance, normalise, scale and shift
    projections = 3 * (2 * 3 * 2) * 3  # q, k, v: each of 12 numbers is a sum of 3 products
    scores = (2 * 3 * 3) * 2  # each of 18 scores is a sum of 2 products
    scale, mask, softmax = 18, 18, 2 * 18
    heads, out = (2 * 3 * 2) * 3, (3 * 3) * 4
    mlp = (3 * 6) * 3 + 18 + (3 * 3) * 6  # expand, activate, contract
    additions = 2 * (3 * 3)
    expected = projections + scores + scale + mask + softmax + heads + out + mlp + additions
    assert multiply_adds(trace, "blocks.0.") == 2 * norm + expected


def test_block_of_a_grouped_gated_model():
    n, d, h, kv, d_head, d_mlp = len(IDS), 16, 4, 2, 4, 22
    q, k_and_v = n * h * d_head * d, 2 * n * kv * d_head * d
    rotations = 2 * n * h * d_head + 2 * n * kv * d_head
    scores = h * n * n * d_head
    scale_mask_softmax = (1 + 1 + 2) * h * n * n
    heads, out = h * n * d_head * n, n * d * h * d_head
    norms = 2 * (3 * n * d)  # mean square, normalise, scale
    mlp = 3 * n * d * d_mlp + 2 * n * d_mlp  # three matrices, activation and product
    additions = 2 * n * d
    attention = q + k_and_v + rotations + scores + scale_mask_softmax + heads + out
    trace = random_model("llama").trace(IDS)
    assert multiply_adds(trace, "blocks.1.") == attention + norms + mlp + additions


def test_matrices_of_gpt2_take_twelve_d_squared_a_token():
    """The rule of thumb: 4 d² for attention's matrices, 8 d² for the MLP's."""
    trace = random_model("gpt2").trace(IDS)
    roles = ("attn.q", "attn.k", "attn.v", "attn.out", "mlp.hidden", "mlp.out")
    total = sum(trace.cost(f"blocks.0.{role}").multiply_adds for role in roles)
    assert total == len(IDS) * 12 * 16**2


def test_logits_cost_one_multiply_add_a_weight_and_token():
    trace = random_model("gpt2").trace(IDS)
    assert trace.cost("logits").multiply_adds == len(IDS) * 16 * 29


def test_copies_and_lookups_multiply_nothing():
    trace = random_model("gpt2").trace(IDS)
    for name in ("tokens.ids", "embed.token", "blocks.0.resid_in", "blocks.0.attn.concat"):
        assert trace.cost(name).multiply_adds == 0


@each_subject
def test_bytes_written_are_those_of_the_value(subject):
    trace = subject_trace(subject)
    for name in trace.steps:
        assert trace.cost(name).bytes_written == trace[name].nbytes, name


@each_subject
def test_bytes_read_are_at_most_those_of_the_inputs(subject):
    """All of every input, except that a lookup reads only the rows that it returns."""
    trace = subject_trace(subject)
    for name, step in trace.graph.steps.items():
        values = [trace.weights[p] if p in trace.weights else trace[p] for p in step.inputs]
        whole, read = sum(value.nbytes for value in values), trace.cost(name).bytes_read
        if step.role in ("embed.token", "embed.position"):
            assert 0 < read <= trace[name].nbytes + 8 * len(trace)
        else:
            assert read == whole or isinstance(step.op, Input), name


def test_a_matrix_product_reads_input_weight_and_bias():
    cost = random_model("gpt2", torch.float64).trace(IDS).cost("blocks.0.mlp.hidden")
    assert cost.bytes_read == 8 * (8 * 16 + 16 * 64 + 64)
    assert cost.bytes_written == 8 * (8 * 64)
