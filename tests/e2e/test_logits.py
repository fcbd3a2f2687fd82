"""The Logits page in a browser: a probability is opened, a cell of the lens is chosen."""

import re


def test_probability_is_followed_to_the_row_that_was_read(page, settled, expect):
    page.goto("/logits?model=worked-example&preset=part-6&lang=en")
    settled(page)
    page.locator(".ranked .opens").nth(1).click()
    settled(page)
    opened = page.locator(".opened-box")
    expect(opened.get_by_role("heading")).to_contain_text("Probability of “먹었다”")
    for step in ("logits", "ln_f.out"):
        opened.locator(f'.operand.step[data-to*="~{step}~2-"]').first.click()
        settled(page)
    expect(page).to_have_url(re.compile(r"open=probs~2-2~logits~2-2~ln_f.out~2-0"))


def test_cell_of_the_lens_says_more(page, settled, expect):
    page.goto("/logits?model=worked-example&preset=block&lang=en")
    settled(page)
    page.locator(".lens td a").nth(4).click()
    settled(page)
    expect(page).to_have_url(re.compile("token=1.*lens=1"))
    expect(page.locator(".lens td a[aria-current]")).to_have_count(1)
    page.get_by_role("textbox", name=re.compile("How likely")).fill("물을")
    page.keyboard.press("Enter")
    settled(page)
    expect(page.get_by_text("has rank")).to_be_visible()
    expect(page).to_have_url(re.compile("word=.*lens=1|lens=1.*word="))


def test_what_a_long_list_leaves_out_opens_in_place(page, settled, expect):
    page.goto("/logits?model=bundled&lang=en&prompt=" + ("the+king+said+" * 6)[:-1])
    settled(page)
    link = page.locator(".every").get_by_role("link", name=re.compile("^Show .* more"))
    link.scroll_into_view_if_needed()
    settled(page)  # what came into sight has found its size
    top = link.bounding_box()["y"]
    link.click()
    settled(page)
    fewer = page.locator(".every").get_by_role("link", name="Show fewer")
    assert abs(fewer.bounding_box()["y"] - top) < 2
    expect(page.locator(".every tr")).to_have_count(1 + 18 + 1)
    fewer.click()
    settled(page)
    expect(link).to_be_visible()
