"""Labels of classes as JSON can hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Label", "plain_label"]

Label = str | int | float | bool


def plain_label(label: Any) -> Label:
    """A label as a text, a number or a truth value."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, (str, int, float, bool)) else str(plain)
