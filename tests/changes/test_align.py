"""Which token of one text is which of another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.changes import align

texts = st.lists(st.integers(0, 4), max_size=12)


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("abc", "abc", (0, 1, 2)),
        ("abc", "axc", (0, 1, 2)),  # another word in the same place
        ("abc", "bac", (1, 0, 2)),  # two words swapped
        ("abcd", "cbad", (2, 1, 0, 3)),
        ("abc", "abxc", (0, 1, None, 2)),  # inserted
        ("abc", "xabc", (None, 0, 1, 2)),
        ("abc", "abcx", (0, 1, 2, None)),
        ("abc", "ac", (0, 2)),  # deleted
        ("abc", "c", (2,)),
        ("abc", "xyc", (0, 1, 2)),
        ("abc", "xyzc", (0, 1, None, 2)),
        ("aa", "ba", (0, 1)),  # a repeated word: the other one stays where it is
        ("aa", "ab", (0, 1)),
        ("aba", "aa", (0, 2)),
        ("aaa", "aaaa", (0, 1, 2, None)),
        ("axyz", "abaxyz", (0, None, None, 1, 2, 3)),
        ("abcdef", "defabc", (3, 4, 5, 0, 1, 2)),
        ("abc", "xyz", (0, 1, 2)),
        ("abc", "", ()),
        ("", "ab", (None, None)),
    ],
)
def test_by_hand(before, after, rows):
    assert align([ord(c) for c in before], [ord(c) for c in after]) == rows


@given(texts, texts)
def test_rows_are_positions_of_the_first_and_distinct(before, after):
    rows = align(before, after)
    found = [row for row in rows if row is not None]
    assert len(rows) == len(after)
    assert len(set(found)) == len(found) and set(found) <= set(range(len(before)))


@given(texts, texts, texts, texts)
def test_what_stands_on_both_sides_of_a_change_is_kept(first, old, new, last):
    old, new = [i + 10 for i in old], [i + 20 for i in new]
    rows = align(first + old + last, first + new + last)
    assert rows[: len(first)] == tuple(range(len(first)))
    there = len(first) + len(old)
    assert rows[len(rows) - len(last) :] == tuple(range(there, there + len(last)))


@given(texts, texts)
def test_no_token_is_new_while_its_like_is_left_over(before, after):
    rows = align(before, after)
    left = [before[i] for i in set(range(len(before))) - set(rows)]
    assert not {after[i] for i, row in enumerate(rows) if row is None} & set(left)
