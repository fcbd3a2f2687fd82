"""A model is fetched in the background: the page shows how far it is, and goes on being used."""

import pytest

from tests.support.fake_hub import running

MEGABYTE = 1_000_000


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub on this machine with 30 MB in the place of GPT-2, of which it sends half at first."""
    with running() as fake:
        weights = bytes(30 * MEGABYTE)
        fake.repos["openai-community/gpt2"] = {"config.json": b"{}", "model.safetensors": weights}
        fake.go_on.clear()
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield fake
        fake.go_on.set()


def test_fetching_a_model(hub, fresh_server, page, settled, expect):
    page.goto(fresh_server().url)
    settled(page)
    page.get_by_text("More models").click()
    page.get_by_role("button", name="Fetch it").click()
    expect(page.get_by_text("of 30 MB")).to_contain_text("10 MB")
    page.get_by_role("link", name="Tokens").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("okens")
    expect(page.get_by_text("of 30 MB")).to_be_visible()
    hub.go_on.set()
    expect(page.get_by_text("“GPT-2 small” is here")).to_be_visible()
    settled(page)  # the list of models would close while it gets longer
    page.get_by_role("combobox", name="Model").first.click()
    expect(page.get_by_role("option", name="GPT-2 small")).to_be_visible()
