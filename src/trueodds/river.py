"""Calibration inside a river pipeline: a classifier that is calibrated as it learns.

:class:`OnlineCalibratedClassifier` has river's protocol, ``learn_one`` and ``predict_proba_one``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base, linear_model

from trueodds.basics.shown import shown
from trueodds.basics.threads import Locked
from trueodds.exceptions import InputError
from trueodds.online import OnlineCalibrator

__all__ = ["OnlineCalibratedClassifier"]


class OnlineCalibratedClassifier(Locked, base.Wrapper, base.Classifier):  # type: ignore[misc]
    """A river classifier with calibrated probabilities.

    Each row is forecast before the classifier learns it, and the forecast with its label is what
    the calibrator learns. So no rows are held out.

    Parameters
    ----------
    classifier : river.base.Classifier
        A classifier of two classes with ``predict_proba_one``.
    positive, negative : label, default=True, False
        The two labels; 1 and 0 are the same as True and False.

    Attributes
    ----------
    calibrator : OnlineCalibrator
        What was learned: ``map_``, ``experts_``, ``regret_`` and ``bound_``.

    Notes
    -----
    Threads may share it, if the classifier inside is used through it alone.

    Examples
    --------
    >>> from river import datasets, metrics, preprocessing
    >>> from river.naive_bayes import GaussianNB
    >>> from trueodds.river import OnlineCalibratedClassifier
    >>> def log_loss(classifier):
    ...     model, loss = preprocessing.StandardScaler() | classifier, metrics.LogLoss()
    ...     for x, y in datasets.Phishing():
    ...         loss.update(y, model.predict_proba_one(x))
    ...         model.learn_one(x, y)
    ...     return round(loss.get(), 3)
    >>> log_loss(GaussianNB()), log_loss(OnlineCalibratedClassifier(GaussianNB()))
    (0.567, 0.329)
    """

    def __init__(
        self, classifier: base.Classifier, positive: Any = True, negative: Any = False
    ) -> None:
        if positive == negative:
            raise InputError(
                f"positive and negative must be different labels; got {shown(positive)}."
            )
        self.classifier = classifier
        self.positive, self.negative = positive, negative
        self.calibrator = OnlineCalibrator()

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.classifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": linear_model.LogisticRegression()}

    @property
    def _multiclass(self) -> bool:
        return False

    def _score(self, x: dict[Any, Any], **options: Any) -> float:
        """The classifier's probability of the positive label; 0.5 before it has learned."""
        found = self.classifier.predict_proba_one(x, **options)
        if self.positive in found:
            return float(min(max(found[self.positive], 0.0), 1.0))
        return 1.0 - float(min(max(found[self.negative], 0.0), 1.0)) if found else 0.5

    def learn_one(self, x: dict[Any, Any], y: Any, **options: Any) -> None:
        """Learn a row: first its forecast with its label, then the row itself.

        Parameters
        ----------
        x : dict
            Features.
        y : label
            One of the two labels.
        """
        if y not in (self.positive, self.negative):
            raise InputError(f"y must be {self.negative!r} or {self.positive!r}; got {shown(y)}.")
        self.calibrator.update(self._score(x), int(y == self.positive))
        self.classifier.learn_one(x, y, **options)

    def predict_proba_one(self, x: dict[Any, Any], **options: Any) -> dict[Any, float]:
        """Calibrated probabilities of both labels.

        Parameters
        ----------
        x : dict
            Features.

        Returns
        -------
        dict
            The probability of each label.
        """
        p = float(self.calibrator.predict_proba(self._score(x, **options))[0, 1])
        return {self.negative: 1.0 - p, self.positive: p}
