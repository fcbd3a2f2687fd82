"""The matrix grid and the opened number in a real browser, on a page of their own."""

import re
from urllib.parse import quote

import pytest

LONG = "the the the cat sat on the mat and looked at the dog in the warm sun of a late June day so"
# Every cell's text against what is behind it, by WCAG 2; the worst of the page.
WORST_CONTRAST = """() => {
    const light = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const rgb = (css) => {
        const numbers = css.match(/[\\d.e-]+/g).map(Number);
        return css.startsWith('color(') ? numbers : numbers.map((n, i) => i < 3 ? n / 255 : n);
    };
    const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const app = rgb(getComputedStyle(document.querySelector('.stApp')).backgroundColor);
    const roots = [...document.querySelectorAll('*')].map((e) => e.shadowRoot).filter(Boolean);
    const written = '.numbers td[role]:not(.masked)';
    const cells = roots.flatMap((root) => [...root.querySelectorAll(written)]);
    const of = (cell) => {
        const style = getComputedStyle(cell);
        const [r, g, b, alpha = 1] = rgb(style.backgroundColor);
        const behind = [r, g, b].map((part, i) => part * alpha + app[i] * (1 - alpha));
        const [low, high] = [luminance(behind), luminance(rgb(style.color))].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
    };
    return [cells.length, Math.min(...cells.map(of))];
}"""


@pytest.fixture(scope="module")
def server(matrix_server):
    return matrix_server


@pytest.fixture
def visit(page, settled):
    def open_at(query="", on=page):
        on.goto(f"/?{query}")
        settled(on)
        on.get_by_role("grid").first.wait_for()
        return on

    return open_at


def cell(page, name, grid=0):
    return page.get_by_role("grid").nth(grid).get_by_role("gridcell", name=name)


def sum_of(page):
    return page.locator(".sum")


def test_a_click_opens_the_arithmetic(visit, expect):
    page = visit("preset=part-2")
    cell(page, "query 먹었다 2, key 나는 0").click()
    heading = page.get_by_role("heading", name="Score of 먹었다 (2) on 나는 (0)")
    expect(heading).to_be_visible()
    expect(sum_of(page)).to_have_text("q·k = 0.6·0.2 + 0.4·1 + 0.9·0.1 = 0.61")
    expect(cell(page, "query 먹었다 2, key 나는 0")).to_have_class(re.compile("opened"))
    expect(page).to_have_url(re.compile(r"open=blocks\.0\.attn\.scores~0-2-0"))


def test_the_keyboard_walks_opens_and_follows_the_operands_to_a_token(visit, expect):
    page = visit()
    page.keyboard.press("Tab")
    first = cell(page, "query 나는 0, key 나는 0", grid=0)
    while not first.evaluate("e => e.getRootNode().activeElement === e"):
        page.keyboard.press("Tab")
    for key in ("End", "ArrowDown", "ArrowLeft", "PageDown"):
        page.keyboard.press(key)
    walked = cell(page, "query 먹었다 2, key 밥을 1", grid=0)
    expect(walked).to_be_focused()
    page.keyboard.press("Enter")
    heading = page.locator("h3")
    expect(heading).to_contain_text("Score of 먹었다 (2) on 밥을 (1)")
    page.keyboard.press("Enter")  # once more goes to what is opened
    expect(heading).to_be_focused()
    for _ in range(12):
        if "Token ID" in heading.inner_text():
            break
        before = heading.inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(heading).not_to_have_text(before)
        expect(heading).to_be_focused()
    expect(sum_of(page)).to_have_text(re.compile("^token ID 2 = 먹었다$"))
    page.keyboard.press("Escape")
    expect(walked).to_be_focused()


def test_the_trail_leads_back_and_the_panel_can_be_closed(visit, expect):
    link = "blocks.0.attn.weights~0-2-1~blocks.0.attn.scores_masked~0-2-1"
    page = visit(f"open={link}~blocks.0.attn.scores_scaled~0-2-1")
    trail = page.get_by_role("navigation", name="How you got here")
    expect(trail.get_by_role("listitem")).to_have_count(4)
    trail.get_by_role("button", name="Share of").click()
    expect(page.locator("h3")).to_contain_text("Share of 먹었다 (2) that goes to 밥을 (1)")
    expect(trail.get_by_role("listitem")).to_have_count(2)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("h3")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("open="))


def test_going_back_in_the_browser_opens_what_was_open(visit, settled, expect):
    page = visit()
    cell(page, "query 먹었다 2, key 나는 0").click()
    expect(page.locator("h3")).to_contain_text("on 나는 (0)")
    settled(page)
    cell(page, "query 먹었다 2, key 밥을 1").click()
    expect(page.locator("h3")).to_contain_text("on 밥을 (1)")
    settled(page)
    page.go_back()
    expect(page.locator("h3")).to_contain_text("on 나는 (0)")


def test_an_operand_that_is_clicked_in_a_matrix_goes_on_the_trail(visit, expect):
    page = visit("open=blocks.0.attn.scores~0-2-1")
    q = page.get_by_role("grid", name="Q", exact=True)
    expect(q.locator("td.part")).to_have_count(2)
    q.get_by_role("gridcell", name="token 먹었다 2, head’s number 1").click()
    expect(page.locator("h3")).to_contain_text("Number 1 of the query of 먹었다 (2)")
    expect(page.get_by_role("listitem")).to_have_count(3)


def test_the_row_of_a_softmax_can_be_opened(visit, expect):
    page = visit("open=blocks.0.attn.weights~0-2-1")
    sum_of(page).get_by_role("button", name="open: Scores of 먹었다 (2) on every token").click()
    expect(sum_of(page)).to_contain_text("Σ exp(s) = exp(")
    expect(sum_of(page).get_by_role("button")).to_have_count(3)


def test_long_sums_can_be_shown_whole(visit, expect):
    page = visit("show=random&open=blocks.1.attn.q~0-3-5")
    expect(sum_of(page)).to_contain_text("(the other 155 terms)")
    expect(sum_of(page).locator(".operand")).to_have_count(12)
    page.get_by_role("button", name="Show every term").click()
    expect(sum_of(page).locator(".operand")).to_have_count(321)
    page.get_by_role("button", name="Show the largest terms only").click()
    expect(sum_of(page).locator(".operand")).to_have_count(12)


def test_masked_cells_are_hatched_and_say_so(visit, expect):
    page = visit()
    scores, shares = (cell(page, "query 나는 0, key 먹었다 2", grid=grid) for grid in (2, 3))
    expect(scores).to_have_text("−∞")
    expect(shares).to_have_text("0")
    for masked in (scores, shares):
        expect(masked).to_have_class(re.compile("masked"))
        expect(masked).to_have_attribute("aria-label", re.compile("masked"))
        assert "repeating-linear-gradient" in masked.evaluate("e => getComputedStyle(e).background")


def test_repeated_tokens_keep_their_rows_and_columns(visit, expect):
    page = visit("show=random&prompt=the+the+the")
    grid = page.get_by_role("grid").first
    expect(grid.locator("[role=gridcell]")).to_have_count(9)
    expect(grid.get_by_role("rowheader")).to_have_text(["the0", "·the1", "·the2"])
    expect(grid.get_by_role("columnheader")).to_have_text(["the0", "·the1", "·the2"])


def test_hostile_text_is_only_text(visit, expect):
    page = visit("show=hostile")
    for place in (page.locator("h4"), page.locator(".note"), page.get_by_role("rowheader").first):
        expect(place).to_contain_text("<img src=x onerror='window.hacked=1'> $x$ **b** ![i](http")
    page = visit("show=random&prompt=" + quote("<img src=x onerror='window.hacked=1'>$x$**b**"))
    head = page.get_by_role("grid").first.get_by_role("rowheader")
    expect(head.first).to_have_text("<0")
    cell(page, re.compile("^query .* 1, key < 0")).click()
    expect(page.locator("h3")).to_contain_text("on < (0)")
    expect(page.locator("img[src=x], .katex, strong")).to_have_count(0)
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("link", ["nonsense", "logits~9-9", quote("<img src=x>"), "logits~0-x-1"])
def test_a_nonsense_link_gives_a_notice(visit, expect, link):
    page = visit(f"open={link}")
    expect(page.get_by_text("Nothing is opened")).to_be_visible()
    expect(page.locator("h3")).to_have_count(0)
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_text("Nothing is opened")).to_have_count(0)


def test_labels_and_heads_choose_where_we_look(visit, expect):
    page = visit()
    page.get_by_role("grid").first.get_by_role("rowheader", name="query 밥을 1").click()
    expect(page).to_have_url(re.compile("token=1"))
    expect(page.locator("tr.follow")).to_have_count(4)
    page.get_by_role("radio", name="Head 1").click()
    expect(page).to_have_url(re.compile("head=1"))
    expect(page.get_by_role("radio", name="Head 1")).to_be_checked()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("radio", name="Head 0")).to_be_focused()
    expect(page).not_to_have_url(re.compile("head=1"))


def test_no_click_is_lost_while_the_page_runs(visit, expect):
    page = visit()
    for key in ("나는 0", "밥을 1", "먹었다 2", "나는 0", "밥을 1"):
        cell(page, f"query 먹었다 2, key {key}").click()
    expect(page.locator("h3")).to_contain_text("Score of 먹었다 (2) on 밥을 (1)")
    page.get_by_role("grid").first.get_by_role("rowheader", name="query 밥을 1").click()
    cell(page, "query 나는 0, key 나는 0").click()
    expect(page.locator("h3")).to_contain_text("Score of 나는 (0) on 나는 (0)")
    expect(page).to_have_url(re.compile("token=1"))


def test_a_large_matrix_is_a_picture_with_a_window_of_numbers(visit, settled, expect):
    page = visit("show=random&prompt=" + quote(LONG))
    picture = page.get_by_role("application", name=re.compile("W_Q, 160 rows and 40 columns"))
    window = page.get_by_role("grid", name="W_Q")
    expect(window.get_by_role("rowheader").first).to_have_text("0")
    picture.focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowRight")
    expect(window.get_by_role("rowheader").first).to_have_text("10")
    expect(window.get_by_role("columnheader").first).to_have_text("1")
    expect(picture).to_be_focused()
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] - 2, "y": box["height"] - 2})
    expect(window.get_by_role("rowheader").last).to_have_text("159")
    settled(page)
    window.get_by_role("gridcell", name="number 159, head’s number 39").click()
    expect(page.locator("h3")).to_contain_text("W_Q, from number 159 to number 39 of the query")


def test_in_colours_the_number_is_said_on_hover_and_focus(visit, expect):
    page = visit("show=random&prompt=" + quote(LONG + " and so on and on"))
    grid = page.get_by_role("grid").nth(1)
    target = grid.get_by_role("gridcell", name=re.compile("^query .cat 3, key .the 1:"))
    expect(target).to_have_text("")
    label = target.get_attribute("aria-label")
    assert re.search(r": 0\.\d{5,7}$", label)
    target.hover()
    expect(page.locator(".readout").first).to_have_text(label)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_can_be_read_on_every_colour(new_page, visit, scheme):
    page = visit(on=new_page(color_scheme=scheme))
    count, worst = page.evaluate(WORST_CONTRAST)
    assert count > 40
    assert worst >= 4.5


def test_a_phone_scrolls_the_matrix_and_not_the_page(new_page, visit):
    page = visit(
        "show=random&prompt=" + quote(LONG),
        on=new_page(viewport={"width": 390, "height": 844}),
    )
    wide = "e => [e.scrollWidth, e.clientWidth]"
    scrolled, seen = page.locator("[data-testid=stMain]").evaluate(wide)
    assert scrolled <= seen
    inner, outer = page.locator(".scroll").first.evaluate(wide)
    faded = "e => getComputedStyle(e).maskImage !== 'none'"
    assert page.locator(".scroll").first.evaluate(faded)
    assert inner > outer


def test_a_run_that_changes_nothing_here_touches_nothing_here(visit, settled):
    """Grids cost most of a redraw; those without news are left alone."""
    page = visit("preset=part-2")
    page.evaluate("""() => {
        window.touched = 0;
        const watch = new MutationObserver((list) => (window.touched += list.length));
        const every = {subtree: true, childList: true, attributes: true, characterData: true};
        const roots = [...document.querySelectorAll('*')].map((e) => e.shadowRoot);
        for (const root of roots) if (root?.querySelector('.board')) watch.observe(root, every);
    }""")
    page.get_by_role("button", name="Rerun").click()
    settled(page)
    assert page.evaluate("window.touched") == 0
    cell(page, "query 먹었다 2, key 나는 0").press("ArrowRight")
    page.wait_for_function("window.touched > 0")


def test_korean_is_complete(visit, expect):
    page = visit("lang=ko&open=blocks.0.attn.weights~0-2-1")
    expect(page.locator("h3")).to_contain_text("먹었다 (2)에서 밥을 (1)에 주는 몫")
    expect(page.get_by_role("button", name="닫기")).to_be_visible()
    expect(page.locator(".readout").first).to_have_text(re.compile("숫자를 누르거나"))
