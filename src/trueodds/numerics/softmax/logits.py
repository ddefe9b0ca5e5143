"""Class scores of any scale as logits, and one class against the rest."""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats, InputScale

__all__ = [
    "ORDINARY_EXPONENT",
    "class_logits",
    "log_softmax",
    "margin_exponent",
    "one_vs_rest_scores",
    "scaled_logits",
    "softmax",
]

ORDINARY_EXPONENT = 16
"""Margins that typically spread by 2⁻¹⁶ to 2¹⁶ within a row are fitted as they are."""
LARGEST = 2.0**100
"""Outliers are fitted as if they were no larger: as sure as can be, but with squares."""


def class_logits(scores: Floats, scale: InputScale, floor: float = -np.inf) -> Floats:
    """Logits, or logarithms of probabilities, at most ``-floor`` below the largest of the row."""
    if scale == "probability":
        with np.errstate(divide="ignore"):
            logits = np.log(scores)
    else:
        logits = scores.copy()
    if floor > -np.inf:
        np.maximum(logits, logits.max(axis=1, keepdims=True) + floor, out=logits)
    return logits


def margin_exponent(logits: Floats, ordinary: int = ORDINARY_EXPONENT) -> int:
    """The e such that logits·2⁻ᵉ typically spread by about 1 within a row; 0 if they are ordinary.

    Starts, steps and tolerances of a fit suit spreads of that order. A power of two loses no digit
    on the way there or back. Typical is the median over the rows: a few extreme ones do not
    decide. Logits of −inf and rows of equal logits are left aside.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
    ordinary : int, default=16
        Up to this, either way, e counts as 0.

    Examples
    --------
    >>> margin_exponent(np.array([[0.0, 3e9], [1e9, 3e9], [0.0, 0.0]]))
    32
    >>> margin_exponent(np.array([[0.0, 3.0], [1.0, 3.0]]))
    0
    """
    lowest = np.where(np.isneginf(logits), np.inf, logits).min(axis=1)
    half = logits.max(axis=1) / 2 - lowest / 2  # the whole could overflow
    half = half[(half > 0) & (half < np.inf)]
    if not len(half):
        return 0
    exponent = int(np.frexp(np.median(half))[1]) + 1
    return exponent if abs(exponent) > ordinary else 0


def scaled_logits(logits: Floats, exponent: int) -> Floats:
    """Logits·2⁻ᵉ, within ±2¹⁰⁰ if they are finite."""
    scaled = np.ldexp(logits, -exponent)
    bounded = np.clip(scaled, -LARGEST, LARGEST)
    return np.where(np.isneginf(logits), logits, bounded)


def one_vs_rest_scores(scores: Floats, scale: InputScale) -> Floats:
    """Each column as a binary score: probabilities and margins as they are, logits as log-odds.

    The log-odds of class k against the rest are l_k − ln Σ_{j≠k} exp(l_j), summed without the
    cancellation that subtracting exp(l_k) from the total would bring.
    """
    if scale != "logit":
        return scores
    n_classes = scores.shape[1]
    result = np.empty_like(scores)
    for k in range(n_classes):
        rest = np.delete(scores, k, axis=1)
        top = rest.max(axis=1)
        safe = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore", over="ignore"):  # margins at both ends of float64
            others = safe + np.log(np.exp(rest - safe[:, None]).sum(axis=1))
            result[:, k] = scores[:, k] - others
    return result


def softmax(logits: Floats) -> Floats:
    """Probabilities of the classes of each row."""
    p = logits - logits.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray(p)


def log_softmax(logits: Floats) -> Floats:
    """Logarithms of the probabilities of the classes of each row."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)
