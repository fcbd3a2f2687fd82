"""The state of a page on which nobody has chosen anything, without a session."""

from core.view.state import State


class Still(State):
    def __init__(self):
        self.defaults = {}
        self._query = None

    def text(self, key, default):
        return default

    def index(self, key, size, default):
        return default

    def choice(self, key, options, default):
        return default
