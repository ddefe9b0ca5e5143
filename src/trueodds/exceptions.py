"""Errors and warnings of trueodds, so that a caller can tell ours from everybody else's."""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "CoarsenedWarning",
    "ConvergenceWarning",
    "DominantMapWarning",
    "InputError",
    "MapFormatError",
    "MissingClassWarning",
    "MissingLibraryError",
    "NotIncreasingWarning",
    "PoorMixingWarning",
    "SampledRowsWarning",
    "SeparableScoresWarning",
    "StateFormatError",
    "TooFewInstancesError",
    "TooLongForSqlError",
    "TrueoddsWarning",
    "UncheckedGraphWarning",
    "UndefinedReplicatesWarning",
    "warn_user",
]

_INNER_PACKAGES = ("trueodds", "sklearn", "joblib")


class InputError(ValueError):
    """Scores, labels, weights or options that cannot be used; the message says which and why.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> BetaCalibrator().fit([0.2, 1.4], [0, 1])
    Traceback (most recent call last):
    ...
    trueodds.exceptions.InputError: scores must lie in [0, 1]; got 1.4 at index 1 ...
    """


class TooFewInstancesError(InputError):
    """Not enough instances to hold any out and still learn.

    Examples
    --------
    >>> from trueodds import compare_calibrators
    >>> compare_calibrators([0.2, 0.8], [0, 1])
    Traceback (most recent call last):
    ...
    trueodds.exceptions.TooFewInstancesError: comparing methods by cross-validation ...
    """


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


class TooLongForSqlError(InputError):
    """A formula takes more nodes of SQL than engines can be expected to read.

    Examples
    --------
    >>> from trueodds.exceptions import InputError, TooLongForSqlError
    >>> issubclass(TooLongForSqlError, InputError)  # apply_map computes in batches instead
    True
    """


class MissingLibraryError(ImportError):
    """An optional library is needed and not installed; the message says how to install it.

    Examples
    --------
    >>> from trueodds.exceptions import MissingLibraryError
    >>> issubclass(MissingLibraryError, ImportError)
    True
    """


class TrueoddsWarning(UserWarning):
    """Base of every warning that trueodds gives.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import TrueoddsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", TrueoddsWarning)  # none of ours is shown here
    """


class ConvergenceWarning(TrueoddsWarning):
    """A fit stopped before its gradient vanished.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import ConvergenceWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConvergenceWarning)  # stop where it would be given
    """


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


class NotIncreasingWarning(TrueoddsWarning):
    """The scores rank the classes the wrong way round, wholly or in part.

    Examples
    --------
    >>> import warnings
    >>> from trueodds import BetaCalibrator
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = BetaCalibrator().fit([0.1, 0.2, 0.6, 0.8, 0.9], [1, 1, 0, 1, 0])
    >>> [type(w.message).__name__ for w in caught]
    ['NotIncreasingWarning']
    """


class MissingClassWarning(TrueoddsWarning):
    """A declared class has no instance to calibrate on.

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


class CoarsenedWarning(TrueoddsWarning):
    """A method that cannot take so many distinct scores was fitted on a coarser table.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import CoarsenedWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CoarsenedWarning)  # stop where it would be given
    """


class DominantMapWarning(TrueoddsWarning):
    """One of the sampled maps outweighs all others together.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import DominantMapWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DominantMapWarning)  # stop where it would be given
    """


class PoorMixingWarning(TrueoddsWarning):
    """Markov chains disagree, or were stopped before they had drawn enough.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import PoorMixingWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PoorMixingWarning)  # stop where it would be given
    """


class SampledRowsWarning(TrueoddsWarning):
    """A map was learned from a random sample of the rows; the message says what that adds.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import SampledRowsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SampledRowsWarning)  # stop where it would be given
    """


class UncheckedGraphWarning(TrueoddsWarning):
    """A model's ONNX graph was not compared with the model, since onnxruntime is not installed.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.exceptions import UncheckedGraphWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UncheckedGraphWarning)  # stop where it would be given
    """


class UndefinedReplicatesWarning(TrueoddsWarning):
    """Some resamples had no value, for example an AUC without positives.

    Examples
    --------
    >>> import warnings
    >>> from trueodds.metrics import confidence_interval, roc_auc_score
    >>> y, p = [0, 0, 0, 1], [0.1, 0.3, 0.4, 0.6]
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = confidence_interval(roc_auc_score, y, p, n_resamples=50, random_state=0)
    >>> [type(w.message).__name__ for w in caught]
    ['UndefinedReplicatesWarning']
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
