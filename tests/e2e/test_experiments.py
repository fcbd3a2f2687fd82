"""Experiments and guessing first in a real browser: with the mouse, and with the keyboard alone."""

import re


def test_an_experiment_starts_is_followed_and_ends_where_it_began(page, settled, expect):
    page.goto("/tokens?lang=en&prompt=She+was+very+happy+to")
    settled(page)
    page.get_by_role("navigation").get_by_role("link", name="Try it", exact=True).click()
    settled(page)
    page.get_by_role("link", name="Start: Switch one head off").click()
    settled(page)
    expect(page).to_have_url(re.compile(r"/logits\?.*experiment=ablate"))
    banner = page.get_by_role("region", name="Experiments")
    expect(banner).to_contain_text("less than a third")
    banner.get_by_role("link", name="Heads", exact=True).click()
    settled(page)
    expect(page).to_have_url(re.compile(r"/heads\?.*experiment=ablate"))
    expect(banner).to_contain_text("less than a third")
    banner.get_by_role("link", name="End the experiment").click()
    settled(page)
    expect(page).to_have_url(re.compile(r"/experiments\?prompt=She\+was\+very\+happy\+to$"))
    expect(banner).to_have_count(0)


def test_guessing_first_with_the_keyboard(page, settled, expect):
    page.goto("/scores?lang=en&model=worked-example&predict=on&edits=v1~~mask~off")
    settled(page)
    expect(page.get_by_text("steps changed")).to_have_count(0)
    shares = page.get_by_role("button", name="share", exact=True)
    shares.focus()
    page.keyboard.press("Enter")
    expect(shares).to_have_attribute("aria-pressed", "true")
    settled(page)
    page.get_by_role("button", name="Check", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("You found 1 of the")).to_be_visible()
    expect(page.get_by_text("Your switch changes how it is computed.")).to_be_visible()
    expect(page.get_by_text("steps changed")).not_to_have_count(0)
