"""Class scores of any scale as logits, and one class against the rest."""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats, InputScale

__all__ = [
    "class_logits",
    "log_softmax",
    "one_vs_rest_scores",
    "softmax",
]


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


def one_vs_rest_scores(scores: Floats, scale: InputScale) -> Floats:
    """Each column as a binary score: logits become log-odds, other scores stay unchanged.

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
