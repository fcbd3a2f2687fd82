"""Who may add models: whoever sits at the computer that Ripple runs on, unless told otherwise.

To add a model is to point at a path of this computer or to fill its disk, so visitors from
elsewhere may not. The setting RIPPLE_ADD_MODELS, "everyone" or "nobody", decides for all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import streamlit as st

SETTING = "RIPPLE_ADD_MODELS"
THIS_COMPUTER = ("localhost", "127.0.0.1", "::1")
# What a server in between adds about the visitor it speaks for.
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")


def may_add_models() -> bool:
    """Whether this visitor may."""
    match os.environ.get(SETTING):
        case "everyone":
            return True
        case "nobody":
            return False
    return at_this_computer(st.get_option("server.address"), st.context.headers)


def at_this_computer(listens_at: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a browser here, and through no other server.

    All must agree: where Ripple listens, the address in the browser (Host, Origin), and that
    nothing forwarded it. A server in between may keep any one of these silent.
    """
    if listens_at not in THIS_COMPUTER or any(name in headers for name in FORWARDED):
        return False
    host = urlsplit(f"//{headers.get('Host', '')}").hostname
    origin = urlsplit(headers.get("Origin", "")).hostname
    return host in THIS_COMPUTER and origin in THIS_COMPUTER
