"""The page on the residual stream in a browser: the way to it, and a number opened on it."""

import re


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
