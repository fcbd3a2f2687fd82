"""The Q, K, V page in a browser."""

import re


def test_query_leads_to_its_weight_and_heads_are_chosen(page, settled, expect):
    page.goto("/qkv?model=bundled&prompt=In%20the%20beginning")
    settled(page)
    page.get_by_role("grid", name="Q, queries").get_by_role(
        "gridcell", name="In 0, head’s number 0:"
    ).click()
    expect(page).to_have_url(re.compile(r"open=blocks\.0\.attn\.q~0-0-0"))
    page.locator(".opened-box .sum button.weight").first.click()
    expect(page).to_have_url(re.compile(r"blocks\.0\.attn\.W_Q~0-"))
    page.get_by_role("radio", name=re.compile("Head 2")).click()
    expect(page).to_have_url(re.compile("head=2"))
