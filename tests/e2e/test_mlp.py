"""The MLP page in a browser: a number of the hourglass is followed to a token ID."""

import re


def test_neuron_is_followed_down_to_a_token(page, settled, expect):
    page.goto("/mlp?model=worked-example&preset=part-4-mlp&lang=en")
    settled(page)
    page.locator(".glass").get_by_role("link", name=re.compile("^−0.14")).click()
    settled(page)
    opened = page.locator(".opened-box")
    expect(opened.get_by_role("heading")).to_contain_text("Neuron 1 for 먹었다")
    for step in ("mlp.hidden", "attn.out", "heads", "attn.v"):
        opened.locator(
            f'.operand[data-to*="~blocks.0.{step}~"], .operand[data-to*=".{step}~"]'
        ).first.click()
        settled(page)
    for step in ("embed.sum", "embed.token", "tokens.ids"):
        opened.locator(f'.operand[data-to*="~{step}~"]').first.click()
        settled(page)
    expect(opened.get_by_role("heading")).to_contain_text("Token ID")
    expect(page).to_have_url(re.compile("tokens.ids"))


def test_number_is_found_on_the_curve_and_in_the_one_matrix(page, settled, expect):
    page.goto("/mlp?model=worked-example&preset=part-4-mlp&lang=en")
    settled(page)
    chart = page.get_by_role("application", name=re.compile("GELU as a curve"))
    chart.press("End")
    expect(page.get_by_text("Neuron 0: 1.61 goes in, 1.523 comes out.")).to_be_visible()
    chart.press("Enter")
    settled(page)
    expect(page).to_have_url(re.compile(r"open=blocks.0.mlp.act~2-0"))
    expect(page.locator(".opened-box").get_by_role("heading")).to_contain_text("Neuron 0")
    one = page.get_by_role("grid", name="W_1·W_2, one matrix of 3 × 3")
    one.get_by_role("gridcell", name=re.compile("^number 0, number 2:")).click()
    expect(page.locator(".entry")).to_contain_text("= −0.4")
    expect(page).to_have_url(re.compile("one_column=2"))


def test_window_of_a_long_text_follows_the_token_until_it_is_moved(page, settled, expect):
    page.goto(f"/mlp?model=bundled&lang=en&token=29&prompt={'+and' * 32}")
    settled(page)
    picture = page.get_by_role("application", name=re.compile("^Hidden, "))
    place = page.get_by_text("In numbers: rows 20–29, columns").first
    expect(place).to_be_visible()
    picture.press("PageUp")
    settled(page)
    cell = page.get_by_role("gridcell", name=re.compile("^token ·and 10, neuron"))
    expect(page.get_by_text("In numbers: rows 10–19, columns")).to_have_count(1)
    expect(cell).to_have_count(12)
    reads = page.get_by_role("application", name=re.compile("^What the MLP reads, "))
    reads.press("PageUp")
    settled(page)
    expect(page.get_by_text("In numbers: rows 10–19, columns")).to_have_count(2)
    expect(cell).to_have_count(12)  # each window stays where it was put
    expect(reads).to_be_focused()
    page.get_by_role("slider", name="Token").press("Home")
    settled(page)
    expect(page.get_by_text("In numbers: rows 0–9, columns")).to_have_count(5)
