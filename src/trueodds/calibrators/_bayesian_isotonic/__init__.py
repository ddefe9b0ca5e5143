"""Bayesian isotonic calibration."""

from trueodds.calibrators._bayesian_isotonic.calibrator import BayesianIsotonicCalibrator

__all__ = ["BayesianIsotonicCalibrator"]
