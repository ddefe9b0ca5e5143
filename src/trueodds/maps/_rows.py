"""Applying a kernel to all rows, in blocks and on all cores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueodds.basics.threads import BLOCK, in_blocks
from trueodds.validation import Floats

__all__ = ["map_rows"]


def map_rows(kernel: Callable[[Floats, Floats], None], scores: Floats) -> Floats:
    """What ``kernel`` writes into its second argument for the scores in its first."""
    out = np.empty(len(scores))
    if len(scores) <= BLOCK:
        kernel(scores, out)
    else:
        in_blocks(lambda rows: kernel(scores[rows], out[rows]), len(scores))
    return out
