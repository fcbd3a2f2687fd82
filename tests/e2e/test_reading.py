"""What makes pages easy to read, in a browser: where they open, what fits, what scrolls."""

MASKED = "/scores?model=worked-example&preset=block&lang=en&open=blocks.0.attn.weights~0-0-2"
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"
FADES = "e => getComputedStyle(e).maskSize.startsWith('100%')"
TOPS = """board => [...board.querySelectorAll('.panel')].map(
    panel => Math.round(panel.getBoundingClientRect().top))"""


def in_one_line(page, title):
    """Whether the matrix of that title stands in one line with those before it."""
    last = page.get_by_role("heading", name=title, exact=True)
    tops = page.locator(".board").filter(has=last).last.evaluate(TOPS)
    low = last.evaluate("e => e.clientHeight < 1.6 * parseFloat(getComputedStyle(e).fontSize)")
    return len(tops) > 2 and len(set(tops)) == 1 and low


def test_a_link_to_a_number_shows_it_once(new_page, settled, expect):
    page = new_page(viewport={"width": 1280, "height": 620})
    page.goto(MASKED)
    settled(page)
    heading = page.locator(".opened-box h3")
    expect(heading).to_be_in_viewport()
    expect(heading).to_be_focused()
    expect(heading).to_contain_text("masked: hidden from this query")
    assert heading.bounding_box()["y"] > 60  # below the path strip
    page.mouse.move(800, 400)
    page.mouse.wheel(0, -3000)
    expect(heading).not_to_be_in_viewport()
    page.get_by_role("slider", name="Head").press("ArrowRight")
    page.wait_for_url("**head=1**")
    settled(page)
    assert page.evaluate(SCROLLED) == 0  # a later run leaves the reader alone
    page.get_by_role("navigation").get_by_role("link", name="Heads", exact=True).click()
    page.wait_for_url("**/heads**")
    settled(page)
    assert page.evaluate(SCROLLED) == 0  # and so does another page


def test_equations_stand_in_one_line_on_a_laptop(page, settled):
    for path, title in (
        ("heads?preset=block", "joined · W_O"),
        ("norm?preset=block", "Stretched and shifted"),
    ):
        page.goto(f"/{path}&model=worked-example&lang=en")
        settled(page)
        assert in_one_line(page, title), title


def test_embedding_on_a_laptop_fits_and_calls_the_angle_what_it_is(page, settled, expect):
    page.goto("/embedding?preset=part-1&model=worked-example&lang=en&vectors=10_0_7_7")
    settled(page)
    assert in_one_line(page, "= X")
    expect(page.locator(".verdict")).to_have_text("Partly the same direction.")  # 45 degrees
    page.wait_for_timeout(600)
    table = page.locator(".scroll:has(.facts-table)").last
    assert not table.evaluate(FADES) and table.get_attribute("tabindex") is None


def test_a_table_that_goes_on_to_the_right_shows_it_and_takes_the_keyboard(new_page, settled):
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto("/logits?model=bundled&lang=en")
    settled(page)
    table = page.locator(".scroll:has(.lens)")
    table.scroll_into_view_if_needed()  # what is out of sight is not styled
    page.wait_for_function("e => e.tabIndex === 0", arg=table.element_handle())
    table.evaluate("e => e.scrollTo(0, 0)")  # it begins at its end, with the model's own guess
    page.wait_for_function(f"e => ({FADES})(e)", arg=table.element_handle())
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=table.element_handle())
    table.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    page.wait_for_function(f"e => !({FADES})(e)", arg=table.element_handle())


def test_stream_keeps_its_sum_in_one_line_and_its_rows_choose_the_block(page, settled, expect):
    page.goto("/stream?model=bundled&lang=en")
    settled(page)
    value = page.locator(".fall.total .value")
    assert len(value.text_content()) >= 5
    assert value.evaluate("e => e.clientHeight < 40 && e.scrollWidth <= e.clientWidth")
    page.locator(".sum-row .block-name").nth(8).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**layer=4**")
    expect(page.locator(".sum-row .block-name[aria-current]")).to_have_count(2)


def test_language_is_in_sight_and_dropout_shows_all_its_columns(new_page, settled, expect):
    page = new_page(viewport={"width": 1280, "height": 800})
    page.goto("/scores?model=bundled&lang=en&prompt=the+cat+sat+on+the+mat+and+went")
    settled(page)
    expect(page.get_by_role("radio", name="한국어")).to_be_in_viewport()
    for square in page.locator(".one:has(.matrix) .scroll").all()[-2:]:
        assert square.evaluate("e => e.scrollWidth <= e.clientWidth")
