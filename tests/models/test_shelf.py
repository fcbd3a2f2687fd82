"""Each model is loaded once for everybody, and leaves when memory asks for room."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
import torch

from core.models.checkpoint import CheckpointError, folder
from core.models.shelf import Shelf
from tests.support.random_models import build
from tests.support.saved_models import gpt2

PATIENCE = 10  # seconds


@pytest.fixture
def forgotten():
    return []


@pytest.fixture
def shelf(forgotten):
    return Shelf(lambda: forgotten.append(True))


def lacking_memory(times):
    """A model that can be loaded after so many attempts without room."""
    left = [times]

    def load():
        left[0] -= 1
        if left[0] >= 0:
            raise CheckpointError("memory", name="large", needed="9 GB", free="1 GB")
        return build()

    return load


def never():
    raise AssertionError("it is here")


def test_a_model_is_loaded_once_for_all_who_ask_at_the_same_time(shelf):
    start, loads = Barrier(8), []

    def load():
        loads.append(True)
        return build()

    def visit(_):
        start.wait(PATIENCE)
        return shelf.get("one", load)

    with ThreadPoolExecutor(8) as people:
        models = list(people.map(visit, range(8)))
    assert len(loads) == 1
    assert all(model is models[0] for model in models)


def test_loading_one_keeps_nobody_from_another(shelf):
    here, started, go_on = shelf.get("small", build), Event(), Event()

    def load():
        started.set()
        assert go_on.wait(PATIENCE)
        return build()

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(shelf.get, "large", load)
        assert started.wait(PATIENCE)
        assert shelf.get("small", never) is here
        go_on.set()
        waiting.result(PATIENCE)


def test_the_one_used_least_recently_leaves(shelf, forgotten):
    for key in "abc":
        shelf.get(key, build)
    shelf.get("a", never)
    shelf.get("d", lacking_memory(1))
    assert [key for key in "abcd" if key in shelf] == ["a", "c", "d"]
    assert len(forgotten) == 1


def test_several_leave_if_one_is_not_enough(shelf):
    for key in "ab":
        shelf.get(key, build)
    shelf.get("c", lacking_memory(2))
    assert [key for key in "abc" if key in shelf] == ["c"]


def test_a_model_that_left_is_really_gone(shelf):
    gone = weakref.ref(shelf.get("a", build))
    shelf.get("b", lacking_memory(1))
    gc.collect()
    assert gone() is None


def test_a_model_can_be_loaded_anew(shelf, forgotten):
    first = shelf.get("a", build)
    shelf.drop("a")
    assert shelf.get("a", build) is not first
    assert forgotten


def test_what_never_fits_is_said(shelf):
    with pytest.raises(CheckpointError) as caught:
        shelf.get("huge", lacking_memory(99))
    assert caught.value.kind == "memory"
    assert "huge" not in shelf


def test_other_errors_send_nobody_away(shelf):
    shelf.get("a", build)
    with pytest.raises(CheckpointError):
        shelf.get("b", lambda: folder.load("/nowhere"))
    assert "a" in shelf


def test_a_model_larger_than_the_free_memory_is_refused_before_it_is_loaded(tmp_path, monkeypatch):
    network = gpt2()
    network.save_pretrained(tmp_path)
    needed = folder.ROOM_TO_WORK + 4 * network.num_parameters()
    monkeypatch.setattr(folder, "free_memory", lambda device: needed - 1)
    with pytest.raises(CheckpointError) as caught:
        folder.load(tmp_path)
    assert caught.value.kind == "memory"
    monkeypatch.setattr(folder, "free_memory", lambda device: needed)
    assert folder.load(tmp_path).config.n_layers == 2


def full_card(times):
    """A model that a graphics card has room for after so many attempts."""
    left = [times]

    def load():
        left[0] -= 1
        if left[0] >= 0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return build()

    return load


def test_a_full_card_sends_the_one_used_least_recently_away(shelf, forgotten):
    for key in "ab":
        shelf.get(key, build)
    shelf.get("c", full_card(1))
    assert [key in shelf for key in "abc"] == [False, True, True] and forgotten


def test_a_model_that_the_card_has_no_room_for_is_refused_in_a_sentence(shelf):
    with pytest.raises(CheckpointError) as caught:
        shelf.get("huge", full_card(99))
    assert caught.value.kind == "card_full"
    assert shelf.get("huge", build).config.n_layers


def test_freeing_leaves_the_model_in_use(shelf, forgotten):
    for key in "abc":
        shelf.get(key, build)
    shelf.get("b", never)
    shelf.free()
    assert [key in shelf for key in "abc"] == [False, True, False] and forgotten == [True]
