"""Maps from strangers: refused with a ``MapFormatError``, or probabilities in [0, 1]."""

from __future__ import annotations

import json
import zlib

from support.mutate_json import JsonChanges
from support.mutate_maps import EXPORTED, examples, try_text

__all__ = ["TOKENS", "change", "check", "seeds"]

DOCUMENTS = [example.to_dict() for example in examples()]
TOKENS = sorted({key for document in DOCUMENTS for key in (*document, *document["parameters"])})
change = JsonChanges(DOCUMENTS)


def seeds() -> list[bytes]:
    """A map of every family and scale."""
    return [json.dumps(document).encode() for document in DOCUMENTS]


def check(data: bytes) -> None:
    """Load the map; if it loads, ask it at all ends of its scale, and now and then export it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:  # the door says so: see maps._json.read
        return
    try_text(text, exported=zlib.crc32(data) % EXPORTED == 0)
