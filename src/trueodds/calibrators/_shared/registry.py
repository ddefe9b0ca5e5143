"""Every method by its name: those of this package, and other packages' entry points.

A method of this package has a line in ``METHODS``; another package registers one by an entry point
of the group ``trueodds.calibrators``. A class is imported when it is first used.
"""

from __future__ import annotations

import difflib
import importlib
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from trueodds.basics.shown import shown, suggestion
from trueodds.exceptions import InputError, PluginError, TrueoddsWarning, warn_user

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "METHODS",
    "TIERS",
    "Tier",
    "all_calibrators",
    "calibrator_names",
    "default_method",
    "find_calibrator",
    "method_name",
    "tier_of",
]

Tier = Literal["advised", "papers", "for comparison", "other packages"]
TIERS: dict[Tier, dict[str, str]] = {
    "advised": {
        "bayesian_smooth": "_bayesian_smooth:BayesianSmoothCalibrator",
        "bayesian_structured": "_bayesian_structured:BayesianStructuredCalibrator",
        "identity": "_identity:IdentityCalibrator",
        "temperature": "_temperature:TemperatureCalibrator",
        "logistic": "_logistic:LogisticCalibrator",
        "robust_logistic": "_robust_logistic:RobustLogisticCalibrator",
        "beta": "_beta:BetaCalibrator",
        "group": "_group:GroupCalibrator",
    },
    "papers": {
        "bayesian_isotonic": "_bayesian_isotonic:BayesianIsotonicCalibrator",
        "charcoal_grill": "_charcoal_grill:CharcoalGrillCalibrator",
        "enir": "_enir:ENIRCalibrator",
        "tree": "_tree:TreeCalibrator",
    },
    "for comparison": {
        "abb": "_abb:ABBCalibrator",
        "acp": "_acp:ACPCalibrator",
        "bbq": "_bbq:BBQCalibrator",
        "centered_isotonic": "_centered_isotonic:CenteredIsotonicCalibrator",
        "dirichlet": "_dirichlet:DirichletCalibrator",
        "ensemble_temperature": "_ensemble_temperature:EnsembleTemperatureCalibrator",
        "histogram": "_histogram:HistogramCalibrator",
        "isotonic": "_isotonic:IsotonicCalibrator",
        "kernel": "_kernel:KernelCalibrator",
        "matrix": "_matrix:MatrixCalibrator",
        "one_vs_rest": "_one_vs_rest:OneVsRestCalibrator",
        "quadratic": "_quadratic:QuadraticCalibrator",
        "scaling_binning": "_scaling_binning:ScalingBinningCalibrator",
        "smooth_isotonic": "_smooth_isotonic:SmoothIsotonicCalibrator",
        "spline": "_spline:SplineCalibrator",
        "structured_matrix": "_structured_matrix:StructuredMatrixCalibrator",
        "structured_vector": "_structured_vector:StructuredVectorCalibrator",
        "vector": "_vector:VectorCalibrator",
        "venn_abers": "_venn_abers:VennAbersCalibrator",
    },
}
"""The module and the class of each method of this package, by what it is for.

``"advised"``: the default, and what ``docs/choosing.md`` names a reason for. ``"papers"``: other
methods of the papers that this package is built on. ``"for comparison"``: the rest.
"""
METHODS = {name: place for methods in TIERS.values() for name, place in methods.items()}
OTHER_NAMES = {
    "platt": "logistic",
    "platt_scaling": "logistic",
    "sigmoid": "logistic",
    "binning": "histogram",
    "pava": "isotonic",
    "default": "auto",
}
"""What other libraries and papers call a method."""
LIKE = 0.75
"""Similarity from which an unknown name is one of these, misspelled."""
GROUP = "trueodds.calibrators"


def default_method(n_classes: int, *, has_features: bool = False) -> str:
    """The method with the lowest losses; see ``docs/arena.md`` and ``docs/groups.md``."""
    if has_features:
        return "group"
    return "bayesian_smooth" if n_classes == 2 else "bayesian_structured"


def tier_of(name: str) -> Tier:
    """What a method is for; one of another package counts as such."""
    own = (tier for tier, methods in TIERS.items() if name in methods)
    return next(own, "other packages")


def method_name(class_name: str) -> str:
    """``OneVsRestCalibrator`` → ``one_vs_rest``; ``ENIRCalibrator`` → ``enir``."""
    stem = class_name.removesuffix("Calibrator")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", stem)
    return "_".join(word.lower() for word in words)


@cache
def _foreign() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in METHODS}


def calibrator_names() -> list[str]:
    """The names of all methods, without importing any.

    Examples
    --------
    >>> from trueodds.calibrators import calibrator_names
    >>> "beta" in calibrator_names()
    True
    """
    return sorted([*METHODS, *_foreign()])


def find_calibrator(name: str) -> type[Any]:
    """The class of one method; no other method is imported.

    Parameters
    ----------
    name : str
        Name of a method, one of :func:`calibrator_names`.

    Returns
    -------
    type

    Examples
    --------
    >>> from trueodds.calibrators import find_calibrator
    >>> find_calibrator("beta")
    <class 'trueodds.calibrators._beta.BetaCalibrator'>
    """
    from trueodds.inputs import check_text  # NumPy, which --help must not wait for

    check_text(name, "name")
    kind: type[Any]
    if name in METHODS:
        module, class_name = METHODS[name].split(":")
        kind = getattr(importlib.import_module(f"trueodds.calibrators.{module}"), class_name)
    elif name in _foreign():
        kind = _loaded(_foreign()[name])
    else:
        other = difflib.get_close_matches(name.casefold(), OTHER_NAMES, 1, LIKE)
        meant = OTHER_NAMES[other[0]] if other else name
        hint = suggestion(meant, [meant] if other else calibrator_names(), has="there are")
        raise InputError(f"unknown method {shown(name)}; {hint}")
    return kind


def _loaded(point: EntryPoint) -> type[Any]:
    """The class of another package's method; what is wrong with it is the fault of that package."""
    from trueodds.calibrators._shared.base import Calibrator

    try:
        kind = point.load()
        problem = f"{shown(kind)} is not a subclass of Calibrator"
    except Exception as error:  # another package may raise anything
        kind, problem = None, f"{type(error).__name__}: {error}"
    if isinstance(kind, type) and issubclass(kind, Calibrator):
        return kind
    package = point.dist.name if point.dist else "another package"
    raise PluginError(
        f"the method {shown(point.name)} of {package} ({point.value}) cannot be loaded "
        f"({problem}). Repair or uninstall {package}."
    )


@cache
def _warn_once(message: str) -> None:
    warn_user(message, TrueoddsWarning)


def all_calibrators() -> dict[str, type[Any]]:
    """Return every calibrator by the name of its method, including those of other packages.

    A method of another package that cannot be loaded is left out, with one warning.

    Returns
    -------
    dict of str to type

    Examples
    --------
    >>> from trueodds.calibrators import all_calibrators
    >>> all_calibrators()["beta"]
    <class 'trueodds.calibrators._beta.BetaCalibrator'>
    """
    found: dict[str, type[Any]] = {}
    broken = []
    for name in calibrator_names():
        try:
            found[name] = find_calibrator(name)
        except PluginError as error:
            broken.append(str(error))
    if broken:
        _warn_once(f"left out {len(broken)} methods of other packages: {' '.join(broken)}")
    return found
