"""The Scores page in a browser: a share followed to a token, a head and a dice roll chosen."""

import re


def test_a_share_leads_back_to_the_token_it_comes_from(page, settled, expect):
    page.goto("/scores?model=worked-example&preset=part-2")
    settled(page)
    shares = page.get_by_role("grid").nth(3)
    shares.get_by_role("gridcell", name="query 먹었다 2, key 밥을 1").click()
    written = page.locator(".opened-box .sum")
    expect(written).to_contain_text("= 0.3248")
    heading = page.locator(".opened-box h3")
    for _ in range(12):
        if "Token ID" in heading.inner_text():
            break
        before = heading.inner_text()
        written.get_by_role("button").first.click()
        expect(heading).not_to_have_text(before)
    expect(written).to_have_text("token ID 2 = 먹었다")
    expect(page).to_have_url(re.compile(r"tokens\.ids~2"))


def test_another_head_is_chosen_from_its_picture_and_dice_are_rolled(page, settled, expect):
    page.goto("/scores?model=worked-example&preset=block")
    settled(page)
    page.get_by_role("radio", name="Head 1").click()
    expect(page).to_have_url(re.compile("head=1"))
    page.get_by_role("link", name="Roll the dice again").click()
    expect(page).to_have_url(re.compile("head=1.*dropout_draw=2|dropout_draw=2.*head=1"))


def test_the_colours_beside_a_long_matrix_are_as_high_as_it_is(page, settled):
    page.goto("/scores?prompt=" + "the+cat+sat+on+a+mat+" * 8)
    settled(page)
    side, matrix = page.evaluate(
        "['.side', '.pixels'].map(s => document.querySelector('.framed.square ' + s).clientHeight)"
    )
    assert abs(side - matrix) <= 4


def test_a_mask_is_chosen_by_its_picture_and_a_share_worked_out(page, settled, expect):
    page.goto("/scores?model=bundled&lang=en&prompt=the+cat+sat+on+the+mat+and+the+cat+sat")
    settled(page)
    page.get_by_role("link", name="No mask at all").click()
    settled(page)
    expect(page).to_have_url(re.compile("masked_by=open"))
    shares = page.get_by_role("grid", name="No mask at all")
    shares.get_by_role("gridcell", name="query ·cat 1, key ·mat 5").click()
    settled(page)
    expect(page.get_by_text("“·cat” on “·mat”, exp(s − max) / sum of all:")).to_be_visible()
    expect(page.locator(".entry")).to_have_text(re.compile("^exp.* = 0"))
    expect(page.locator(".opened-box")).to_be_hidden()


def test_every_share_of_a_short_text_opens(page, settled, expect):
    page.goto("/scores?model=worked-example&preset=block&lang=en&dropout=0.5")
    settled(page)
    place = "query 밥을 1, key 나는 0"
    page.get_by_role("grid", name="Softmax, then 0").get_by_role("gridcell", name=place).click()
    expect(page).to_have_url(re.compile("taken_row=1"))
    expect(page.get_by_text("“밥을” on “나는”, exp(s − max) / sum of all:")).to_be_visible()
    expect(page.locator(".entry").nth(1)).to_have_text(re.compile(r"exp\(.*·1/.*·1/.* = 0\.0"))
    page.locator(".entry a").first.click()
    heading = page.locator(".opened-box h3")
    expect(heading).to_contain_text("Scaled score of 밥을 (1) on 나는 (0)")
    rolled = page.get_by_role("grid", name="One roll of the dice")
    rolled.get_by_role("gridcell", name="query 밥을 1, key 밥을 1").press("Enter")
    expect(page.get_by_text("“밥을” on “밥을”, share · 1/(1 − p):")).to_be_visible()
    page.locator(".entry a").last.click()
    expect(heading).to_contain_text("Share of 밥을 (1) that goes to 밥을 (1)")
