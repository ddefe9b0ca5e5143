"""The library's logger; it is silent unless ``logging`` is configured.

The logger is called ``trueodds``. ``logging.basicConfig(level="INFO")`` shows which method
was chosen, which rows were dropped or pooled, and the time taken. ``trueodds --verbose`` does the
same on the command line.
"""

from __future__ import annotations

import logging

__all__ = ["logger"]

logger = logging.getLogger("trueodds")
"""The logger of the library."""
logger.addHandler(logging.NullHandler())
