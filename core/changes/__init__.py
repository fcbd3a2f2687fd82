"""What a person changed in a model's way through a text, and what followed from it.

    changes = (Put("blocks.0.attn.W_Q", (0, 1, 2), 0.8), Switch("scaled", "off"))
    after = apply(before, changes).trace
    ripple(before, after).count                     # how many steps differ, bit for bit

A change is a value: it can be listed, switched off and on, written into a link or a file.
"""

from core.changes.align import align
from core.changes.apply import Applied, apply
from core.changes.change import Change, Changes, Entry, Patch, Put, Switch
from core.changes.link import BadLink, decode, encode
from core.changes.ripple import Ripple, ripple, shared
from core.changes.switches import SWITCHES, choices, chosen

__all__ = [
    "SWITCHES",
    "Applied",
    "BadLink",
    "Change",
    "Changes",
    "Entry",
    "Patch",
    "Put",
    "Ripple",
    "Switch",
    "align",
    "apply",
    "choices",
    "chosen",
    "decode",
    "encode",
    "ripple",
    "shared",
]
