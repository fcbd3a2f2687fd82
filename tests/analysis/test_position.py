"""Readings of positions, against numpy and against what must hold for any model."""

import numpy as np
import pytest
import torch

import core
from core.analysis import position


def example(preset):
    return core.load("worked-example", preset=preset, device="cpu")


@pytest.mark.parametrize(
    ("ids", "order"),
    [([5, 6, 7, 8], (2, 1, 0, 3)), ([5, 6, 7], (1, 0, 2)), ([5, 6], None), ([5], None), ([], None),
     ([5, 5, 5, 6], None), ([5, 6, 5, 7], None)],
)  # fmt: skip
def test_other_order_keeps_the_last_token(ids, order):
    assert position.other_order(ids) == order


@pytest.mark.parametrize("preset", ["part-2", "part-5", "block"])
def test_order_is_lost_without_positions_and_kept_with_them(preset):
    test = position.reordered(example(preset).trace([0, 1, 2]))
    assert test.row_difference("embed.sum", 0, with_position=False) == 0
    assert test.row_difference("embed.sum", 0, with_position=True) == pytest.approx(0.1)
    assert test.row_difference("blocks.0.attn.out", 2, with_position=False) < 1e-12
    assert test.row_difference("blocks.0.attn.out", 2, with_position=True) > 0.01


def test_mask_lets_the_second_block_know_the_order():
    model = core.load("worked-example", preset="block", device="cpu", n_layers=2)
    test = position.reordered(model.trace([0, 1, 2, 3]))
    assert test.row_difference("blocks.0.resid_out", 3, with_position=False) < 1e-12
    assert test.row_difference("blocks.1.resid_out", 3, with_position=False) > 1e-3


def test_sinusoids_are_the_paper_s():
    places, pairs = np.arange(20)[:, None], np.arange(8)[None]
    angle = places / 10000 ** (2 * pairs / 16)
    table = position.sinusoids(20, 16).numpy()
    np.testing.assert_allclose(table[:, 0::2], np.sin(angle), atol=1e-12)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angle), atol=1e-12)


def test_likeness_of_sinusoids_depends_on_the_distance_only():
    cosines = position.similarity(position.sinusoids(30, 16)).numpy()
    for distance in range(30):
        np.testing.assert_allclose(np.diag(cosines, distance), cosines[0, distance], atol=1e-12)


@pytest.mark.parametrize("width", [2, 5, 8])
def test_turned_rows_depend_on_the_distance_only(width):
    make = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, width, generator=make, dtype=torch.float64)
    turned = position.turned(q, 7), position.turned(k, 7)
    dots = position.by_distance(*turned, shifts=4, distances=4)
    assert dots.shape == (4, 4)
    assert (dots - dots[0]).abs().max() < 1e-12
    even = width // 2 * 2
    assert dots[0, 0].item() == pytest.approx((q[:even] @ k[:even]).item())


def test_query_and_key_are_those_of_the_model_at_each_place():
    model = example("block")
    trace = model.trace([0, 0, 0, 2])
    q, k = position.query_and_key(trace, 2, 0, head=1, n=4)
    torch.testing.assert_close(q[3], trace["blocks.0.attn.q"][1, 3])
    torch.testing.assert_close(k[1], trace["blocks.0.attn.k"][1, 1])
