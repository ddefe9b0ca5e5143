"""Ids of rows that were counted, so that a feed that is sent again is not counted again."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

from trueodds.exceptions import StateFormatError
from trueodds.state_file import Fields

__all__ = ["MOST_IDS", "IdsSeen"]

MOST_IDS = 100_000
"""Maximum number of ids that are remembered: 800 kB of text."""
BYTES = 6
"""Bytes kept of the hash of an id: two of 100,000 ids are equal with a chance of 1 in 50,000."""


class IdsSeen:
    """The last 100,000 ids whose rows were counted, as hashes.

    Attributes
    ----------
    forgotten : int
        Ids that were dropped, the oldest first.

    Examples
    --------
    >>> from trueodds.watch.ids_seen import IdsSeen
    >>> seen = IdsSeen()
    >>> seen.add("order 7"), seen.add("order 7"), "order 8" in seen
    (True, False, False)
    """

    def __init__(self) -> None:
        self.forgotten = 0
        self._packed = bytearray()
        """The hashes in the order in which they came."""
        self._known: set[bytes] | None = None
        """The same; made when it is first needed, because every save reads its state again."""

    def __len__(self) -> int:
        return len(self._packed) // BYTES

    def __contains__(self, row_id: object) -> bool:
        return _hash_of(row_id) in self._hashes()

    def add(self, row_id: object) -> bool:
        """Remember an id, and drop the oldest one if there is no room; returns if it was new."""
        mark, known = _hash_of(row_id), self._hashes()
        if mark in known:
            return False
        known.add(mark)
        self._packed += mark
        if len(self) > MOST_IDS:
            known.discard(bytes(self._packed[:BYTES]))
            del self._packed[:BYTES]
            self.forgotten += 1
        return True

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        hashes = base64.b64encode(self._packed).decode("ascii")
        return {"hashes": hashes, "forgotten": self.forgotten}

    @classmethod
    def from_dict(cls, content: Any) -> IdsSeen:
        """Ids from a state, every value of which is checked."""
        fields = Fields(content, {"hashes", "forgotten"}, "state.ids")
        seen = cls()
        seen.forgotten = fields.count("forgotten")
        text = fields.text("hashes", MOST_IDS * BYTES * 4 // 3)
        try:
            seen._packed += base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            seen._packed += b"?"
        if len(seen._packed) % BYTES:
            raise StateFormatError(f"state.ids.hashes must be hashes of {BYTES} bytes in base 64.")
        return seen

    def _hashes(self) -> set[bytes]:
        if self._known is None:
            packed = bytes(self._packed)
            self._known = {packed[k : k + BYTES] for k in range(0, len(packed), BYTES)}
        return self._known


def _hash_of(row_id: object) -> bytes:
    text = str(row_id).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=BYTES).digest()
