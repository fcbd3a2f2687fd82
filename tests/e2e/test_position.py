"""The Position page in a browser."""

import re


def test_sum_leads_to_the_weight_of_a_place(page, settled, expect):
    page.goto("/position?model=worked-example&preset=part-1")
    settled(page)
    page.get_by_role("grid", name="= H₀").get_by_role("gridcell", name="먹었다 2, number 0").click()
    sentence = page.locator(".opened-box .sum")
    expect(sentence).to_contain_text("0.4 + 0.2 = 0.6")
    sentence.get_by_role("button").nth(1).click()
    expect(page).to_have_url(re.compile(r"embed\.position~2-0"))
    sentence.get_by_role("button").last.click()
    expect(page).to_have_url(re.compile(r"embed\.W_P~2-0"))
