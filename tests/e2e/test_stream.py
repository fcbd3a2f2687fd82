"""The page on the residual stream in a browser: the way to it, and a number opened on it."""

import re

import pytest


def test_belt_is_reached_from_the_overview_and_its_numbers_open(page, settled, expect):
    page.goto("/?model=worked-example&preset=block&lang=en")
    settled(page)
    page.get_by_role("link", name=re.compile("Follow one token")).click()
    settled(page)
    expect(page).to_have_url(re.compile("/stream"))
    page.locator(".sum-row .at-added a").first.click()
    settled(page)
    opened = page.locator(".opened-box")
    expect(opened.get_by_role("heading")).to_contain_text("what attention adds")
    page.locator(".picks").last.get_by_role("link", name="밥을").click()
    settled(page)
    expect(page).to_have_url(re.compile("against=1"))
    expect(page.get_by_text("times as likely")).to_be_visible()


# Of each number on the page, how strongly its cell is coloured: of HTML first, then of the grid.
STRENGTHS = """() => {
    const found = (cells) => Object.fromEntries([...cells].map((cell) => [
        Number(cell.textContent.replace('−', '-')).toFixed(2),
        Number(/([\\d.]+)\\)$/.exec(getComputedStyle(cell).backgroundColor)[1]),
    ]));
    const roots = [...document.querySelectorAll('*')].map((e) => e.shadowRoot).filter(Boolean);
    const grids = roots.flatMap((root) => [...root.querySelectorAll('.numbers td[role]')]);
    return [found(document.querySelectorAll('.journey .vec a')), found(grids)];
}"""


def test_a_number_has_the_same_colour_in_both_kinds_of_pictures(page, settled):
    page.goto("/stream?model=worked-example&preset=block&lang=en&token=0")
    settled(page)
    drawn, grid = page.evaluate(STRENGTHS)
    both = drawn.keys() & grid.keys()
    assert len(both) > 8
    assert {number: drawn[number] for number in both} == {
        number: pytest.approx(grid[number], abs=0.02) for number in both
    }
