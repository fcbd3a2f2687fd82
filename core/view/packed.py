"""Long texts in an address: packed, because servers refuse an address beyond some 64 kB.

Written out, 10,000 Korean letters take 90 kB. A text that is short as it is stays readable.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from urllib.parse import quote

MARK = "~z."
READABLE = 2_000  # characters of an address up to which a text is left as it is
LONGEST = 1_000_000  # bytes that a packed text may unfold to: a link is not to be trusted


class BadPacking(ValueError):
    """A packed text that was cut off or tampered with."""


def pack(text: str) -> str:
    """The text as it stands in an address."""
    # To quote makes no text shorter, and a link has it several times in each run.
    is_short = len(text) <= READABLE and len(quote(text)) <= READABLE
    if is_short and not text.startswith(MARK):
        return text
    packed = zlib.compress(text.encode("utf-8"), level=9)
    return MARK + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def unpack(value: str) -> str:
    """The text that `pack` was given. Raises BadPacking."""
    if not value.startswith(MARK):
        return value
    letters = value.removeprefix(MARK)
    try:
        packed = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars="-_", validate=True)
        unfolding = zlib.decompressobj()
        data = unfolding.decompress(packed, LONGEST)
        if not unfolding.eof:
            raise BadPacking("incomplete, or longer than any text we take")
        return data.decode("utf-8")
    except (binascii.Error, zlib.error, ValueError) as error:
        raise BadPacking(str(error)) from error
