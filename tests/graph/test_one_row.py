"""A row times a matrix in pieces: float64's numbers, and one way for everybody who asks."""

import pytest
import torch

from core.graph import one_row
from core.graph.ops import Affine
from tests.support.close import same_bits
from tests.support.random_models import CONFIGS, IDS, build

needs_mkl = pytest.mark.skipif(
    not torch.backends.mkl.is_available(), reason="this torch multiplies without MKL"
)
SHAPES = [(8, 3), (768, 768), (160, 50_257), (64, 7)]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("d_in", "d_out"), SHAPES)
def test_pieces_give_the_numbers_of_float64(d_in, d_out, transposed):
    random = torch.Generator().manual_seed(0)
    x = torch.randn(1, d_in, generator=random)
    matrix = torch.randn(d_in, d_out, generator=random)
    exact = (x.double() @ matrix.double()).numpy()
    stored = matrix.t().contiguous() if transposed else matrix
    found = one_row.product(x, stored, transposed)
    assert found.shape == (1, d_out)
    assert abs(found.double().numpy() - exact).max() <= 1e-6 * d_in**0.5 * abs(exact).max()


@pytest.fixture
def paying(monkeypatch):
    """Pieces are taken, whatever is faster on this computer."""
    monkeypatch.setattr(one_row, "pays", lambda transposed: True)


def test_only_one_float32_row_and_a_large_matrix_are_cut(paying):
    large = torch.empty(1024, 512)
    assert one_row.serves(torch.empty(1, 1024), large, False)
    assert not one_row.serves(torch.empty(2, 1024), large, False)
    assert not one_row.serves(torch.empty(1, 8), torch.empty(8, 8), False)
    assert not one_row.serves(torch.empty(1, 1023), torch.empty(1023, 512), False)
    assert not one_row.serves(torch.empty(1, 1024).double(), large.double(), False)


@needs_mkl
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("times", "pays"), [(2.0, True), (1.05, False), (0.5, False)])
def test_pieces_are_taken_where_the_trial_says_so(monkeypatch, times, pays, transposed):
    made = []

    def gain(plain, other):
        assert torch.equal(plain(), other())  # sums of ones are exact
        made.append(other)
        return times

    monkeypatch.setattr(one_row, "gain", gain)
    one_row.pays.cache_clear()
    x, matrix = torch.empty(1, 1024), torch.empty(1024, 512)
    assert [one_row.serves(x, matrix, transposed) for _ in range(2)] == [pays, pays]
    assert len(made) == 1  # tried once
    one_row.pays.cache_clear()


@pytest.mark.parametrize("why", ["no MKL", "switched off"])
def test_nothing_is_tried_where_it_cannot_pay_or_nobody_wants_it(monkeypatch, why):
    if why == "no MKL":
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    else:
        monkeypatch.setenv("RIPPLE_PACKED", "off")
    monkeypatch.setattr(one_row, "gain", None)
    one_row.pays.cache_clear()
    assert not one_row.pays(True)
    one_row.pays.cache_clear()


@pytest.mark.parametrize("name", ["gpt2", "llama", "wide-heads-grouped"])
def test_a_trace_and_an_edited_one_keep_their_promises(name, monkeypatch, paying):
    """Lazy, full, plain and edited are the same bits, also when every matrix is cut."""
    plain = build(**CONFIGS[name] | {"d_model": 48}).trace(IDS[:1]).capture()
    monkeypatch.setattr(one_row, "SMALLEST", 0)
    model = build(**CONFIGS[name] | {"d_model": 48})
    trace = model.trace(IDS[:1])
    full = trace.capture()
    assert same_bits(full["logits"], model.forward(IDS[:1]))
    assert torch.allclose(full["logits"], plain["logits"], rtol=1e-5, atol=1e-5)
    edited = trace.edit({"blocks.0.attn.W_Q": {(0, 0, 0): 0.7}})
    assert not same_bits(edited["blocks.0.attn.q"], full["blocks.0.attn.q"])
    back = edited.edit(
        {"blocks.0.attn.W_Q": {(0, 0, 0): model.weights["blocks.0.attn.W_Q"][0, 0, 0].item()}}
    )
    assert same_bits(back["logits"], full["logits"])


def test_an_affine_step_goes_this_way_and_adds_its_bias(monkeypatch, paying):
    monkeypatch.setattr(one_row, "product", lambda x, matrix, transposed: torch.ones(1, 512))
    x, matrix = torch.empty(1, 1024), torch.empty(1024, 512)
    assert Affine().compute(x, matrix, torch.full((512,), 2.0)).unique().tolist() == [3.0]
    heads = Affine().compute(x, matrix.view(1024, 8, 64).permute(1, 0, 2), torch.zeros(8, 64))
    assert heads.shape == (8, 1, 64)
    assert heads.unique().tolist() == [1.0]
