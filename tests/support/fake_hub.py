"""A hub of models on this machine that speaks the real one's HTTP, and can fail on request."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import urlsplit

PATIENCE = 30  # seconds
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub(ThreadingHTTPServer):
    """repos: files by name, of each repository.

    cut_after: after how many bytes of a .safetensors file the connection breaks, once for each
    entry. ranges: whether parts of a file can be asked for. status: what everything is answered
    with instead, if not 200. error: the hub's word for why. swapped: what is sent as weights
    instead. go_on: is waited for half-way through a file. sent: the bytes sent of each file, and
    from where. asked: the requests.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repos: dict[str, dict[str, bytes]] = {}
        self.cut_after: list[int] = []
        self.ranges, self.status, self.error = True, 200, ""
        self.swapped: bytes | None = None
        self.go_on = Event()
        self.go_on.set()
        self.sent: list[tuple[str, int, int]] = []
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = urlsplit(self.path).path
        self.server.asked.append(f"{self.command} {path}")
        if self.server.status != 200:
            return self.refuse(self.server.status, self.server.error)
        if found := re.fullmatch(r"/api/models/(.+)", path):
            return self.describe(found[1])
        repo, name = re.fullmatch(r"/(.+)/resolve/[^/]+/(.+)", path).groups()
        files = self.server.repos.get(repo, {})
        if name not in files:
            return self.refuse(404, "EntryNotFound")
        return self.send(name, files[name], body)

    def describe(self, repo: str) -> None:
        if repo not in self.server.repos:
            return self.refuse(401, "RepoNotFound")
        files = self.server.repos[repo].items()
        siblings = [{"rfilename": name, "size": len(content)} for name, content in files]
        content = json.dumps({"id": repo, "sha": COMMIT, "siblings": siblings}).encode()
        self.begin(200, len(content), {"Content-Type": "application/json"})
        self.wfile.write(content)

    def send(self, name: str, content: bytes, body: bool) -> None:
        about = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}
        if name.endswith(".safetensors"):
            about["X-Linked-Etag"] = f'"{hashlib.sha256(content).hexdigest()}"'
            about["X-Linked-Size"] = str(len(content))
        start = 0
        if body and self.server.ranges and (asked := self.headers.get("Range")):
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            about["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.begin(206 if start else 200, len(content) - start, about)
        if body:
            self.transfer(name, start, content)

    def transfer(self, name: str, start: int, content: bytes) -> None:
        stop, hub = len(content), self.server
        if name.endswith(".safetensors"):
            content = hub.swapped or content
            if hub.cut_after:
                stop = min(stop, hub.cut_after.pop(0))
                self.close_connection = True
        middle = (start + stop) // 2
        self.wfile.write(content[start:middle])
        hub.go_on.wait(PATIENCE)
        self.wfile.write(content[middle:stop])
        hub.sent.append((name, start, stop))

    def begin(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in (headers | {"Content-Length": str(length)}).items():
            self.send_header(key, value)
        self.end_headers()

    def refuse(self, status: int, error: str) -> None:
        self.begin(status, 0, {"X-Error-Code": error, "X-Error-Message": error})

    def log_message(self, *_) -> None:
        pass


@contextmanager
def running() -> Iterator[FakeHub]:
    hub = FakeHub()
    thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        thread.join()
        hub.server_close()
