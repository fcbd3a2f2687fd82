"""How much memory is free: never more than the computer has, nor than its container allows."""

import psutil
import torch

from core.models import memory

CPU = torch.device("cpu")


def container(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("3000000\n")
    (tmp_path / "memory.stat").write_text("anon 1500000\ninactive_file 1000000\n")


def test_the_computer(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "GROUP", tmp_path / "none")
    found, total = memory.free_memory(CPU), psutil.virtual_memory().total
    assert 0 < found < total


def test_a_container_leaves_its_limit_less_what_is_used_and_cannot_be_dropped(
    tmp_path, monkeypatch
):
    container(tmp_path, monkeypatch, 5_000_000)
    assert memory.free_memory(CPU) == 5_000_000 - 3_000_000 + 1_000_000


def test_a_container_that_is_full(tmp_path, monkeypatch):
    container(tmp_path, monkeypatch, 1_000_000)
    assert memory.free_memory(CPU) == 0


def test_a_container_without_a_limit(tmp_path, monkeypatch):
    container(tmp_path, monkeypatch, "max")
    assert memory.free_memory(CPU) > 5_000_000
