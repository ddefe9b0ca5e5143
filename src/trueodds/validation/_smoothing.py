"""How labels may be smoothed."""

from __future__ import annotations

from typing import Any, Literal

from trueodds.exceptions import InputError
from trueodds.validation._options import is_number

__all__ = ["LabelSmoothing", "check_smoothing"]

LabelSmoothing = Literal["platt"] | float | None


def check_smoothing(label_smoothing: Any) -> None:
    """Refuse what is no way of smoothing labels."""
    if label_smoothing is None or (isinstance(label_smoothing, str) and label_smoothing == "platt"):
        return
    if not is_number(label_smoothing) or not 0 <= label_smoothing < 1:
        raise InputError(
            f'label_smoothing must be None, "platt" or a number in [0, 1); got {label_smoothing!r}.'
        )
