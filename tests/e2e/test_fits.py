"""Nothing is cut on a laptop; on a phone what is looked at is in sight; folded parts open."""

import pytest

LONG = "In+the+beginning+God+created+the+heavens+and+the+earth.+" * 3  # over 30 tokens
CUT = """() => [...document.querySelectorAll('.stMain .scroll')]
    .filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => box.textContent.slice(0, 60))"""
STRIP = """() => {
    const strip = document.querySelector('.strip');
    const tops = [...strip.querySelectorAll('ol a')].map(a => a.offsetTop);
    const [one, other] = [...strip.querySelectorAll('.try-it')].map(a => a.getBoundingClientRect());
    return {over: strip.scrollWidth - strip.clientWidth, lines: new Set(tops).size,
            gap: other.left - one.right};
}"""
SEEN = """() => {
    const cell = document.querySelector('.lens td a[aria-current]').getBoundingClientRect();
    return cell.left >= 0 && cell.right <= window.innerWidth;
}"""


@pytest.mark.parametrize("name", ["qkv", "mlp", "logits"])
def test_tables_fit_on_a_laptop(new_page, settled, name):
    page = new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
    page.goto(f"/{name}?model=bundled&prompt={LONG}")
    settled(page)
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("query", ["", "?edits=v1~~scaled~off"])
@pytest.mark.parametrize("width", [1440, 1280])
def test_all_stops_stand_in_one_line(new_page, settled, query, width):
    page = new_page(viewport={"width": width, "height": 900}, locale="en-US")
    page.goto(f"/scores{query}")
    settled(page)
    found = page.evaluate(STRIP)
    assert found["over"] <= 0 and found["lines"] == 1 and found["gap"] >= 6


def test_the_framed_cell_of_the_lens_is_in_sight_on_a_phone(new_page, settled):
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto("/logits?model=bundled")
    settled(page)
    page.wait_for_function(SEEN)


def test_a_place_on_the_overview_opens_the_part_that_it_is_in(page, settled, expect):
    page.goto("/#stop-mlp")
    settled(page)
    expect(page.locator("#stop-mlp")).to_be_in_viewport()
    expect(page.locator("details[data-fold=attention]")).not_to_have_attribute("open", "")
    fold = page.locator("details[data-fold=attention] > summary")
    fold.focus()
    page.keyboard.press("Enter")
    page.locator(".pick", has_text="1").first.click()
    settled(page)  # drawn again, it stays open
    expect(page.locator("details[data-fold=attention] #stop-qkv")).to_be_visible()


FACTS = """() => [...document.querySelectorAll('.stMain .scroll')]
    .filter(box => box.querySelector(':scope > :is(.plain, .followed, .orders)'))
    .filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => box.textContent.slice(0, 60))"""
ENDS = """() => [...document.querySelectorAll('.stMain .stacked')].map(table =>
    [...new Set([...table.querySelectorAll('td[data-head]')].map(cell =>
        cell.getBoundingClientRect().right - parseFloat(getComputedStyle(cell).paddingRight)))])"""
BELT = """() => [...document.querySelectorAll('.belt .cell i')]
    .filter(i => i.scrollWidth > i.clientWidth).map(i => i.textContent)"""


@pytest.mark.parametrize("name", ["embedding", "position", "heads", "norm", "mlp", "logits"])
@pytest.mark.parametrize("model", ["worked-example", "bundled"])
def test_tables_of_facts_are_seen_whole_on_a_phone(new_page, settled, name, model):
    page = new_page(viewport={"width": 390, "height": 844}, locale="en-US")
    page.goto(f"/{name}?model={model}")
    settled(page)
    assert page.evaluate(FACTS) == []
    assert all(len(ends) <= 1 for ends in page.evaluate(ENDS))


def test_a_row_of_scores_is_seen_with_its_shares_on_a_laptop(new_page, settled):
    page = new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
    page.goto(f"/scores?model=bundled&prompt={LONG}")
    settled(page)
    assert page.evaluate(FACTS) == []


def test_the_numbers_of_a_short_belt_have_room_on_a_phone(new_page, settled):
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto("/?model=worked-example")
    settled(page)
    assert page.locator(".belt .cell i").count() >= 18
    assert page.evaluate(BELT) == []


def test_the_start_of_the_belt_is_seen_with_all_its_numbers_on_a_laptop(new_page, settled):
    page = new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
    page.goto("/?model=worked-example")
    settled(page)
    page.evaluate("() => document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(CUT) == []


def test_the_largest_share_leaves_room_in_its_cell_of_the_lens(new_page, settled):
    page = new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
    page.goto(f"/logits?model=bundled&prompt={LONG}")
    settled(page)
    room = """small => {
        const text = document.createRange();
        small.textContent = '99.9 %';
        text.selectNodeContents(small);
        const cell = small.closest('td').getBoundingClientRect().width;
        return cell - text.getBoundingClientRect().width;
    }"""
    assert page.locator(".lens td small").first.evaluate(room) >= 4
    assert "100.0" not in page.locator(".lens").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_chosen_can_be_read(new_page, settled, scheme):
    page = new_page(color_scheme=scheme)
    page.goto("/sizes")
    settled(page)
    wanted = page.locator(".strip .try-it").first.evaluate("link => getComputedStyle(link).color")
    chosen = page.locator("[data-variant=segmented_control][data-selected] p").all()
    assert len(chosen) >= 4
    assert {one.evaluate("text => getComputedStyle(text).color") for one in chosen} == {wanted}


@pytest.mark.parametrize("width", [390, 1280])
def test_sums_are_seen_with_their_results(new_page, settled, width):
    page = new_page(viewport={"width": width, "height": 844}, locale="en-US")
    page.goto("/sizes?card=GPT-3+175B")
    settled(page, 60_000)
    assert page.locator(".sums").count() == 7
    assert page.evaluate(CUT) == []


def test_bytes_and_costs_are_seen_with_their_ratio_on_a_phone(new_page, settled):
    page = new_page(viewport={"width": 390, "height": 844}, locale="en-US")
    page.goto("/generation?model=bundled&branches=p_257.2000~@1")
    settled(page, 60_000)
    box = page.locator("tr", has_text="Multiply-adds, this step").get_by_text("×").bounding_box()
    assert box["x"] > 0 and box["x"] + box["width"] <= 390
    assert page.evaluate(CUT) == []


def test_the_heads_of_a_block_stand_in_one_line_on_a_laptop(new_page, settled):
    page = new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
    page.goto("/generation?model=bundled")
    settled(page, 60_000)
    heads = page.locator(".cache-row").first.locator(".kv-pair").all()
    assert len(heads) == 4
    assert len({round(head.bounding_box()["y"]) for head in heads}) == 1


def test_written_out_sums_stay_inside_their_fold(page, settled):
    page.goto("/qkv?model=bundled")
    settled(page)
    fold = page.locator("details", has=page.locator(".formula-row")).first
    fold.locator("summary").click()
    right = fold.bounding_box()["x"] + fold.bounding_box()["width"]
    boxes = [one.bounding_box() for one in fold.locator(".formula-row span").all()]
    assert len(boxes) >= 6
    assert all(box["x"] + box["width"] <= right for box in boxes)
