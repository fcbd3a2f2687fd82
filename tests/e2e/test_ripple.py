"""A change in a browser: the strip, the map that leads to a step, and what is before and after."""

import re

EDIT = "edits=v1~~blocks.2.attn.W_Q~0-3-3~2.0"
FITS = """() => {
    const strip = document.querySelector('.strip');
    return strip.scrollWidth <= strip.clientWidth;
}"""
TOO_WIDE = """() => {
    const main = document.querySelector('[data-testid=stMain]');
    return main.scrollWidth - main.clientWidth;
}"""

NEAREST = """() => {
    const sides = [...document.querySelectorAll('.strip .much')].map((numbers) => {
        const range = document.createRange();
        range.selectNodeContents(numbers);
        return range.getBoundingClientRect();
    });
    return Math.min(...sides.slice(1).map((side, i) => side.left - sides[i].right));
}"""


def test_a_cell_of_the_map_leads_to_its_step_block_and_token(page, settled, expect):
    page.goto(f"/?{EDIT}&layer=2")
    settled(page)
    cell = page.get_by_role("gridcell", name=re.compile(r"^·God \(3\) at share in block 2: up to"))
    cell.hover()
    expect(page.locator(".readout").first).to_contain_text("share in block 2: up to")
    cell.click()
    expect(page).to_have_url(re.compile(r"/scores\?(?=.*layer=2)(?=.*token=3)(?=.*edits=)"))
    settled(page)
    expect(page.locator(".ripple-bar b")).to_have_text("95 of 154 steps changed")
    page.get_by_role("link", name="W_Q → query in block 2").click()
    expect(page).to_have_url(re.compile("/qkv"))


def test_before_and_difference_are_a_click_away(page, settled, expect):
    page.goto("/qkv?model=worked-example&edits=v1~~blocks.0.attn.W_Q~0-0-1~0.8")
    settled(page)
    expect(page.locator("td.changed").first).to_be_visible()
    page.get_by_role("link", name="Before", exact=True).click()
    settled(page)
    expect(page).to_have_url(re.compile("side=before"))
    expect(page.locator("td.changed")).to_have_count(0)
    page.get_by_role("link", name="After", exact=True).click()
    expect(page.locator("td.changed").first).to_be_visible()


def test_the_strip_with_its_numbers_fits_a_laptop_and_a_telephone(new_page, settled):
    for size, lang in ((1280, "en"), (1280, "ko"), (390, "en")):
        page = new_page(viewport={"width": size, "height": 844})
        page.goto(f"/?{EDIT}&lang={lang}")
        settled(page)
        assert size == 390 or page.evaluate(FITS)
        assert page.evaluate(TOO_WIDE) <= 0
        page.context.close()


def test_stops_that_changed_their_shape_stand_apart(new_page, settled):
    for size, lang in ((1280, "en"), (390, "ko")):
        page = new_page(viewport={"width": size, "height": 844})
        page.goto(f"/scores?model=worked-example&edits=v1~~heads~one&lang={lang}")
        settled(page)
        assert page.evaluate(NEAREST) >= 4
        page.context.close()


def test_the_map_of_the_example_fits_a_laptop(new_page, settled):
    page = new_page(viewport={"width": 1280, "height": 844})
    page.goto("/?model=worked-example&edits=v1~~blocks.0.attn.W_Q~0-0-1~0.8")
    settled(page)
    place = page.get_by_role("grid").first.locator("xpath=..")
    assert place.evaluate("place => place.scrollWidth - place.clientWidth") <= 0
