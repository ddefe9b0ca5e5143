"""Changes of JSON that leave most of it valid: where a fuzzer that knows only bytes gets stuck."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from mutate_json import Mutator

__all__ = ["JsonChanges"]


class JsonChanges:
    """Changes one place of a document, or gives up and lets the fuzzer change bytes."""

    def __init__(self, documents: Sequence[dict[str, Any]]) -> None:
        self._mutator = Mutator(documents, 0)

    def __call__(self, data: bytes, seed: int) -> bytes | None:
        """The document changed, or None where it is no JSON object, and in one case of four."""
        self._mutator.rng.seed(seed)
        if seed % 4 == 0:
            return None
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict):
            return None
        self._mutator.change(document)
        return json.dumps(document).encode()
