"""The tree of continuations: growing, going back, and its text in a link."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.generate.branches import MOST, PROMPT, BadBranches, Branches

often = settings(max_examples=200, deadline=None, derandomize=True, database=None)
# A token to write, or None to go back.
walks = st.lists(st.none() | st.integers(0, 5), max_size=40)


def walked(moves):
    tree = Branches()
    for move in moves:
        tree = tree.back() if move is None else tree.grown(move)
    return tree


def test_another_token_at_the_same_place_is_a_second_branch():
    tree = walked([4, 5, None, 3])
    assert tree.ids() == [4, 3]
    assert tree.nodes == ((PROMPT, 4), (0, 5), (0, 3))
    assert tree.children(0) == [1, 2]
    assert tree.encode() == "p_4.5~0_3~@2"


def test_the_same_token_again_is_no_new_branch():
    assert walked([4, 5, None, 5]) == walked([4, 5])


def test_going_back_from_the_prompt_stays_there():
    assert Branches().back() == Branches()


@often
@given(walks)
def test_the_path_is_what_was_written_and_not_taken_back(moves):
    expected = []
    for move in moves:
        expected = expected[:-1] if move is None else [*expected, move]
    assert walked(moves).ids() == expected


@often
@given(walks)
def test_the_text_in_a_link_comes_back_as_the_same_tree(moves):
    tree = walked(moves)
    assert Branches.decode(tree.encode(), 6) == tree


def test_a_full_tree_forgets_all_but_the_present_path():
    tree = walked([0, *range(1, MOST)]).moved(9)
    grown = tree.grown(7)
    assert grown.ids() == [*range(10), 7]
    assert len(grown) == 11


def test_a_path_that_fills_the_tree_says_so():
    with pytest.raises(BadBranches, match="no more than"):
        walked(range(MOST)).grown(7)


@pytest.mark.parametrize(
    "text",
    ["x", "p_1", "p_1~@1", "p_9~@0", "1_1~@0", "p_1~@-1", "p_~@p", "p_1.~@0", "p_1~@٣", "~" * 5000],
)
def test_what_no_tree_writes_is_refused(text):
    with pytest.raises(BadBranches):
        Branches.decode(text, 9)


@often
@given(st.text(alphabet="p_0123456789.~@", max_size=30))
def test_any_text_is_a_tree_or_refused(text):
    try:
        tree = Branches.decode(text, 100)
    except BadBranches:
        return
    assert all(parent < i for i, (parent, _) in enumerate(tree.nodes))
    assert PROMPT <= tree.at < len(tree)
