"""One way to fit and ask any calibrator, ours or a third party's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError, TrueoddsWarning, warn_user
from trueodds.inputs import Floats, InputScale, Labels, Weights, mass_of

__all__ = ["fit_calibrator", "needs_features", "predict_calibrated"]


def needs_features(calibrator: Any) -> bool:
    """Whether the calibrator needs the original features in addition to the scores."""
    return bool(getattr(calibrator, "needs_features", False))


def fit_calibrator(
    calibrator: Any,
    scores: Floats,
    codes: Labels,
    weight: Weights | None,
    features: Any,
    *,
    scale: InputScale,
    n_classes: int,
) -> Any:
    """Fit a copy of the calibrator on labels coded 0 … n_classes − 1.

    A calibrator of trueodds gets the scale of the scores and all classes. A third party's gets
    unchanged scores and labels, one-vs-rest if there are more than two classes; it has one kind of
    weights, importance times count.
    """
    if isinstance(calibrator, Calibrator):
        ours = clone(calibrator).set_params(scale=scale, classes=np.arange(n_classes))
        extra = {"features": features} if needs_features(ours) else {}
        return ours.fit(scores, codes, sample_weight=weight, **extra)
    if n_classes == 2:
        return _Foreign(calibrator).fit(scores, codes, mass_of(weight))
    return _ForeignOneVsRest(calibrator).fit(scores, codes, mass_of(weight), n_classes)


def predict_calibrated(fitted: Any, scores: Floats, features: Any) -> Floats:
    """Probabilities of shape (n, n_classes) from what :func:`fit_calibrator` returned."""
    extra = {"features": features} if needs_features(fitted) else {}
    return np.asarray(fitted.predict_proba(scores, **extra))


class _Foreign(BaseEstimator):  # type: ignore[misc]  # untyped base
    """A third party's binary calibrator: ``fit(scores, y)`` and predict_proba or predict.

    Where one answers NaN to a score outside the range it was fitted on, as scikit-learn's isotonic
    regression does by default, it is called with the nearest score of that range.
    """

    def __init__(self, calibrator: Any) -> None:
        self.calibrator = calibrator

    def fit(self, scores: Floats, codes: Labels, sample_weight: Floats | None) -> _Foreign:
        self.fitted_ = clone(self.calibrator, safe=False)
        extra = {}
        if sample_weight is not None:
            if has_fit_parameter(self.fitted_, "sample_weight"):
                extra = {"sample_weight": sample_weight}
            else:
                warn_user(
                    f"{type(self.fitted_).__name__}.fit takes no sample_weight; it is calibrated "
                    "without weights.",
                    TrueoddsWarning,
                )
        self.fitted_.fit(self._shaped(scores), codes, **extra)
        self.range_ = float(scores.min()), float(scores.max())
        return self

    def _shaped(self, scores: Floats) -> Floats:
        is_estimator = hasattr(self.fitted_, "__sklearn_tags__")
        wants_columns = is_estimator and not get_tags(self.fitted_).input_tags.one_d_array
        return scores.reshape(-1, 1) if wants_columns else scores

    def _ask(self, scores: Floats) -> Floats:
        has_both = hasattr(self.fitted_, "predict_proba")
        ask = self.fitted_.predict_proba if has_both else self.fitted_.predict
        p = np.asarray(ask(self._shaped(scores)), dtype=np.float64)
        return p[:, -1] if p.ndim == 2 else p

    def predict_proba(self, scores: Floats) -> Floats:
        positive = self._ask(scores)
        if np.isnan(positive).any():
            positive = self._ask(np.clip(scores, *self.range_))
        if positive.shape != (len(scores),) or not ((positive >= 0) & (positive <= 1)).all():
            raise InputError(
                f"{type(self.fitted_).__name__} did not return one probability in [0, 1] per row."
            )
        return np.stack([1 - positive, positive], axis=1)


class _ForeignOneVsRest(BaseEstimator):  # type: ignore[misc]  # untyped base
    """A third party's calibrator for each class against the rest, normalized."""

    def __init__(self, calibrator: Any) -> None:
        self.calibrator = calibrator

    def fit(
        self, scores: Floats, codes: Labels, sample_weight: Floats | None, n_classes: int
    ) -> _ForeignOneVsRest:
        self.members_ = [
            _Foreign(self.calibrator).fit(scores[:, k], (codes == k).astype(np.intp), sample_weight)
            if (codes == k).any()
            else None
            for k in range(n_classes)
        ]
        return self

    def predict_proba(self, scores: Floats) -> Floats:
        columns = [
            np.zeros(len(scores)) if member is None else member.predict_proba(scores[:, k])[:, 1]
            for k, member in enumerate(self.members_)
        ]
        result = np.stack(columns, axis=1)
        total = result.sum(axis=1, keepdims=True)
        result[(total == 0).ravel()] = 1.0
        return np.asarray(result / result.sum(axis=1, keepdims=True))
