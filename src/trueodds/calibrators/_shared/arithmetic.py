"""Arithmetic that fails on numbers of extreme sizes, as advice on these numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from trueodds.exceptions import InputError, NonFiniteError
from trueodds.inputs import Floats

__all__ = ["errors_as_input_errors"]


@contextmanager
def errors_as_input_errors(name: str, scores: Floats, weight: Floats | None) -> Iterator[None]:
    """Fit inside; an arithmetic error becomes an InputError that states the range of the numbers.

    Every other error is a defect of the method and stays what it is. NumPy does not warn
    meanwhile: what overflows is infinite, and no map accepts NaN.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError, NonFiniteError) as error:
        raise InputError(
            f"{name} failed: scores or weights span too wide a range for float64 "
            f"({_sizes(scores, weight)}). Rescale them, or use another method "
            f"({type(error).__name__}: {str(error).rstrip('.')})."
        ) from error


def _sizes(scores: Floats, weight: Floats | None) -> str:
    words = f"scores are {_span(scores)}"
    return words if weight is None else f"{words}, weights {_span(weight)}"


def _span(values: Floats) -> str:
    return f"{values.min():.6g} to {values.max():.6g}"
