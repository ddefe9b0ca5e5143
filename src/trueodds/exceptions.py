"""Every error and warning that the library raises itself."""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "BiasedMetricWarning",
    "BinnedScoresWarning",
    "ConvergenceWarning",
    "DegenerateWeightsWarning",
    "FewEventsWarning",
    "InputError",
    "MapFormatError",
    "MissingClassWarning",
    "MissingLibraryError",
    "NonMonotoneWarning",
    "PluginError",
    "PoorMixingWarning",
    "SampledRowsWarning",
    "SeparableScoresWarning",
    "SqlTooLargeError",
    "StateFormatError",
    "TooFewRowsError",
    "TrueoddsWarning",
    "UncheckedGraphWarning",
    "UndefinedReplicatesWarning",
    "UnknownCategoriesWarning",
    "WorseThanOneMapWarning",
    "warn_user",
]

_INNER_PACKAGES = ("trueodds", "sklearn", "joblib")


class InputError(ValueError):
    """Scores, labels, weights or options that cannot be used; the message states which and why.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> BetaCalibrator().fit([0.2, 1.4], [0, 1])
    Traceback (most recent call last):
    ...
    trueodds.exceptions.InputError: scores must lie in [0, 1]; got 1.4 at index 1 ...
    """


class NonFiniteError(InputError):
    """Parameters of a map that are NaN or infinite; a fit that overflows raises advice instead."""


class TooFewRowsError(InputError):
    """Not enough rows to hold any out and still learn.

    Examples
    --------
    >>> from trueodds import compare_calibrators
    >>> compare_calibrators([0.2, 0.8], [0, 1])
    Traceback (most recent call last):
    ...
    trueodds.exceptions.TooFewRowsError: comparing methods by cross-validation ...
    """


class PluginError(ImportError):
    """A method that another package registered and that cannot be loaded; the message names it."""


class MapFormatError(ValueError):
    """A saved map that is malformed, hostile, or written by a newer version.

    Examples
    --------
    >>> from trueodds.maps import CalibrationMap
    >>> CalibrationMap.from_dict({"format": "something else"})
    Traceback (most recent call last):
    ...
    trueodds.exceptions.MapFormatError: not a saved map: "format" must be 'trueodds-map'.
    """


class StateFormatError(InputError):
    """The saved state of a monitor that is malformed, hostile, or written by a newer version.

    Examples
    --------
    >>> from trueodds import CalibrationMonitor
    >>> CalibrationMonitor.from_dict({"format": "something else"})
    Traceback (most recent call last):
    ...
    trueodds.exceptions.StateFormatError: not the state of a monitor: "format" must ...
    """


class SqlTooLargeError(InputError):
    """A formula needs more SQL than engines accept; ``apply_map`` computes in batches instead."""


class MissingLibraryError(ImportError):
    """An optional library is needed and not installed; the message shows how to install it."""


class TrueoddsWarning(UserWarning):
    """Base of every warning of trueodds; filter it to silence them all."""


class ConvergenceWarning(TrueoddsWarning):
    """A fit stopped before its gradient vanished."""


class SeparableScoresWarning(TrueoddsWarning):
    """The scores separate the classes, so the likelihood has no finite optimum.

    Examples
    --------
    >>> import warnings
    >>> from trueodds import LogisticCalibrator
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = LogisticCalibrator(label_smoothing=None).fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    >>> [type(w.message).__name__ for w in caught]
    ['SeparableScoresWarning']
    """


class NonMonotoneWarning(TrueoddsWarning):
    """The scores rank the classes the wrong way round, wholly or in part.

    Examples
    --------
    >>> import warnings
    >>> from trueodds import BetaCalibrator
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = BetaCalibrator().fit([0.1, 0.2, 0.6, 0.8, 0.9], [1, 1, 0, 1, 0])
    >>> [type(w.message).__name__ for w in caught]
    ['NonMonotoneWarning']
    """


class MissingClassWarning(TrueoddsWarning):
    """A declared class has no row to calibrate on.

    Examples
    --------
    >>> import warnings
    >>> from trueodds import BetaCalibrator, OneVsRestCalibrator
    >>> scores = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.4, 0.1], [0.3, 0.6, 0.1]]
    >>> method = OneVsRestCalibrator(BetaCalibrator(), classes=["a", "b", "c"])
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = method.fit(scores, ["a", "b", "b", "a"])
    >>> "MissingClassWarning" in {type(w.message).__name__ for w in caught}
    True
    """


class BinnedScoresWarning(TrueoddsWarning):
    """Distinct scores were rounded or merged, because there were more than ``max_rows``."""


class DegenerateWeightsWarning(TrueoddsWarning):
    """One sampled map outweighs all others together, so the average is that map."""


class PoorMixingWarning(TrueoddsWarning):
    """Markov chains disagree, or were stopped before they had drawn enough."""


class SampledRowsWarning(TrueoddsWarning):
    """A map was learned from a random sample of the rows; the message states its cost."""


class UnknownCategoriesWarning(TrueoddsWarning):
    """No row of a batch has a category of the fit.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from trueodds import GroupCalibrator
    >>> region = np.repeat([["north"], ["south"]], 50, axis=0)
    >>> p, y = np.full(100, 0.5), np.arange(100) % 3 == 0
    >>> calibrator = GroupCalibrator().fit(p, y, features=region)
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = calibrator.predict_proba([0.5], features=[["North"]])
    >>> [type(w.message).__name__ for w in caught]
    ['UnknownCategoriesWarning']
    """


class UncheckedGraphWarning(TrueoddsWarning):
    """An ONNX graph was not compared with its model, since onnxruntime is not installed."""


class UndefinedReplicatesWarning(TrueoddsWarning):
    """Some resamples had no value, for example an AUC without positives.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.metrics import roc_auc_score
    >>> from trueodds.metrics import confidence_interval
    >>> y, p = [0, 0, 0, 1], [0.1, 0.3, 0.4, 0.6]
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = confidence_interval(roc_auc_score, y, p, n_resamples=50, random_state=0)
    >>> "UndefinedReplicatesWarning" in {type(w.message).__name__ for w in caught}
    True
    """


class BiasedMetricWarning(TrueoddsWarning):
    """Chance adds to a metric, so its interval may lie on one side of the true value.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from trueodds.metrics import confidence_interval
    >>> p = np.arange(1000) / 1000
    >>> y = np.random.default_rng(0).random(1000) < p
    >>> def gap(y, p):
    ...     return np.abs(np.bincount((50 * p).astype(int), p - y, 50)).sum() / len(y)
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = confidence_interval(gap, y, p, n_resamples=100, random_state=0)
    >>> [type(w.message).__name__ for w in caught]
    ['BiasedMetricWarning']
    """


class FewEventsWarning(TrueoddsWarning):
    """Fewer than ten rows have the event, or lack it, so intervals may miss the true value.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.metrics import brier_score, confidence_interval
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = confidence_interval(brier_score, [0, 0, 1], [0.1, 0.3, 0.6])
    >>> [type(w.message).__name__ for w in caught]
    ['FewEventsWarning']
    """


class WorseThanOneMapWarning(TrueoddsWarning):
    """Features make the predictions worse: one map for all rows has a lower out-of-fold loss.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from trueodds import TreeCalibrator
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(15, size=300)
    >>> p = 1 / (1 + np.exp(-rng.normal(group - 7)))  # right in every group
    >>> y = rng.random(300) < p
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = TreeCalibrator(pruning=None).fit(p, y, features=group[:, None])
    >>> [type(w.message).__name__ for w in caught]
    ['WorseThanOneMapWarning']
    """


def warn_user(message: str, category: type[TrueoddsWarning]) -> None:
    """Warn at the line of the user's code that called into the library."""
    depth = 2
    frame = sys._getframe(1)
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _INNER_PACKAGES:
            break
        frame = frame.f_back
        depth += 1
    warnings.warn(message, category, stacklevel=depth)
