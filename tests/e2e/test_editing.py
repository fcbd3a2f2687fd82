"""Numbers typed into matrices in a real browser: nothing is lost, nothing wrong gets in."""

import re
from urllib.parse import unquote

import pytest

# What is typed, and the number that is read out; or how the complaint about it begins.
TYPED = [
    ("0.8", "0.8"),
    (" 1e-3 ", "0.001"),
    ("-.5", "−0.5"),
    ("−2", "−2"),
    ("+3.", "3"),
    ("1/3", "0.3333333"),
    ("-1 / 4", "−0.25"),
    ("0,5", "0.5"),
    ("1,5e2", "150"),
    ("1e30", "1·10³⁰"),
]
REFUSED = [
    ("", "Type a number"),
    ("abc", "This is not a number"),
    ("inf", "This is not a number"),
    ("NaN", "This is not a number"),
    ("−∞", "This is not a number"),
    ("1,234.5", "This is not a number"),
    ("0x10", "This is not a number"),
    ("1/2/3", "This is not a number"),
    ("--1", "This is not a number"),
    ("1e400", "This number is too large"),
    ("1/0", "Nothing can be divided by 0"),
    ("<img src=x onerror='window.hacked=1'>", "This is not a number"),
]
PASTE = """(text) => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    at.dispatchEvent(new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true}));
}"""
COPY = """() => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    const clipboardData = new DataTransfer();
    at.dispatchEvent(new ClipboardEvent('copy', {clipboardData, bubbles: true, cancelable: true}));
    return clipboardData.getData('text/plain');
}"""


@pytest.fixture(scope="module")
def server(matrix_server):
    return matrix_server


@pytest.fixture
def visit(page, settled):
    def open_at(query="", on=page):
        on.goto(f"/?show=weights&{query}")
        settled(on)
        on.get_by_role("grid").first.wait_for()
        return on

    return open_at


def cell(page, r, c, grid="W_Q"):
    grid = page.get_by_role("grid", name=grid, exact=True)
    return grid.locator(f"td[data-r='{r}'][data-c='{c}']")


def field(page):
    return page.locator("input.editor")


def complaint(page):
    return page.get_by_role("alert").filter(has_text=re.compile("."))


def press(page, keys):
    """Type what is written, with the keys that have names: `2 Tab 3 Enter`."""
    for key in keys.split():
        page.keyboard.press(key) if len(key) > 1 and key.isalpha() else page.keyboard.type(key)


def edits(page):
    """What the address says was changed: place → value."""
    found = re.findall(r"~~blocks\.0\.attn\.(\w+)~0-(\d)-(\d)~([^~&]+)", unquote(page.url))
    return {(name, int(r), int(c)): float(value) for name, r, c, value in found}


@pytest.fixture
def told():
    """Wait until the address has exactly these edits, and nothing is left to be sent."""

    def wait(page, expected):
        for _ in range(150):
            sent = page.evaluate("rippleJournal.entries.length") == 0
            if sent and edits(page) == expected:
                return
            page.wait_for_timeout(100)
        assert edits(page) == expected

    return wait


def test_numbers_are_taken_in_every_spelling_and_the_others_refused(visit, expect, told):
    page = visit()
    for text, spoken in TYPED:
        cell(page, 0, 0).focus()
        page.keyboard.press("F2")
        field(page).fill(text)
        page.keyboard.press("Enter")
        expect(cell(page, 1, 0)).to_be_focused()
        label = re.compile(f"^number 0, head’s number 0: {re.escape(spoken)},")
        expect(cell(page, 0, 0)).to_have_attribute("aria-label", label)
    cell(page, 0, 1).focus()
    page.keyboard.press("F2")
    for text, says in REFUSED:
        field(page).fill(text)
        page.keyboard.press("Enter")
        expect(complaint(page)).to_contain_text(says)
        expect(field(page)).to_have_value(text)
        expect(field(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(complaint(page)).to_have_count(0)
    expect(cell(page, 0, 1)).to_have_attribute("aria-label", "number 0, head’s number 1: 0")
    told(page, {("W_Q", 0, 0): 1e30})
    assert page.evaluate("window.hacked") is None


def test_editing_begins_by_double_click_key_or_typing_and_escape_leaves(visit, expect, told):
    page = visit()
    cell(page, 0, 1).dblclick()
    expect(field(page)).to_have_value("0")
    expect(field(page)).not_to_have_attribute("inputmode", re.compile("."))  # keypads lack −
    expect(field(page)).to_have_attribute("aria-label", "number 0, head’s number 1: 0")
    page.keyboard.type("7")  # the old number was selected
    expect(field(page)).to_have_value("7")
    page.keyboard.press("Escape")
    expect(cell(page, 0, 1)).to_be_focused()
    page.keyboard.press("F2")
    page.keyboard.type(".5")
    page.keyboard.press("ArrowLeft")  # moves in the text
    page.keyboard.type("2")
    expect(field(page)).to_have_value("0.25")
    page.keyboard.press("Enter")
    expect(cell(page, 1, 1)).to_be_focused()
    page.keyboard.type("-4")
    page.keyboard.press("ArrowLeft")  # typed at once: takes it and walks on
    expect(cell(page, 1, 0)).to_be_focused()
    told(page, {("W_Q", 0, 1): 0.25, ("W_Q", 1, 1): -4})
    expect(cell(page, 0, 1)).to_have_attribute("aria-label", re.compile("1: 0.25, was 0, opened"))
    page.keyboard.press("F2")
    page.keyboard.press("Enter")  # nothing typed, nothing changed
    cell(page, 1, 1).focus()
    page.keyboard.press("Delete")
    told(page, {("W_Q", 0, 1): 0.25})


def test_a_row_is_filled_with_tab_while_the_page_runs(visit, expect, told):
    page = visit("slow=1200")
    cell(page, 0, 0).focus()
    press(page, "1 Tab 2 Tab 3 Tab 4 Tab 5 Tab 6 Enter")
    expect(cell(page, 2, 1)).to_have_text(re.compile("6"))  # at once, before it is computed
    page.get_by_role("grid", name="W_K").locator("td[data-r='0'][data-c='0']").focus()
    press(page, "9 Enter")
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    expected = {("W_Q", r, c): float(i + 1) for i, (r, c) in enumerate(rows)}
    del expected["W_Q", 0, 0]  # it was 1 before: nothing to change
    told(page, expected | {("W_K", 0, 0): 9})
    assert "pending" not in page.get_by_role("grid", name="W_Q").inner_html()


def test_what_is_being_typed_survives_the_redraw_after_the_edit_before(visit, expect, told):
    page = visit("slow=800")
    cell(page, 0, 0).focus()
    press(page, "2 Tab 3")
    page.wait_for_function("rippleJournal.entries.length === 0")
    page.wait_for_timeout(300)
    expect(field(page)).to_be_focused()
    press(page, "5 Enter")
    told(page, {("W_Q", 0, 0): 2, ("W_Q", 0, 1): 35})


def test_undo_and_redo(visit, expect, told):
    page = visit()
    cell(page, 0, 0).focus()
    press(page, "2 Enter 3 Enter")
    for _ in range(2):
        page.keyboard.press("Control+z")
    told(page, {})
    page.keyboard.press("Control+y")
    page.keyboard.press("Control+Shift+Z")
    told(page, {("W_Q", 0, 0): 2, ("W_Q", 1, 0): 3})
    page.keyboard.press("Control+z")
    told(page, {("W_Q", 0, 0): 2})


def test_blocks_are_copied_and_pasted(visit, expect, told):
    page = visit()
    cell(page, 0, 0).focus()
    page.evaluate(PASTE, "0,5\t1/4\r\n-1\t2\r\n")
    told(page, {("W_Q", 0, 0): 0.5, ("W_Q", 0, 1): 0.25, ("W_Q", 1, 0): -1, ("W_Q", 1, 1): 2})
    assert page.evaluate(COPY) == "0.5\t0.25\n-1\t2"  # what was pasted is selected
    page.keyboard.press("Control+z")
    told(page, {})
    cell(page, 1, 0).focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert page.evaluate(COPY) == "0\t1\n0\t0"
    cell(page, 0, 0).click(modifiers=["Shift"])
    assert page.evaluate(COPY) == "1\n0"
    cell(page, 1, 0).focus()
    page.keyboard.press("ArrowDown")
    page.evaluate(PASTE, "7; 0,25")
    told(page, {("W_Q", 2, 0): 7, ("W_Q", 2, 1): 0.25})
    page.evaluate(PASTE, page.evaluate(COPY))
    assert page.evaluate("rippleJournal.entries.length") == 0


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("1\t2\n3\tx", "Row 2, column 2 of the block, “x”: This is not a number"),
        ("1\t2\t3", "the block is 1 × 3"),
        ("1\n2\n3\n4", "the block is 4 × 1"),
        ("1e999\t1", "Row 1, column 1 of the block, “1e999”: This number is too large"),
        ("", "Type a number"),
    ],
)
def test_a_block_with_one_wrong_cell_is_not_pasted_at_all(visit, expect, block, says):
    page = visit()
    cell(page, 0, 0).focus()
    page.evaluate(PASTE, block)
    expect(complaint(page)).to_contain_text(says)
    assert page.evaluate("rippleJournal.last") == 0
    page.keyboard.press("ArrowDown")
    expect(complaint(page)).to_have_count(0)


def test_token_ids_cannot_be_edited(visit, expect):
    page = visit()
    ids = page.get_by_role("grid", name="IDs")
    expect(ids).to_have_attribute("aria-readonly", "true")
    ids.locator("td[role]").first.focus()
    for begin in (lambda: page.keyboard.type("5"), lambda: page.evaluate(PASTE, "5")):
        begin()
        expect(complaint(page)).to_contain_text("cannot be changed by hand")
        expect(field(page)).to_have_count(0)
        page.keyboard.press("ArrowDown")


def test_a_step_is_edited_and_what_follows_is_marked(visit, expect):
    page = visit()
    cell(page, 2, 1, "Q").focus()
    press(page, "3 Enter")
    expect(cell(page, 2, 1, "Q")).to_have_attribute("aria-label", re.compile(": 3, was"))
    page.wait_for_url(re.compile(r"attn\.q~0-2-1~3"))


def test_double_tap_edits_on_a_phone(new_page, visit, expect):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(on=new_page(**phone))
    box = cell(page, 0, 1).bounding_box()
    for _ in range(2):
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(field(page)).to_be_focused()
    press(page, "0.5 Enter")
    expect(cell(page, 0, 1)).to_have_attribute("aria-label", re.compile("0.5, was 0"))
