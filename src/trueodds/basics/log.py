"""What the library tells about its work: through ``logging``, and to nobody unless asked for.

The logger is called ``trueodds``. ``logging.basicConfig(level="INFO")`` shows what was chosen, left
out, pooled, and how long it took; ``trueodds --verbose`` does the same on the command line.
"""

from __future__ import annotations

import logging

__all__ = ["logger"]

logger = logging.getLogger("trueodds")
"""The one logger of the library."""
logger.addHandler(logging.NullHandler())
