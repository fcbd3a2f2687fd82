"""Pages driven by Streamlit's AppTest, and what they say."""

import html
import json
import re
from collections.abc import MutableMapping
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlencode

import streamlit
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]


def open_page(name, **query):
    """The page as a link with `query` shows it; no exception may be on it."""
    at = AppTest.from_file(str(ROOT / "pages" / f"{name}.py"), default_timeout=60)
    for key, value in query.items():
        at.query_params[key] = str(value)
    at.run()
    assert not at.exception
    return at


def open_app(name, **query):
    """The same through the whole app, from which one can go to other pages."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, value in query.items():
        at.query_params[key] = str(value)
    return go(at, name)


def go(at, name):
    """To another page, as a link of the strip leads there."""
    at.switch_page(f"pages/{name}.py")
    return rerun(at)


def drawn(at):
    """Everything that the page draws as HTML, without the style sheet."""
    bodies = (element.proto.body for element in at.get("html"))
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def said(at):
    """What the page says, without markup."""
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", drawn(at))))


def rows(at, cls):
    """The cells of each line of every table of a class, as they are written."""
    found = []
    for table in re.findall(rf'<table class="{cls}">(.*?)</table>', drawn(at), re.S):
        for line in re.findall("<tr.*?</tr>", table, re.S):
            cells = re.findall("<t[hd].*?</t[hd]>", line, re.S)
            found.append([html.unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in cells])
    return found


def stacked(at):
    """The numbers of each row of every stack of rows with few numbers: values, label first."""
    found = []
    for row in re.split(r'<div class="stack-row', drawn(at))[1:]:
        label = re.search(
            r'<span class="label">(.*?)</span><span class="(?:before|values)', row, re.S
        )
        values = re.search(r'<span class="values">(.*?)</div></div>', row, re.S)
        cells = re.findall(r"<span[^>]*>([^<]*)</span>", values.group(1)) if values else []
        text = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", label.group(1))) if label else ""
        found.append([html.unescape(text).strip(), *cells])
    return found


def components(at, name):
    """The data of every component of a kind, in the order of the page."""
    found = [one.proto for one in at.get("bidi_component")]
    return [json.loads(one.bytes) for one in found if one.component_name == f"ripple_{name}"]


def boards(at):
    """The data of every board of matrices, in the order of the page."""
    return [board for grid in components(at, "grid") for board in grid["boards"]]


def pictures(at):
    """The data of every picture of a large matrix."""
    return [board["picture"] for board in boards(at) if board.get("picture")]


def panels(at):
    """Every matrix of the page by title: its rows of numbers. Of several, the last."""
    shown = [panel for board in boards(at) for panel in board["panels"]]
    return {panel["title"]: in_rows(panel["values"], len(panel["columns"])) for panel in shown}


def in_rows(values, columns):
    return [values[i : i + columns] for i in range(0, len(values), columns)]


class Session(MutableMapping):
    """The session of an AppTest, as the callbacks of its page see it."""

    def __init__(self, at):
        self._state = at.session_state

    def __getitem__(self, key):
        return self._state[key]

    def __setitem__(self, key, value):
        self._state[key] = value

    def __delitem__(self, key):
        del self._state[key]

    def __iter__(self):
        return iter(self._state)

    def __len__(self):
        return len(self._state)


def call(at, callback, *args):
    """What the page does when a component sends something, and the run that follows."""
    with patch.object(streamlit, "session_state", Session(at)):
        callback(*args)
    return rerun(at)


def click(at, **asked):
    """Follow a link of the page that asks for this, as `do="undo"`."""
    at.session_state["_click"] = urlencode(asked)
    return rerun(at)


def rerun(at):
    at.run()
    assert not at.exception
    return at
