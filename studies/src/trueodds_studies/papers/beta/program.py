"""Where the published program of the beta paper differs from the text or completes it.

Its Ada-S is scikit-learn's default of 2016, SAMME.R (``BoostedStumps(probabilities="samme.r")``);
the text describes SAMME. Its logistic regressions are liblinear's with C = 99999999999 and a
tolerance of 1e-4, which may stop far from the maximum of the likelihood. It checks the signs of a
and b once.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit

from trueodds.inputs import Floats

__all__ = ["LiblinearCalibrator"]

PENALTY = 99999999999.0
CLIP = 1e-16
LN2 = float(np.log(2.0))


class LiblinearCalibrator:
    """Logistic and beta calibration as the program fits them.

    Parameters
    ----------
    features : {"raw", "abm", "am", "ab"}
        The unchanged scores; ln s and −ln(1 − s); the log-odds; ln 2s and −ln 2(1 − s) without a
        constant.
    """

    def __init__(self, features: str) -> None:
        self.features = features

    def _matrix(self, scores: Floats) -> Floats:
        if self.features == "raw":
            return scores[:, None]
        s = np.clip(scores, CLIP, 1 - CLIP)
        if self.features == "am":
            return np.asarray(np.log(s / (1 - s))[:, None])
        shift = LN2 if self.features == "ab" else 0.0
        return np.column_stack([np.log(s) + shift, -np.log(1 - s) - shift])

    def fit(self, scores: Floats, y: Any) -> LiblinearCalibrator:
        """Fit; with ``"abm"``, fit again without a coefficient that is negative."""
        X = self._matrix(scores)
        self.coef_, self.intercept_ = self._regression(X, y)
        self.eliminated_ = bool(self.features == "abm" and self.coef_.min() < 0)
        if self.eliminated_:
            kept = 1 if self.coef_[0] < 0 else 0
            coef, self.intercept_ = self._regression(X[:, [kept]], y)
            self.coef_ = np.zeros(2)
            self.coef_[kept] = coef[0]
        return self

    def _regression(self, X: Floats, y: Any) -> tuple[Floats, float]:
        from sklearn import config_context
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        constant = self.features != "ab"
        model = LogisticRegression(C=PENALTY, solver="liblinear", fit_intercept=constant)
        fast = config_context(assume_finite=True, skip_parameter_validation=True)
        with fast, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        return model.coef_[0], float(np.ravel(model.intercept_)[0])

    def predict_proba(self, scores: Floats) -> Floats:
        """Probabilities of shape (n, 2)."""
        p = expit(self._matrix(scores) @ self.coef_ + self.intercept_)
        return np.column_stack([1 - p, p])
