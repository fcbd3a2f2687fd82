"""Keeping freed memory for the next trace."""

import ctypes
import platform
import sys

import torch

MEGABYTE = 2**20
LARGE, KEPT = 8 * MEGABYTE, 128 * MEGABYTE
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from malloc.h


def keep_heap() -> bool:
    """Let freed tensors serve the next ones instead of going back to the system; True if it can.

    Fresh pages are cleared by the system when first touched, which costs a long trace up to a
    fifth of its time. The price is that a process keeps memory that it does not use, up to `KEPT`
    where that is in one piece. Tensors of `LARGE` and more, as the scores of a long text, are given
    back at once: what is between them could not serve others of that size, and clearing their
    pages takes little beside computing them. For programs that own their process, as the app does;
    glibc only.
    """
    if not _has_glibc():
        return False
    libc = ctypes.CDLL(None)
    kept = libc.mallopt(M_MMAP_THRESHOLD, LARGE)
    return bool(kept and libc.mallopt(M_TRIM_THRESHOLD, KEPT))


def give_back() -> None:
    """Return what is kept but not in use to the card or the system; of the latter, glibc only."""
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if _has_glibc():
        ctypes.CDLL(None).malloc_trim(0)


def _has_glibc() -> bool:
    return sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
