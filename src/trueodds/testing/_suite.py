"""The list of all checks, and the functions that run them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trueodds.testing import _edge_checks, _estimator_checks, _input_checks, _value_checks

__all__ = ["CalibratorCheck", "calibrator_checks", "check_calibrator"]


@dataclass(frozen=True)
class CalibratorCheck:
    """One check of one calibrator; call it to run it.

    Examples
    --------
    >>> from trueodds import IdentityCalibrator
    >>> from trueodds.testing import calibrator_checks
    >>> check = calibrator_checks(IdentityCalibrator())[0]
    >>> check()
    """

    calibrator: Any
    function: Callable[[Any], None]

    def __call__(self) -> None:
        """Run the check; AssertionError if it fails."""
        self.function(self.calibrator)

    def __str__(self) -> str:
        """``BetaCalibrator-counts_equal_repetition``."""
        name = self.function.__name__.removeprefix("check_")
        return f"{type(self.calibrator).__name__}-{name}"


def calibrator_checks(calibrator: Any) -> list[CalibratorCheck]:
    """List every check of the input contract for a calibrator.

    Parameters
    ----------
    calibrator : estimator
        Unfitted calibrator; copies of it are fitted. If it declares ``is_monotone``, that is
        checked, too.

    Returns
    -------
    list of CalibratorCheck

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> from trueodds.testing import calibrator_checks
    >>> print(calibrator_checks(BetaCalibrator())[0])
    BetaCalibrator-predict_before_fit_is_refused
    """
    return [
        CalibratorCheck(calibrator, function)
        for module in (_input_checks, _value_checks, _edge_checks, _estimator_checks)
        for name, function in vars(module).items()
        if name.startswith("check_")
    ]


def check_calibrator(calibrator: Any) -> None:
    """Run every check of the input contract.

    Parameters
    ----------
    calibrator : estimator
        Unfitted; copies of it are fitted.

    Raises
    ------
    AssertionError
        With every check that failed and its reason.

    Examples
    --------
    >>> from trueodds import IsotonicCalibrator
    >>> from trueodds.testing import check_calibrator
    >>> check_calibrator(IsotonicCalibrator())
    """
    failures = []
    for check in calibrator_checks(calibrator):
        try:
            check()
        except Exception as error:  # any exception is a failure
            reason = str(error).strip().split("\n")[0]
            failures.append(f"{check}: {type(error).__name__}: {reason}")
    if failures:
        raise AssertionError(f"{len(failures)} checks failed:\n" + "\n".join(failures))
