"""Fixtures of the browser tests: a real server, the system's Chromium, strict pages.

Tests here import nothing but pytest. What they need comes as a fixture:

    def test_scores_show_four_matrices(page, settled, expect):
        page.goto("/scores")
        settled(page)
        expect(page.get_by_test_id("stHeading")).to_have_count(4)
"""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOST = "127.0.0.1"
START_SECONDS = 60
# Streamlit tells the server of a changed widget up to 150 ms late; only then does a run begin.
QUIET_MS = 300
# The last one makes every other host unknown, so no test depends on, or reaches, the outside.
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {HOST}",
]
# On a deep link Streamlit first looks for its server below the page's own path. Those two 404s
# are how it finds its root, not a fault of ours.
PROBE = re.compile(rf"http://{re.escape(HOST)}:\d+/.+/_stcore/(health|host-config)")
# True once the app was connected, idle and fully drawn for `quiet` ms without a break.
# `start` names one wait, so that it does not count idle time from before it began.
IDLE = """([start, quiet]) => {
    const app = document.querySelector('[data-testid=stApp]');
    const idle = app?.dataset.testScriptState === 'notRunning'
        && app.dataset.testConnectionState === 'CONNECTED'
        && !app.querySelector('[data-testid=stSkeleton], [data-testid=stAppSkeleton]');
    const seen = window.rippleIdle;
    if (!idle || seen?.start !== start) window.rippleIdle = {start, since: performance.now()};
    return idle && performance.now() - window.rippleIdle.since >= quiet;
}"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in this folder, and run them last.

    Last, because a wrong number should show before the slow part, and because playwright keeps
    an event loop running in this thread that other tests must not find.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("e2e")
    items.sort(key=lambda item: item.get_closest_marker("e2e") is not None)


@dataclass(frozen=True)
class Server:
    url: str
    log: Path

    def crashes(self, since: int = 0) -> str:
        """What the log says after byte `since`, if anything raised there; else ''."""
        text = self.log.read_bytes()[since:].decode(errors="replace")
        return text if "Traceback (most recent call last)" in text else ""


@dataclass
class Watch:
    """What the pages of one test did; a test that provokes an error clears `errors` itself."""

    urls: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def attach(self, context: Any) -> None:
        context.on("request", lambda request: self.urls.append(request.url))
        context.on("console", self._console)
        context.on("weberror", lambda event: self.errors.append(f"uncaught: {event.error}"))
        context.on("page", lambda page: page.on("websocket", self._websocket))

    def _websocket(self, connection: Any) -> None:
        self.urls.append(connection.url)

    def _console(self, message: Any) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and not PROBE.fullmatch(url):
            self.errors.append(f"{message.text} ({url})")

    @property
    def outside(self) -> list[str]:
        """Addresses asked for that are not this machine."""
        parts = {url: urlsplit(url) for url in self.urls}
        remote = {u: p for u, p in parts.items() if p.scheme not in ("data", "blob")}
        return [url for url, part in remote.items() if part.hostname != HOST]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _is_healthy(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def _serve(log: Path, script: str = "app.py") -> Iterator[Server]:
    """Run the app, or another script, on a free port; end that process, and no other."""
    port = _free_port()
    server = Server(f"http://{HOST}:{port}", log)
    command = [sys.executable, "-m", "streamlit", "run", script]
    command += ["--server.address", HOST, "--server.port", str(port), "--server.headless", "true"]
    command += ["--logger.enableRich", "false"]  # plain tracebacks, which `crashes` looks for
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _is_healthy(server.url):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the app did not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium, one for all tests."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None or importlib.util.find_spec("playwright") is None:
        reason = "browser tests need Chromium on the PATH and the playwright package"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        yield instance
        instance.close()


@pytest.fixture(scope="session")
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app, one process for all tests: `.url`, `.log`."""
    with _serve(tmp_path_factory.mktemp("server") / "log.txt") as running:
        yield running


@pytest.fixture(scope="session")
def matrix_server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """matrix_app.py instead of the app, for modules whose `server` it is."""
    with _serve(
        tmp_path_factory.mktemp("matrix") / "log.txt", "tests/e2e/matrix_app.py"
    ) as running:
        yield running


@pytest.fixture
def fresh_server(browser: Any, tmp_path: Path) -> Iterator[Callable[[], Server]]:
    """`fresh_server()` starts a process that nobody has visited yet, for deep links."""
    started: list[Server] = []
    with ExitStack() as stack:

        def start() -> Server:
            log = tmp_path / f"server-{len(started)}.txt"
            started.append(stack.enter_context(_serve(log)))
            return started[-1]

        yield start
    crashes = "".join(server.crashes() for server in started)
    if crashes:
        pytest.fail(crashes, pytrace=False)


@pytest.fixture
def watch() -> Watch:
    """What the pages of this test requested (`.urls`) and complained about (`.errors`)."""
    return Watch()


@pytest.fixture
def new_page(browser: Any, server: Server, watch: Watch) -> Iterator[Callable[..., Any]]:
    """`new_page(**context_options)` opens a page as another person would: nothing is shared.

    Options are playwright's, e.g. `viewport={"width": 390, "height": 844}`, `locale="ko-KR"`,
    `color_scheme="dark"`. After the test, no page may have logged an error, asked for anything
    outside this machine, or made the server raise.
    """
    log_start = server.log.stat().st_size
    contexts = []

    def open_page(**options: Any) -> Any:
        options = {"viewport": {"width": 1440, "height": 900}, "base_url": server.url} | options
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(15_000)
        watch.attach(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    problems = [f"request left this machine: {url}" for url in watch.outside]
    problems += [f"browser console: {error}" for error in watch.errors]
    problems += filter(None, [server.crashes(since=log_start)])
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """A page at 1440x900 that is held to the rules of `new_page`; `page.goto("/path")`."""
    return new_page()


@pytest.fixture(scope="session")
def settled() -> Callable[[Any], None]:
    """`settled(page)` waits until the app is connected, its script has stopped and all is drawn."""
    from playwright.sync_api import expect

    def wait(page: Any, timeout: float = 30_000) -> None:
        page.wait_for_function(IDLE, arg=[time.monotonic(), QUIET_MS], timeout=timeout)
        # What is out of sight may be drawn later, and moves what is below it.
        expect(page.locator(".place:not(.drawn)")).to_have_count(0, timeout=timeout)

    return wait


@pytest.fixture(scope="session")
def expect(browser: Any) -> Any:
    """Playwright's retrying assertions, patient enough for a busy machine."""
    from playwright.sync_api import expect

    expect.set_options(timeout=10_000)
    return expect
