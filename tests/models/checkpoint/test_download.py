"""Downloads run by themselves, can be stopped, and say how they ended."""

from pathlib import Path
from threading import Event

import pytest

from core.models.checkpoint import CheckpointError
from core.models.checkpoint.download import Downloads

PATIENCE = 10  # seconds
REPO = "someone/model"


class Source:
    """A hub whose bytes come when the test says so."""

    def __init__(self):
        self.calls, self.begun, self.go_on, self.error = 0, Event(), Event(), None

    def fetch(self, repo, progress):
        self.calls += 1
        progress(10, 100)
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        if self.error:
            raise self.error
        progress(100, 100)
        return Path()


@pytest.fixture
def source():
    source = Source()
    yield source
    source.go_on.set()


@pytest.fixture
def downloads(source):
    return Downloads(source.fetch)


def begun(downloads, source):
    download = downloads.start(REPO)
    assert source.begun.wait(PATIENCE)
    return download


def ended(download, source):
    source.go_on.set()
    download.wait(PATIENCE)
    assert not download.running
    return download


def test_a_download_leaves_its_caller_alone_and_tells_how_far_it_is(downloads, source):
    download = begun(downloads, source)
    assert (download.running, download.here, download.total) == (True, 10, 100)
    assert downloads.running() == [download]
    ended(download, source)
    assert (download.here, download.total, download.error) == (100, 100, None)
    assert downloads.running() == []


def test_two_people_who_want_the_same_share_one(downloads, source):
    download = begun(downloads, source)
    assert downloads.start(REPO) is download
    assert downloads.of(REPO) is download
    ended(download, source)
    assert source.calls == 1


def test_a_download_can_be_stopped_and_started_again(downloads, source):
    download = begun(downloads, source)
    download.stop()
    ended(download, source)
    assert (download.here, download.error) == (100, None)
    again = downloads.start(REPO)
    assert again is not download
    ended(again, source)
    assert source.calls == 2


def test_why_a_download_failed_is_kept(downloads, source):
    source.error = CheckpointError("hub_unreachable", repo=REPO)
    assert ended(begun(downloads, source), source).error is source.error
    assert downloads.of(REPO).error is source.error
