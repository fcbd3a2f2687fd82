"""Models of the hub, from one on this machine: fetched, found again, gone on with, refused."""

import httpx2
import huggingface_hub
import pytest
import torch
from huggingface_hub import constants, file_download

from core.models.checkpoint import CheckpointError, hub
from core.models.checkpoint.folder import load
from tests.support.close import assert_close
from tests.support.fake_hub import running
from tests.support.saved_models import IDS, gpt2, logits

REPO = "someone/small-gpt2"


class Stopped(Exception):
    """What a person who stops a download raises."""


@pytest.fixture(scope="module")
def network():
    return gpt2()


@pytest.fixture(scope="module")
def files(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    network.save_pretrained(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def fake(files, tmp_path, monkeypatch):
    """A hub that has the model, and a cache that is empty."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setattr(file_download.time, "sleep", lambda seconds: None)
    huggingface_hub.set_client_factory(
        lambda: httpx2.Client(trust_env=False, follow_redirects=True)
    )
    with running() as server:
        at(server.url, monkeypatch)
        server.repos[REPO] = dict(files)
        yield server
    huggingface_hub.close_session()


def at(url, monkeypatch):
    """The hub is at this address."""
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def weights_sent(fake):
    return [(start, stop) for name, start, stop in fake.sent if name == "model.safetensors"]


def test_a_model_is_fetched_and_gives_its_numbers(fake, network):
    assert hub.cached(REPO) is None
    folder = hub.fetch(REPO)
    assert_close(load(folder, device=torch.device("cpu")).forward(IDS), logits(network), 1e-5)


def test_only_what_is_read_is_fetched(fake):
    fake.repos[REPO] |= {"pytorch_model.bin": b"x", "README.md": b"y", "modeling.py": b"z"}
    hub.fetch(REPO)
    assert {name for name, _, _ in fake.sent} == {"config.json", "model.safetensors"}


def test_what_is_here_is_found_without_asking(fake):
    folder = hub.fetch(REPO)
    fake.asked.clear()
    assert hub.cached(REPO) == folder
    assert not fake.asked


def test_progress_counts_the_bytes(fake, files):
    seen = []
    hub.fetch(REPO, lambda here, total: seen.append((here, total)))
    total = len(files["model.safetensors"]) + len(files["config.json"])
    assert seen[-1] == (total, total)
    assert [here for here, _ in seen] == sorted(here for here, _ in seen)
    assert len({here for here, _ in seen}) > 10
    assert {total for _, total in seen} == {total}


def test_a_broken_connection_is_taken_up_again(fake, files):
    fake.cut_after = [3000, 9000]
    folder = hub.fetch(REPO)
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]
    size = len(files["model.safetensors"])
    assert weights_sent(fake) == [(0, 3000), (3000, 9000), (9000, size)]


def test_a_stopped_download_goes_on_later(fake, files):
    def stop(here, total):
        if here >= 5000:
            raise Stopped

    with pytest.raises(Stopped):
        hub.fetch(REPO, stop)
    assert hub.cached(REPO) is None
    fake.sent.clear()
    first = []
    folder = hub.fetch(REPO, lambda here, total: first.append(here))
    start = weights_sent(fake)[0][0]
    assert 4000 <= start <= 5000
    assert start in first[:3]
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]


def test_a_hub_that_cannot_give_parts_begins_anew(fake, files):
    fake.cut_after, fake.ranges = [3000], False
    folder = hub.fetch(REPO)
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]


def test_weights_in_several_files(fake, network, tmp_path):
    network.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    fake.repos[REPO] = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    model = load(hub.fetch(REPO), device=torch.device("cpu"))
    assert_close(model.forward(IDS), logits(network), 1e-5)


def refused(kind, repo=REPO):
    with pytest.raises(CheckpointError) as caught:
        hub.fetch(repo)
    assert (caught.value.kind, caught.value.values) == (kind, {"repo": repo})


def test_content_that_is_not_what_was_promised(fake, files):
    good = files["model.safetensors"]
    fake.swapped = good[:-1] + bytes([good[-1] ^ 1])
    refused("hub_damaged")
    assert hub.cached(REPO) is None
    fake.swapped = None
    assert (hub.fetch(REPO) / "model.safetensors").read_bytes() == good


def test_a_model_that_the_hub_does_not_have(fake):
    refused("hub_unknown", "someone/nothing")


def test_a_model_that_is_only_there_as_a_pickle(fake):
    fake.repos[REPO] = {"config.json": b"{}", "pytorch_model.bin": b"\x80\x02"}
    refused("hub_pickle")
    assert not fake.sent


def test_a_model_without_weights(fake):
    fake.repos[REPO] = {"config.json": b"{}", "README.md": b""}
    refused("hub_no_weights")


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [(403, "GatedRepo", "hub_gated"), (500, "", "hub_unreachable"), (418, "", "hub_unreachable")],
)
def test_a_hub_that_refuses(fake, status, error, kind):
    fake.status, fake.error = status, error
    refused(kind)


def test_no_connection(fake, monkeypatch):
    at("http://127.0.0.1:1", monkeypatch)
    refused("hub_unreachable")


def test_a_model_that_is_here_needs_no_connection(fake, monkeypatch):
    folder = hub.fetch(REPO)
    at("http://127.0.0.1:1", monkeypatch)
    assert hub.cached(REPO) == folder
