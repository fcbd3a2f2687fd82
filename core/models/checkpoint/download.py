"""Downloads that run by themselves, so that nobody waits for them: one for each model at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread

from core.models.checkpoint.error import CheckpointError

Fetch = Callable[[str, Callable[[int, int], None]], Path]


class Stopped(Exception):
    """Somebody stopped the download."""


class Download:
    """One model on its way here.

    here, total: bytes; total is 0 until it is known. running: whether it goes on. error: why it
    ended, if it did not arrive.
    """

    def __init__(self, repo: str, fetch: Fetch) -> None:
        self.repo = repo
        self.here = self.total = 0
        self.running = True
        self.error: CheckpointError | None = None
        self._fetch, self._stopped = fetch, False
        self._thread = Thread(target=self._run, name=f"download {repo}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it; what is here stays, and the next download goes on from there."""
        self._stopped = True

    def wait(self, seconds: float) -> None:
        """Until it ended, but no longer than that."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            self._fetch(self.repo, self._report)
        except CheckpointError as error:
            self.error = error
        except Stopped:
            pass
        finally:
            self.running = False

    def _report(self, here: int, total: int) -> None:
        self.here, self.total = here, total
        if self._stopped:
            raise Stopped


class Downloads:
    """The downloads of this server, by model; everybody sees the same."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch, self._lock = fetch, Lock()
        self._downloads: dict[str, Download] = {}

    def start(self, repo: str) -> Download:
        """A download of the model: the one that runs, or a new one."""
        with self._lock:
            found = self._downloads.get(repo)
            if found is None or not found.running:
                found = self._downloads[repo] = Download(repo, self._fetch)
            return found

    def of(self, repo: str) -> Download | None:
        """The last one that was started for the model."""
        return self._downloads.get(repo)

    def running(self) -> list[Download]:
        """Those that are under way."""
        return [download for download in list(self._downloads.values()) if download.running]
