"""Edits in the app itself: none is lost between pages, languages and models."""

import re

import pytest


@pytest.fixture
def edited(page, settled):
    """The Q, K, V page, with a number just typed and Enter just pressed; nothing waited for."""
    page.goto("/tokens?model=worked-example&preset=block")
    settled(page)
    page.locator(".strip").get_by_role("link", name="Q K V").click()
    cell = page.get_by_role("grid", name="W_Q").locator("td[data-r='0'][data-c='1']")
    cell.wait_for()
    settled(page)
    cell.focus()
    page.keyboard.type("0.25")
    page.keyboard.press("Enter")
    return page


EDIT = re.compile(r"edits=[^&]*W_Q~0-0-1~0\.25")


def test_the_strip_is_clicked_right_after_enter(edited, settled, expect):
    edited.locator(".strip").get_by_role("link", name="Scores").click()
    expect(edited).to_have_url(re.compile("/scores"))
    settled(edited)
    expect(edited).to_have_url(EDIT)


def test_the_browser_goes_back_right_after_enter(edited, settled, expect):
    edited.go_back()
    expect(edited).to_have_url(re.compile("/tokens"))
    settled(edited)
    # The address from before has no edit, and is what is shown; the edit was not lost with it.
    edited.get_by_role("link", name="Undo").click()
    expect(edited).to_have_url(EDIT)


def test_the_language_is_switched_right_after_enter(edited, settled, expect):
    edited.get_by_text("한국어").first.click()
    settled(edited)
    expect(edited).to_have_url(EDIT)


def test_nothing_fades_while_a_change_is_worked_out(page, settled):
    """Streamlit would fade what a run has not reached yet: a frame every 16 ms, all that time."""
    page.goto("/norm?model=worked-example&preset=block")
    settled(page)
    page.evaluate("""() => {
        window.fading = [];
        const look = () => {
            const moving = document.getAnimations().filter(it => it instanceof CSSTransition);
            window.fading.push(...moving.map(it => it.transitionProperty));
            requestAnimationFrame(look);
        };
        look();
    }""")
    cell = page.locator("td[role=gridcell][aria-readonly=false]:visible").first
    cell.focus()
    page.evaluate("window.fading.length = 0")  # the ring around the cell may fade in
    page.keyboard.type("0.25")
    page.keyboard.press("Enter")
    settled(page)
    assert page.evaluate("window.fading") == []


def test_a_huge_weight_leaves_scores_readable_and_old_shares_their_digits(page, settled):
    edit = "v1~~blocks.0.attn.W_Q~0-1-0~3.4e38"
    page.goto(f"/scores?model=worked-example&preset=block&edits={edit}")
    settled(page)
    numbers = page.locator("td[role=gridcell] .number").all_text_contents()
    assert any("·10³" in number for number in numbers)
    assert max(map(len, numbers)) <= len("−2.8·10³⁸")
    old = page.locator("td[role=gridcell]", has=page.locator(".number", has_text="0"))
    shares = [text for text in old.locator(".was").all_text_contents() if text.startswith("0.")]
    assert shares and all(len(text) >= len("0.07") for text in shares)
