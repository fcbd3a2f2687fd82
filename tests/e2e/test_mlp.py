"""The MLP page in a browser: a number of the hourglass is followed to a token ID."""

import re


def test_neuron_is_followed_down_to_a_token(page, settled, expect):
    page.goto("/mlp?model=worked-example&preset=part-4-mlp&lang=en")
    settled(page)
    page.locator(".glass").get_by_role("link", name=re.compile("^−0.14")).click()
    settled(page)
    opened = page.locator(".opened-box")
    expect(opened.get_by_role("heading")).to_contain_text("Neuron 1 for 먹었다")
    for step in ("mlp.hidden", "resid_mid", "attn.out", "concat", "heads", "attn.v", "resid_in"):
        opened.locator(
            f'.operand[data-to*="~blocks.0.{step}~"], .operand[data-to*=".{step}~"]'
        ).first.click()
        settled(page)
    for step in ("embed.sum", "embed.token", "tokens.ids"):
        opened.locator(f'.operand[data-to*="~{step}~"]').first.click()
        settled(page)
    expect(opened.get_by_role("heading")).to_contain_text("Token ID")
    expect(page).to_have_url(re.compile("tokens.ids"))
