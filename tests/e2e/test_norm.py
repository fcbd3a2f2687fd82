"""The page on LayerNorm in a browser: a norm is chosen, its mean followed to a token."""

import re


def test_a_mean_leads_back_to_a_token(page, settled, expect):
    page.goto("/norm?model=worked-example&preset=block")
    settled(page)
    page.get_by_role("link", name="ln_1, before attention").click()
    expect(page).to_have_url(re.compile("norm=ln_1"))
    settled(page)
    mean = page.get_by_role("grid", name="Mean", exact=True)
    mean.get_by_role("gridcell", name="먹었다 2").click()
    written = page.locator(".opened-box .sum")
    expect(written).to_have_text(re.compile(r"= 0\.6333"))
    heading = page.locator(".opened-box h3")
    for _ in range(8):
        if "Token ID" in heading.inner_text():
            break
        before = heading.inner_text()
        written.get_by_role("button").first.click()
        expect(heading).not_to_have_text(before)
    expect(written).to_have_text("token ID 2 = 먹었다")


def test_nothing_is_wider_than_a_phone(new_page, settled):
    page = new_page(viewport={"width": 390, "height": 844})
    for name in ("scores", "heads", "norm"):
        page.goto(f"/{name}?model=worked-example&lang=ko")
        settled(page)
        main = page.locator("[data-testid=stMain]")
        assert main.evaluate("e => e.scrollWidth <= e.clientWidth"), name
