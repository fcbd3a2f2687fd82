"""Who may add models: nobody but whoever sits at the computer that Ripple runs on."""

import pytest

from core.view import host

HERE = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}


@pytest.mark.parametrize(
    ("listens_at", "headers"),
    [
        ("localhost", HERE),
        ("127.0.0.1", {"Host": "127.0.0.1:8501", "Origin": "http://127.0.0.1:8501"}),
        ("::1", {"Host": "[::1]:8501", "Origin": "http://[::1]:8501"}),
    ],
)
def test_a_browser_on_this_computer(listens_at, headers):
    assert host.at_this_computer(listens_at, headers)


@pytest.mark.parametrize("listens_at", ["0.0.0.0", "192.168.0.5", "", None])
def test_a_server_that_others_can_reach(listens_at):
    assert not host.at_this_computer(listens_at, HERE)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost:8501"},
        {"Origin": "http://localhost:8501"},
        HERE | {"Host": "ripple.school.example"},
        HERE | {"Origin": "https://ripple.school.example"},
        HERE | {"Origin": "https://localhost.evil.example"},
        HERE | {"Host": "localhost.evil.example"},
        HERE | {"X-Forwarded-For": "10.0.0.7"},
        HERE | {"Forwarded": "for=10.0.0.7"},
        HERE | {"Via": "1.1 proxy"},
    ],
)
def test_a_browser_elsewhere_or_behind_another_server(headers):
    assert not host.at_this_computer("localhost", headers)


@pytest.mark.parametrize(("setting", "may"), [("everyone", True), ("nobody", False)])
def test_the_setting_decides_for_all(monkeypatch, setting, may):
    monkeypatch.setenv(host.SETTING, setting)
    monkeypatch.setattr(host, "at_this_computer", lambda *_: not may)
    assert host.may_add_models() is may
