"""The Sampling page in a browser: a setting is typed, a token drawn, drawn again, and taken."""

import re


def test_draw_is_set_repeated_and_taken(page, settled, expect):
    page.goto("/sampling?model=worked-example&preset=part-6&lang=en")
    settled(page)
    field = page.locator(".st-key-top_k_typed input")
    field.fill("2")
    field.press("Enter")
    settled(page)
    expect(page).to_have_url(re.compile("top_k=2"))
    expect(page.locator(".sift s").first).to_be_visible()
    field.fill("-3")
    field.press("Enter")
    settled(page)
    expect(page.get_by_role("alert").filter(has_text="2 stays")).to_be_visible()
    expect(field).to_have_value("2")
    number = page.locator(".falls b").first
    before = number.inner_text()
    page.get_by_role("link", name="Draw again").click()
    settled(page)
    expect(number).not_to_have_text(before)
    expect(page).to_have_url(re.compile("draw=1"))
    page.get_by_role("link", name=re.compile("into the text")).click()
    settled(page)
    expect(page.get_by_role("textbox", name="Your text")).to_have_value(
        re.compile("나는 밥을 먹었다 .+")
    )
    expect(page).to_have_url(re.compile("draw=2"))
