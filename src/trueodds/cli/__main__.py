"""``python -m trueodds.cli``: the same as ``trueodds``."""

from __future__ import annotations

from trueodds.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
