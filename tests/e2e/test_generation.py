"""The Generation page in a browser: step, back, another candidate, a reload, play and pause."""

import re


def test_two_branches_survive_a_reload(page, settled, expect):
    page.goto("/generation?model=worked-example&preset=block&lang=en")
    settled(page)
    written = page.locator(".text-so-far .tok")
    for expected in (1, 2):
        page.get_by_role("link", name="Step ▶").click()
        settled(page)
        expect(written).to_have_count(expected)
    first = written.nth(1).inner_text()
    page.get_by_role("link", name="◀ Back").click()
    settled(page)
    expect(written).to_have_count(1)
    page.locator("a.may:not(.drawn)").first.click()
    settled(page)
    expect(written).to_have_count(2)
    expect(written.nth(1)).not_to_have_text(first)
    expect(page.locator(".branches .branch")).to_have_count(3)
    expect(page).to_have_url(re.compile("branches=p_"))
    page.reload()
    settled(page)
    expect(page.locator(".branches .branch")).to_have_count(3)
    page.locator(".branches .aside-way").click()
    settled(page)
    expect(written.nth(1)).to_have_text(first)


def test_it_plays_by_itself_until_it_is_paused(page, settled, expect):
    page.goto("/generation?model=worked-example&preset=block&lang=en&limit=slide&new=30")
    settled(page)
    page.get_by_role("link", name="Play").click()
    written = page.locator(".text-so-far .tok")
    expect(written.nth(1)).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("link", name="Step ▶")).to_be_visible()
    settled(page)
    count = written.count()
    page.wait_for_timeout(1500)
    expect(written).to_have_count(count)
    assert 2 <= count < 30
    page.get_by_role("link", name=re.compile("at once")).click()
    expect(written).to_have_count(count + 30)
