"""Calibrators, which fit maps. One method per file; ``_shared/registry.py`` lists them.

A module is imported when one of its names is first used.
"""

from __future__ import annotations

from trueodds.basics.imports import import_lazily
from trueodds.calibrators._shared.registry import METHODS

__all__ = [
    "Calibrator",
    "CurveFit",
    "GroupEffect",
    "GroupEffects",
    "LogOddsRows",
    "all_calibrators",
    "calibrator_names",
    "find_calibrator",
    "fit_curve",
    "logistic_intervals",
    "near_isotonic_path",
    "warn_of_curve",
]

_HOMES = {
    "LAST_COMPLEXITY": "._shared.base",
    "Calibrator": "._shared.base",
    "CurveFit": "..numerics.saturated",
    "Curves": "._shared.base",
    "FeatureCalibrator": "._shared.base",
    "GroupEffect": "._group.effects",
    "GroupEffects": "._group.effects",
    "LogOddsRows": "..numerics.log_odds",
    "METHODS": "._shared.registry",
    "PosteriorCalibrator": "._shared.base",
    "Tier": "._shared.registry",
    "all_calibrators": "._shared.registry",
    "calibrator_names": "._shared.registry",
    "default_method": "._shared.registry",
    "effects_of": "._group.effects",
    "find_calibrator": "._shared.registry",
    "fit_curve": "..numerics.saturated",
    "logistic_intervals": "._acp",
    "method_name": "._shared.registry",
    "near_isotonic_path": "._enir",
    "tier_of": "._shared.registry",
    "warn_of_curve": "._shared.parametric",
} | {place.split(":")[1]: f".{place.split(':')[0]}" for place in METHODS.values()}
__getattr__, __dir__ = import_lazily(__name__, _HOMES)
