"""What only a real browser shows: links, the address, typing, going back, small screens."""

import re

import pytest

HOSTILE = (
    '<b>bold</b><img src=x onerror="alert(1)"> **strong** $x^2$ :material/home: :red[red] '
    "[link](http://example.com) ![picture](http://example.com/a.png) &amp; {curly} 가"
)


def box(page):
    return page.get_by_role("textbox", name=re.compile("Your text|나의 글"))


def type_prompt(page, settled, text):
    box(page).fill(text)
    box(page).press("Enter")
    settled(page)


def go(page, settled, name):
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
    settled(page)


def test_first_load_shows_predictions(page, settled, expect):
    page.goto("/")
    settled(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("next word")
    expect(page.locator(".bars .value")).to_have_count(8)
    expect(page.locator(".bars .value").first).to_have_text(re.compile(r"\d %"))


def test_enter_sends_and_shift_enter_starts_a_new_line(page, settled, expect):
    page.goto("/")
    settled(page)
    box(page).fill("In the")
    box(page).press("Shift+Enter")
    page.keyboard.type("beginning")
    box(page).press("Enter")
    expect(page.locator(".column.tokens .tok")).to_have_text(
        [
            re.compile("In"),
            re.compile("the"),
            re.compile("↵"),
            re.compile("begin"),
            re.compile("ning"),
        ]
    )


def test_prompt_and_language_survive_pages_reload_and_back(page, settled, expect):
    page.goto("/")
    settled(page)
    type_prompt(page, settled, "Once upon a time")
    page.get_by_text("한국어", exact=True).click()
    settled(page)
    go(page, settled, "토큰")
    expect(page).to_have_url(re.compile(r"/tokens\?.*lang=ko"))
    expect(page.locator(".seen")).to_have_text("Once·upon·a·time")
    page.reload()
    settled(page)
    expect(box(page)).to_have_value("Once upon a time")
    expect(page.get_by_role("heading", level=1)).to_contain_text("토큰")
    go(page, settled, "한눈에 보기")
    expect(box(page)).to_have_value("Once upon a time")
    page.go_back()
    settled(page)
    expect(page.locator(".seen")).to_have_text("Once·upon·a·time")


def test_text_that_was_not_sent_yet_goes_along_to_the_next_page(page, settled, expect):
    page.goto("/")
    settled(page)
    box(page).fill("not sent yet")
    go(page, settled, "Tokens")
    expect(page.locator(".seen")).to_have_text("not·sent·yet")


def test_a_link_is_one_step_of_the_history(page, settled, expect):
    page.goto("/?token=2")
    settled(page)
    before = page.evaluate("history.length")
    for name in ("Tokens", "MLP"):
        go(page, settled, name)
    assert page.evaluate("history.length") == before + 2
    expect(page).to_have_url(re.compile(r"/mlp\?token=2$"))
    for name in ("tokens", ""):
        page.go_back()
        settled(page)
        expect(page).to_have_url(re.compile(rf"/{name}\?token=2$"))
    page.go_forward()
    settled(page)
    expect(page).to_have_url(re.compile(r"/tokens\?token=2$"))


def test_a_click_that_somebody_wrote_into_a_link_is_none(page, settled, expect):
    click = '{"n": 1e308, "page": "mlp", "set": "token=0"}'
    page.goto(f"/qkv?token=2&go={click}")
    settled(page)
    expect(page).to_have_url(re.compile(r"/qkv\?token=2$"))
    go(page, settled, "Scores")
    expect(page).to_have_url(re.compile(r"/scores\?token=2$"))


def test_what_was_moved_just_before_a_link_was_clicked_goes_along(page, settled, expect):
    page.goto("/qkv")
    settled(page)
    slider = page.locator(".stSidebar input[type=range]").last
    slider.focus()
    before = slider.input_value()
    leave = "document.querySelector('.strip a[data-page=mlp]').click()"
    page.evaluate(f"addEventListener('keyup', () => {leave}, {{once: true}})")
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("/mlp"))
    settled(page)
    expect(page).to_have_url(re.compile(rf"/mlp\?token={int(before) - 1}$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("MLP")


def test_back_returns_to_the_text_before(page, settled, expect):
    page.goto("/")
    settled(page)
    type_prompt(page, settled, "first text")
    type_prompt(page, settled, "second text")
    page.go_back()
    settled(page)
    expect(box(page)).to_have_value("first text")


def test_deep_link_on_a_fresh_server(fresh_server, new_page, settled, expect):
    page = new_page(base_url=fresh_server().url)
    page.goto("/tokens?lang=ko&prompt=%EC%95%88%EB%85%95")
    settled(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("토큰")
    expect(page.locator(".seen")).to_have_text("안녕")
    go(page, settled, "한눈에 보기")
    expect(box(page)).to_have_value("안녕")


def test_the_frame_stays_from_page_to_page(fresh_server, new_page, settled, expect):
    """Also for the first visitor, if a deep link brought them: Streamlit runs no app.py then."""
    page = new_page(base_url=fresh_server().url)
    page.goto("/qkv")
    expect(page.locator(".strip")).to_be_visible()
    settled(page)
    frame = "document.querySelectorAll('.stSidebar .stSlider, .st-key-way, .st-key-ripple_parts')"
    count = page.evaluate(f"(window.frameBefore = [...{frame}]).length")
    assert count == 5  # three sliders, the strip, and what draws the components
    go(page, settled, "MLP")
    assert page.evaluate("window.frameBefore.filter(e => e.isConnected).length") == count


def test_pictures_and_candidates_are_links(page, settled, expect):
    page.goto("/")
    settled(page)
    page.locator(".column a.head").nth(3).click()
    settled(page)
    expect(page).to_have_url(re.compile("layer=3"))
    page.locator(".column.tokens .tok").first.click()
    expect(page.locator(".column.tokens .tok.here")).to_have_text(re.compile("In"))
    before = box(page).input_value()
    added = page.locator(".bars code").first.inner_text().replace("·", " ")
    page.locator(".bars a.row").first.click()
    expect(box(page)).to_have_value(before + added)


def test_a_stop_leads_to_its_place_without_a_reload(page, settled, expect):
    page.goto("/tokens")
    settled(page)
    page.evaluate("() => { window.sameDocument = true; }")
    go(page, settled, "Text")
    expect(page.locator("#stop-text")).to_be_in_viewport()
    assert page.evaluate("window.sameDocument")


@pytest.mark.parametrize("path", ["/", "/tokens"])
def test_hostile_text_is_shown_literally(path, page, settled, expect):
    page.goto(path)
    settled(page)
    type_prompt(page, settled, HOSTILE)
    expect(box(page)).to_have_value(HOSTILE)
    if path == "/tokens":
        expect(page.locator(".seen")).to_have_text(HOSTILE.replace(" ", "·"))
    assert page.locator('img[src="x"], [data-testid=stMain] a[href^="http"], .katex').count() == 0


@pytest.mark.parametrize("text", ["", "a\x00b 👩‍👩‍👧\u202e", "ㅋ" * 10_000])
def test_any_text_is_kept_and_answered(text, page, settled, expect):
    page.goto("/")
    settled(page)
    type_prompt(page, settled, text)
    expect(page.locator(".bars .value")).to_have_count(8)
    kept = box(page).input_value()
    go(page, settled, "Tokens")
    page.reload()
    settled(page)
    expect(box(page)).to_have_value(kept)
    assert kept == text


HALF = "() => document.execCommand('insertText', false, 'a' + String.fromCharCode(0xd800))"


def test_half_a_character_is_answered(page, settled, expect):
    page.goto("/tokens")
    settled(page)
    box(page).select_text()
    page.evaluate(HALF)
    expect(box(page)).to_have_value("a\ufffd")
    box(page).press("Enter")
    expect(page.locator(".seen")).to_have_text("a\ufffd")


WIDTHS = """() => {
    const main = document.querySelector('[data-testid=stMain]');
    return [main.scrollWidth, main.clientWidth];
}"""


@pytest.mark.parametrize("path", ["/", "/tokens", "/tokens?model=worked-example&lang=en"])
def test_nothing_is_wider_than_a_telephone(path, new_page, settled):
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto(path)
    settled(page)
    wide, room = page.evaluate(WIDTHS)
    assert wide <= room


def test_overview_begins_at_its_top_and_a_laptop_shows_every_stop(new_page, settled):
    page = new_page(viewport={"width": 1280, "height": 800})
    page.goto("/tokens")
    settled(page)
    page.locator(".strip a.home").click()
    page.wait_for_url(lambda url: "tokens" not in url)
    settled(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
    assert page.evaluate(
        "(() => { const s = document.querySelector('.strip'); "
        "return s.scrollWidth <= s.clientWidth; })()"
    )


def test_hasty_clicks_on_the_strip_end_at_the_last_one(page, settled, expect):
    page.goto("/tokens")
    settled(page)
    for name in ("embedding", "position", "qkv", "scores", "heads"):
        page.evaluate("s => document.querySelector(s)?.click()", f'.strip a[data-page="{name}"]')
        page.wait_for_timeout(66)
    page.locator('.strip a[data-page="norm"]').first.click()
    expect(page).to_have_url(re.compile("/norm"))
    settled(page)
    expect(page.locator(".strip")).to_be_visible()


def test_what_is_unfolded_stays_so_in_another_language(page, settled, expect):
    page.goto("/mlp?prompt=In+the+beginning")
    settled(page)
    page.get_by_text("More models").click()
    settled(page)
    page.get_by_role("radio", name="한국어").click()
    expect(page.get_by_text("모델 더 보기")).to_be_visible()
    settled(page)
    expect(page.locator(".st-key-_model_path")).to_be_visible()
    page.get_by_text("모델 더 보기").click()
    settled(page)
    page.get_by_role("radio", name="English").click()
    expect(page.get_by_text("More models")).to_be_visible()
    settled(page)
    expect(page.locator(".st-key-_model_path")).to_have_count(0)


def test_model_and_changes_stay_in_another_language_and_back(page, settled, expect):
    page.goto("/mlp?model=worked-example&edits=v1~~blocks.0.attn.W_O~0-0~-2.0")
    settled(page)
    for name, model in (("한국어", "손계산 예제"), ("English", "Worked example")) * 2:
        page.get_by_role("radio", name=name).click()
        expect(page.locator(".st-key-model input")).to_have_value(model)
        settled(page)
        assert "model=worked-example" in page.url and "W_O" in page.url
