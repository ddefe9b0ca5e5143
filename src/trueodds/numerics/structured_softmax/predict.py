"""Probabilities of a structured softmax from its coefficients."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.blocks import Coefficients
from trueodds.numerics.structured_softmax.features import ENTROPY_CENTRE, relative_entropy

__all__ = ["structured_probabilities"]


def structured_probabilities(
    p: Floats, top: npt.NDArray[np.bool_], base: Base, coefficients: Coefficients
) -> Floats:
    """Calibrated probabilities of shape (k, n).

    Parameters
    ----------
    p : ndarray of shape (k, n)
    top : ndarray of shape (k, n)
        Whether a class is the most probable of its row.
    base : Base
    coefficients : Coefficients
    """
    q = base.mixed(p)
    logs = np.log(q)
    slope, by_entropy, on_root, on_top = coefficients.shared
    steepness = 1 + slope + by_entropy * (relative_entropy(q, logs) - ENTROPY_CENTRE)
    eta = logs * steepness
    eta += on_root * np.sqrt(q)
    eta += on_top * top
    eta += coefficients.bias[:, None]
    if coefficients.on_logs.ndim == 1:
        eta += coefficients.on_logs[:, None] * logs
    else:
        eta += coefficients.on_logs @ logs
    if coefficients.on_probabilities.size:
        eta += coefficients.on_probabilities @ q
    eta -= eta.max(axis=0)
    np.exp(eta, out=eta)
    eta /= eta.sum(axis=0)
    return np.asarray(eta)
