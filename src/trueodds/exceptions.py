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
    "UndefinedReplicatesWarning",
    "warn_user",
]

_INNER_PACKAGES = ("trueodds", "sklearn", "joblib")


class InputError(ValueError):
    """Scores, labels, weights or options that cannot be used; the message says which and why."""


class TooFewInstancesError(InputError):
    """Not enough instances to hold any out and still learn."""


class MapFormatError(ValueError):
    """A saved map that is malformed, hostile, or written by a newer version."""


class StateFormatError(InputError):
    """The saved state of a monitor that is malformed, hostile, or written by a newer version."""


class TooLongForSqlError(InputError):
    """A formula takes more nodes of SQL than engines can be expected to read."""


class MissingLibraryError(ImportError):
    """An optional library is needed and not installed; the message says how to install it."""


class TrueoddsWarning(UserWarning):
    """Base of every warning that trueodds gives."""


class ConvergenceWarning(TrueoddsWarning):
    """A fit stopped before its gradient vanished."""


class SeparableScoresWarning(TrueoddsWarning):
    """The scores separate the classes, so the likelihood has no finite optimum."""


class NotIncreasingWarning(TrueoddsWarning):
    """The scores rank the classes the wrong way round, wholly or in part."""


class MissingClassWarning(TrueoddsWarning):
    """A declared class has no instance to calibrate on."""


class CoarsenedWarning(TrueoddsWarning):
    """A method that cannot take so many distinct scores was fitted on a coarser table."""


class DominantMapWarning(TrueoddsWarning):
    """One of the sampled maps outweighs all others together."""


class PoorMixingWarning(TrueoddsWarning):
    """Markov chains disagree, or were stopped before they had drawn enough."""


class SampledRowsWarning(TrueoddsWarning):
    """A map was learned from a random sample of the rows; the message says what that adds."""


class UndefinedReplicatesWarning(TrueoddsWarning):
    """Some resamples had no value, for example an AUC without positives."""


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
