"""Data for the checks, and functions that fit a calibrator to it and predict."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from trueodds.exceptions import TrueoddsWarning

__all__ = [
    "Sample",
    "binary_sample",
    "features_argument",
    "fit",
    "fresh",
    "multiclass_sample",
    "positive",
    "predict",
]


@dataclass(frozen=True)
class Sample:
    """Scores, labels, the features that a calibrator may need, importances and counts."""

    scores: Any
    y: Any
    features: Any
    weight: Any = None
    counts: Any = None

    def take(self, rows: Any) -> Sample:
        """Return some of the rows, in the given order."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return Sample(**{name: value[rows] for name, value in given.items()})

    def with_(self, **changes: Any) -> Sample:
        """Return a copy with some fields replaced."""
        return replace(self, **changes)


def binary_sample(n: int = 200, seed: int = 0) -> Sample:
    """Return overconfident probabilities of two classes, without ties."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return Sample(1 / (1 + np.exp(-2 * z)), y, rng.normal(size=(n, 2)))


def multiclass_sample(n: int = 300, n_classes: int = 3, seed: int = 0) -> Sample:
    """Return overconfident probabilities of several classes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes))
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    return Sample(sharp, y, rng.normal(size=(n, 2)))


def fresh(calibrator: Any, **params: Any) -> Any:
    """Return an unfitted copy with a fixed seed; options that it does not have are ignored."""
    copy = clone(calibrator)
    known = copy.get_params()
    wanted = {"random_state": 0, **params}
    return copy.set_params(**{name: v for name, v in wanted.items() if name in known})


def features_argument(calibrator: Any, sample: Sample) -> dict[str, Any]:
    """``{"features": ...}`` for a calibrator that needs them, else nothing."""
    return {"features": sample.features} if getattr(calibrator, "needs_features", False) else {}


def fit(calibrator: Any, sample: Sample, **params: Any) -> Any:
    """Fit an unfitted copy; trueodds warnings are allowed, others are failures."""
    copy = fresh(calibrator, **params)
    extra = features_argument(copy, sample)
    if sample.weight is not None:
        extra["sample_weight"] = sample.weight
    if sample.counts is not None:
        extra["counts"] = sample.counts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TrueoddsWarning)
        return copy.fit(sample.scores, sample.y, **extra)


def predict(fitted: Any, sample: Sample) -> Any:
    """``predict_proba`` on the sample's scores."""
    return fitted.predict_proba(sample.scores, **features_argument(fitted, sample))


def positive(fitted: Any, sample: Sample) -> Any:
    """The second column of ``predict_proba``."""
    return predict(fitted, sample)[:, 1]
