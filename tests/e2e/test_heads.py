"""The Heads page in a browser: the stop of W_O leads down the page, its sum down to a weight."""

import re


def test_the_stop_of_w_o_leads_to_its_place_and_a_number_to_a_weight(page, settled, expect):
    page.goto("/scores?model=worked-example&preset=part-3")
    settled(page)
    page.get_by_role("navigation").get_by_role("link", name="W_O", exact=True).click()
    settled(page)
    expect(page).to_have_url(re.compile("/heads"))
    expect(page.locator("#stop-wo")).to_be_in_viewport()
    out = page.get_by_role("grid", name="joined · W_O")
    out.get_by_role("gridcell", name="token 먹었다 2, number 0").click()
    written = page.locator(".opened-box .sum")
    expect(written).to_contain_text("= 0.7419")
    written.get_by_role("button", name="open: W_O").first.click()
    expect(page).to_have_url(re.compile(r"attn\.W_O~\d-0"))
    expect(written.get_by_role("button")).to_have_count(0)
