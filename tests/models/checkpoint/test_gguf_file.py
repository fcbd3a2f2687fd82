"""Each quantization of GGUF number by number, and files that cannot be read."""

import struct

import gguf
import numpy as np
import pytest
import torch

import core
from core.models.checkpoint import CheckpointError
from core.models.checkpoint.gguf_file import QUANTIZATIONS, GGUFFile
from core.view.texts import LANGUAGES, text
from tests.support import gguf_files as files

KIND = gguf.GGMLQuantizationType
N = 256  # numbers in a row


def half(data: bytes) -> float:
    return struct.unpack("<e", data)[0]


def nibbles(data: bytes) -> list[int]:
    """The low halves of all bytes, then the high ones."""
    return [byte & 15 for byte in data] + [byte >> 4 for byte in data]


def bit(data: bytes, i: int) -> int:
    return data[i // 8] >> (i % 8) & 1


def q8_0(block: bytes) -> list[float]:
    return [half(block[:2]) * n for n in struct.unpack("<32b", block[2:])]


def q4_0(block: bytes) -> list[float]:
    return [half(block[:2]) * (n - 8) for n in nibbles(block[2:])]


def q4_1(block: bytes) -> list[float]:
    d, m = half(block[:2]), half(block[2:4])
    return [d * n + m for n in nibbles(block[4:])]


def q5_0(block: bytes) -> list[float]:
    d, fifth = half(block[:2]), block[2:6]
    return [d * (n + 16 * bit(fifth, i) - 16) for i, n in enumerate(nibbles(block[6:]))]


def q5_1(block: bytes) -> list[float]:
    d, m, fifth = half(block[:2]), half(block[2:4]), block[4:8]
    return [d * (n + 16 * bit(fifth, i)) + m for i, n in enumerate(nibbles(block[8:]))]


def scales(packed: bytes) -> list[tuple[int, int]]:
    """Eight pairs of scale and minimum, 6 bits each, in 12 bytes."""
    first = [(packed[i] & 63, packed[i + 4] & 63) for i in range(4)]
    last = [
        (
            packed[i + 8] & 15 | packed[i] >> 6 << 4,
            packed[i + 8] >> 4 | packed[i + 4] >> 6 << 4,
        )
        for i in range(4)
    ]
    return first + last


def q4_k(block: bytes) -> list[float]:
    d, least = half(block[:2]), half(block[2:4])
    steps = [n for i in range(16, 144, 32) for n in nibbles(block[i : i + 32])]
    each = scales(block[4:16])
    return [d * each[i // 32][0] * n - least * each[i // 32][1] for i, n in enumerate(steps)]


def q5_k(block: bytes) -> list[float]:
    d, least, fifth = half(block[:2]), half(block[2:4]), block[16:48]
    steps = [n for i in range(48, 176, 32) for n in nibbles(block[i : i + 32])]
    each = scales(block[4:16])
    found = []
    for i, n in enumerate(steps):
        scale, minimum = each[i // 32]
        whole = n + 16 * (fifth[i % 32] >> (i // 32) & 1)
        found.append(d * scale * whole - least * minimum)
    return found


def q6_k(block: bytes) -> list[float]:
    low, high, d = block[:128], block[128:192], half(block[208:])
    each = struct.unpack("<16b", block[192:208])
    found = []
    for i in range(256):
        part, place = divmod(i, 128)
        row, column = divmod(place, 32)
        four = low[64 * part + 32 * (row % 2) + column] >> (4 * (row // 2)) & 15
        two = high[32 * part + column] >> (2 * row) & 3
        found.append(d * each[i // 16] * ((four | two << 4) - 32))
    return found


BY_HAND = {
    KIND.F32: lambda data: struct.unpack("<256f", data),
    KIND.F16: lambda data: struct.unpack("<256e", data),
    KIND.BF16: lambda data: [
        struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, 512, 2)
    ],
    KIND.Q8_0: q8_0,
    KIND.Q4_0: q4_0,
    KIND.Q4_1: q4_1,
    KIND.Q5_0: q5_0,
    KIND.Q5_1: q5_1,
    KIND.Q4_K: q4_k,
    KIND.Q5_K: q5_k,
    KIND.Q6_K: q6_k,
}
HALVES = {KIND.Q4_1: (0, 2), KIND.Q5_1: (0, 2), KIND.Q4_K: (0, 2), KIND.Q5_K: (0, 2)}


def row_of(kind: gguf.GGMLQuantizationType) -> bytes:
    """256 numbers in any bits, with scales that are ordinary numbers."""
    rng = np.random.default_rng(int(kind))
    if kind in (KIND.F32, KIND.F16, KIND.BF16):
        values = rng.standard_normal((1, N)).astype(np.float32)
        return gguf.quantize(values, kind).tobytes()
    n_values, n_bytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (N // n_values, n_bytes), dtype=np.uint8)
    for place in (208,) if kind == KIND.Q6_K else HALVES.get(kind, (0,)):
        scale = rng.standard_normal(len(blocks)).astype(np.float16)
        blocks[:, place : place + 2] = scale.view(np.uint8).reshape(-1, 2)
    return blocks.tobytes()


def tensor_file(path, data: bytes, kind, shape=(1, N)):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("t", np.frombuffer(data, np.uint8).reshape(shape[0], -1), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", QUANTIZATIONS, ids=lambda kind: kind.name)
def test_every_number_of_each_quantization(tmp_path, kind):
    """Laid out as ggml-quants.c says, worked out one number at a time."""
    data, (n_values, n_bytes) = row_of(kind), gguf.GGML_QUANT_SIZES[kind]
    found = GGUFFile(tensor_file(tmp_path / "t.gguf", data, kind)).read("t")
    block = len(data) if n_values == 1 else n_bytes
    expected = [
        number
        for start in range(0, len(data), block)
        for number in BY_HAND[kind](data[start : start + block])
    ]
    assert found.shape == (1, N)
    expected = torch.tensor([expected], dtype=torch.float64)
    torch.testing.assert_close(found.double(), expected, rtol=3e-7, atol=1e-5)


def refused(path, kind, *named):
    """Loading is refused for this reason, in every language, with these words in the sentence."""
    with pytest.raises(CheckpointError) as caught:
        core.load(str(path), device="cpu")
    error = caught.value
    assert error.kind == kind, error
    for language in LANGUAGES:
        sentence = text(language, f"checkpoint.{kind}", **error.values)
        assert all(word in sentence for word in named), sentence


@pytest.fixture(scope="module")
def network():
    return files.network("llama", num_hidden_layers=1)


SETTINGS = {
    "another architecture": (
        {"general.architecture": "mamba"},
        "architecture",
        ["mamba", "llama, qwen2, gpt2"],
    ),
    "experts": ({"llama.expert_count": 8}, "unsupported", ["llama.expert_count", "8"]),
    "stretched angles": (
        {"llama.rope.scaling.type": "linear"},
        "unsupported",
        ["rope.scaling.type", "linear"],
    ),
    "angles for some of the numbers": (
        {"llama.attention.key_length": 16, "llama.rope.dimension_count": 8},
        "unsupported",
        ["rope.dimension_count"],
    ),
    "no size": ({"llama.embedding_length": None}, "setting_missing", ["llama.embedding_length"]),
    "a size that is a word": (
        {"llama.embedding_length": "big"},
        "setting_wrong",
        ["llama.embedding_length", "big"],
    ),
    "heads that do not fit": ({"llama.attention.head_count_kv": 3}, "setting_impossible", ["3"]),
    "another size": ({"llama.feed_forward_length": 100}, "tensor_shape", ["96 × 64", "100 × 64"]),
    "more blocks": ({"llama.block_count": 2}, "blocks", ["1", "2"]),
    "a tokenizer of SentencePiece": (
        {"tokenizer.ggml.model": "llama"},
        "tokenizer_kind",
        ["llama"],
    ),
    "another cut": ({"tokenizer.ggml.pre": "tekken"}, "tokenizer_kind", ["tekken"]),
    "no tokens": ({"tokenizer.ggml.tokens": None}, "setting_missing", ["tokenizer.ggml.tokens"]),
    "tokens without kinds": ({"tokenizer.ggml.token_type": [1]}, "damaged", ["tokenizer"]),
    "half a merge": ({"tokenizer.ggml.merges": ["th"]}, "damaged", ["tokenizer"]),
}


@pytest.mark.parametrize("what", SETTINGS)
def test_settings_that_are_refused(tmp_path, network, what):
    settings, kind, named = SETTINGS[what]
    refused(files.write(tmp_path / "model.gguf", network, settings=settings), kind, *named)


TENSORS = {
    "missing": ({"blk.0.ffn_up.weight": None}, "tensor_missing", ["blk.0.ffn_up.weight"]),
    "surplus": (
        {"blk.0.attn_q_norm.weight": np.ones(16, np.float32)},
        "tensor_surplus",
        ["blk.0.attn_q_norm.weight"],
    ),
    "misshaped": (
        {"output_norm.weight": np.ones(32, np.float32)},
        "tensor_shape",
        ["output_norm.weight", "32", "64"],
    ),
    "stretched angles": (
        {"rope_freqs.weight": np.full(8, 4, np.float32)},  # all alike is not Llama 3's way
        "gguf_stretched",
        ["rope_freqs.weight"],
    ),
}


@pytest.mark.parametrize("what", TENSORS)
def test_tensors_that_are_refused(tmp_path, network, what):
    replaced, kind, named = TENSORS[what]
    refused(files.write(tmp_path / "model.gguf", network, replaced=replaced), kind, *named)


def test_an_unknown_quantization_is_refused(tmp_path):
    path = tensor_file(tmp_path / "t.gguf", bytes(66), KIND.IQ2_XXS)
    refused(path, "gguf_quantization", "IQ2_XXS", "Q4_1, Q5_0")


def test_a_file_cut_off_anywhere_is_refused(tmp_path, network):
    whole = files.write(tmp_path / "whole.gguf", network).read_bytes()
    cut = tmp_path / "cut.gguf"
    rng = np.random.default_rng(0)
    for length in [0, 3, 4, 8, 23, 24, 60, len(whole) - 1, *rng.integers(0, len(whole), 60)]:
        cut.write_bytes(whole[:length])
        refused(cut, "damaged", "cut.gguf")


def test_a_file_with_any_changed_byte_loads_or_is_refused(tmp_path, network):
    """Never another error: the settings are a stranger's."""
    whole = bytearray(files.write(tmp_path / "whole.gguf", network).read_bytes())
    rng = np.random.default_rng(1)
    changed, n_refused = tmp_path / "changed.gguf", 0
    for place in [*range(4, 60), *rng.integers(60, 1200, 40)]:
        before = whole[place]
        whole[place] ^= int(rng.integers(1, 256))
        changed.write_bytes(whole)
        whole[place] = before
        try:
            core.load(str(changed), device="cpu")
        except CheckpointError:
            n_refused += 1
    assert n_refused > 40


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"", "damaged"), (b"PK\3\4" * 20, "damaged"), (b"GGUF\1\0\0\0" + bytes(40), "gguf_version")],
)
def test_what_is_no_gguf_file_is_refused(tmp_path, content, kind):
    (tmp_path / "no.gguf").write_bytes(content)
    refused(tmp_path / "no.gguf", kind, "no.gguf")


def test_a_path_that_is_not_there(tmp_path):
    refused(tmp_path / "nowhere.gguf", "nothing_there", "nowhere.gguf")
