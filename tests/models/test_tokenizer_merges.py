"""Pieces and merges on the way to the IDs, against a naive merge loop."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.tokenizers import GPT2, RANKS, anything, often, without_surrogates


def naive_steps(data: bytes) -> tuple[list[tuple], list[bytes]]:
    """Rescan all pairs before every merge: slow, and plainly the rule."""
    parts, steps = [bytes([byte]) for byte in data], []
    while True:
        pairs = [(RANKS.get(a + b), i) for i, (a, b) in enumerate(pairwise(parts))]
        pairs = [(rank, i) for rank, i in pairs if rank is not None]
        if not pairs:
            return steps, parts
        rank, i = min(pairs)
        steps.append((tuple(parts), i, rank, parts[i] + parts[i + 1]))
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def test_pre_split_pieces_and_where_they_begin():
    pieces = GPT2.explain("한 don't  stop\n42!")
    assert [(p.text, p.char_start, p.byte_start) for p in pieces] == [
        ("한", 0, 0),
        (" don", 1, 3),
        ("'t", 5, 7),
        (" ", 7, 9),
        (" stop", 8, 10),
        ("\n", 13, 15),
        ("42", 14, 16),
        ("!", 16, 18),
    ]


@often
@given(anything)
def test_pre_split_pieces_cover_the_text(text):
    clean = without_surrogates(text)
    for piece in GPT2.explain(text):
        assert clean[piece.char_start :].startswith(piece.text)
        assert clean.encode()[piece.byte_start :].startswith(piece.data)
        assert piece.data == piece.text.encode()
    assert "".join(piece.text for piece in GPT2.explain(text)) == clean


def test_merges_of_lower():
    """l ow er: 'er' (263) comes before 'ow' (322), then 'ower' (789), then 'lower' (21037)."""
    steps = list(GPT2.explain_piece(b"lower").steps())
    assert [(s.parts, s.index, s.rank, s.result) for s in steps] == [
        ((b"l", b"o", b"w", b"e", b"r"), 3, 263, b"er"),
        ((b"l", b"o", b"w", b"er"), 1, 322, b"ow"),
        ((b"l", b"ow", b"er"), 1, 789, b"ower"),
        ((b"l", b"ower"), 0, 21037, b"lower"),
    ]
    assert GPT2.explain_piece(b"lower").ids == (21037,)


@often
@given(st.binary(max_size=40) | st.text("abei tn", max_size=40).map(str.encode))
@example(b"aaaaaaa")
@example(b"")
def test_merges_follow_the_rule(data):
    steps, parts = naive_steps(data)
    merged = GPT2.explain_piece(data)
    assert [(s.parts, s.index, s.rank, s.result) for s in merged.steps()] == steps
    assert [(m.left + m.right, m.rank) for m in merged.merges] == [(s[3], s[2]) for s in steps]
    assert list(merged.parts) == parts
    assert list(merged.ids) == [RANKS[part] for part in parts]


def test_every_token_of_the_table_is_reached_by_merging():
    """tiktoken looks a whole piece up first; that is no other rule only if this holds."""
    for token, rank in RANKS.items():
        assert GPT2.explain_piece(token).ids == (rank,)
