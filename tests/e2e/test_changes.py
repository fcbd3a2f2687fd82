"""The list of changes, the file and the opened number's field, as a person uses them."""

import re

HERE = "model=worked-example&preset=block"
W_Q = "blocks.0.attn.W_Q~1-0-1"


def changes(page):
    return page.locator("section.changes")


def act(page, settled, name):
    changes(page).get_by_role("link", name=name).click()
    settled(page)


def test_a_change_is_paused_removed_and_brought_back_by_links(page, settled, expect):
    page.goto(f"/tokens?{HERE}&edits=v1~~scaled~off~~blocks.0.attn.heads~0-x-x~0.0")
    settled(page)
    lines = changes(page).get_by_role("listitem")
    expect(lines).to_have_count(2)
    act(page, settled, "Pause: Scale")
    expect(lines.first).to_contain_text("Paused")
    act(page, settled, "Remove: Head 0")
    expect(lines).to_have_count(1)
    act(page, settled, "Reset all")
    expect(changes(page)).to_contain_text("Nothing yet")
    expect(page).not_to_have_url(re.compile("edits="))
    for _ in range(3):
        act(page, settled, "Undo")
    expect(lines).to_have_count(2)
    expect(page).to_have_url(re.compile("edits=v1~~scaled~off~~blocks.0.attn.heads"))


def test_a_saved_file_opens_the_same_view(page, settled, expect, tmp_path):
    page.goto(f"/scores?{HERE}&edits=v1~~mask~off~~{W_Q}~0.8&token=1&open={W_Q}")
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save file").click()
    saved = tmp_path / "view.json"
    download.value.save_as(saved)
    address = page.url
    page.goto("/tokens?model=bundled&prompt=Hello")
    settled(page)
    page.locator("input[type=file]").set_input_files(saved)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Scores")
    settled(page)
    assert page.url == address
    page.locator("input[type=file]").set_input_files(
        {"name": "x.json", "mimeType": "", "buffer": b"[" * 9000}
    )
    settled(page)
    expect(page.get_by_role("status").filter(has_text="no file that Ripple saved")).to_be_visible()
    assert page.url == address


def test_the_opened_number_takes_what_people_type(page, settled, expect):
    page.goto(f"/qkv?{HERE}&open={W_Q}")
    settled(page)
    field = page.get_by_role("textbox", name="Change this number")
    expect(field).to_have_value("0")
    field.fill("abc")
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="not a number")).to_be_visible()
    field.fill("1/4")
    field.press("Enter")
    settled(page)
    expect(field).to_have_value("0.25")
    expect(field).to_be_focused()
    expect(changes(page)).to_contain_text("0 → 0.25")
    field.fill("0,5")
    field.press("Enter")
    settled(page)
    expect(changes(page)).to_contain_text("0 → 0.5")
    page.get_by_role("button", name="Switch head 1 off").click()
    settled(page)
    expect(changes(page)).to_contain_text("Head 1 of block 0")
    page.get_by_role("button", name="Restore 0").click()
    settled(page)
    expect(field).to_have_value("0")
    expect(changes(page).get_by_role("listitem")).to_have_count(1)
