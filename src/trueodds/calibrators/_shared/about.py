"""What is said of a method wherever methods are listed, and what it guarantees."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["About", "Promises"]

LAST = 1000
"""The complexity of a method that does not say: after all that do."""


@dataclass(frozen=True)
class Promises:
    """What a calibrator guarantees with its present options; the check suite holds it to them.

    Parameters
    ----------
    monotone : bool
        A higher score never gets a lower probability (binary problems).
    native_multiclass : bool
        More than two classes are learned together, not one against the rest.
    needs_features : bool
        ``fit`` and ``predict_proba`` take the original attributes as ``features=``.
    any_order : bool
        The order of the rows does not matter; without it, a table of counts is not enough.

    Examples
    --------
    >>> from trueodds import BetaCalibrator, TreeCalibrator
    >>> BetaCalibrator().promises.monotone, TreeCalibrator().promises.needs_features
    (True, True)
    """

    monotone: bool = True
    native_multiclass: bool = False
    needs_features: bool = False
    any_order: bool = True


@dataclass(frozen=True)
class About:
    """Facts about a method, whatever its options.

    Parameters
    ----------
    title : str
        What applying it is called in a sentence: ``"beta calibration"``.
    label : str, default=""
        What it is called in tables and legends; the name of the method if empty.
    complexity : int, default=1000
        How much it learns, for "the simplest method that is as good": nothing (0), one to three
        numbers (10 to 30), a smooth curve (40 to 60), a curve without a formula (70 to 90), an
        average of many (100 and more).
    compared : (int, float) or None, default=None
        The fewest and the most classes with which it takes part in a comparison by default.
    promises : Promises
        What it guarantees; a method whose options decide overrides ``Calibrator.promises``.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> BetaCalibrator.about.title, BetaCalibrator.about.complexity
    ('beta calibration', 30)
    """

    title: str
    label: str = ""
    complexity: int = LAST
    compared: tuple[int, float] | None = None
    promises: Promises = Promises()

    def suits(self, n_classes: int) -> bool:
        """Whether it is compared by default with so many classes."""
        return self.compared is not None and self.compared[0] <= n_classes <= self.compared[1]
