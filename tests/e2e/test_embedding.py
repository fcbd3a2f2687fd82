"""The Embedding page in a browser: a number is followed to the token, vectors are moved."""

import re


def cosine(page):
    return page.locator(".cosine b")


def test_number_leads_to_the_token_id(page, settled, expect):
    page.goto("/embedding?model=worked-example&preset=part-1&token=1")
    settled(page)
    page.get_by_role("grid", name="x, the token’s row").get_by_role(
        "gridcell", name="number 0"
    ).click()
    expect(page).to_have_url(re.compile(r"open=embed\.token~1-0"))
    sentence = page.locator(".opened-box .sum")
    expect(sentence).to_contain_text("1·0.8 = 0.8")
    sentence.get_by_role("button").first.click()
    expect(page).to_have_url(re.compile(r"tokens\.ids~1$|tokens\.ids~1&"))
    expect(page.locator(".opened-box .sum")).to_contain_text("밥을")


def drag(page, start, *stops):
    """From place to place on the plane, in tenths."""
    plane = page.locator(".plane svg")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    unit = box["width"] / 24.4
    for i, (x, y) in enumerate((start, *stops)):
        page.mouse.move(box["x"] + (12.2 + x) * unit, box["y"] + (12.2 - y) * unit, steps=4)
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def test_vectors_are_dragged_and_stay_in_the_link(page, settled, expect):
    page.goto("/embedding?model=worked-example&vectors=8_6_6_8")
    settled(page)
    expect(cosine(page)).to_have_text("0.96")
    for _ in range(2):  # again after going back, to the very same place
        drag(page, (6, 8), (0, 9), (-6, 8))
        expect(cosine(page)).to_have_text("0")
        expect(page).to_have_url(re.compile("vectors=8_6_-6_8"))
        page.reload()
        settled(page)
        expect(cosine(page)).to_have_text("0")
        page.go_back()
        settled(page)
        expect(cosine(page)).to_have_text("0.96")


def test_vectors_are_moved_with_the_keyboard(page, settled, expect):
    page.goto("/embedding?model=worked-example&vectors=1_0_1_1")
    settled(page)
    tip = page.get_by_role("slider", name="Vector b")
    tip.focus()
    page.keyboard.press("ArrowDown")
    expect(cosine(page)).to_have_text("1")
    for _ in range(2):  # over the middle, which has no direction
        page.keyboard.press("ArrowLeft")
    expect(cosine(page)).to_have_text("−1")
    expect(page).to_have_url(re.compile("vectors=1_0_-2_0"))
    expect(tip).to_have_attribute("aria-valuetext", re.compile("−0.2 to the right"))
    page.get_by_role("button", name="Right angle").click()
    expect(cosine(page)).to_have_text("0")
