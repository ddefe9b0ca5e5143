"""Who takes part: our calibrators by their names, probmetrics' by those of CalArena, prototypes.

A method is called ``library/name``, with options if there are any: ``trueodds/beta``,
``trueodds/beta(label_smoothing="platt")``, ``probmetrics/SMS``. ``trueodds/identity`` is the base
model.
"""

from __future__ import annotations

import ast
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

BASE = "trueodds/identity"
DEFAULT = "trueodds/auto"
NOT_CALIBRATORS_OF_SCORES = ("group", "one_vs_rest", "tree")  # a wrapper, and what needs features
BOOSTED = ("XGBoost", "LightGBM", "CatBoost")

Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray], Predict]


@dataclass(frozen=True)
class Forecast:
    """Probabilities of all classes for the rows of the test, and the CPU seconds they took."""

    probabilities: np.ndarray
    fit_seconds: float
    predict_seconds: float


Method = Callable[[np.ndarray, np.ndarray, np.ndarray], Forecast]


def timed(fit: Fit) -> Method:
    """A method of something that is fitted and then predicts."""

    def method(p_cal: np.ndarray, y_cal: np.ndarray, p_test: np.ndarray) -> Forecast:
        start = time.process_time()
        predict = fit(p_cal, y_cal)
        fitted = time.process_time()
        probabilities = predict(p_test)
        return Forecast(probabilities, fitted - start, time.process_time() - fitted)

    return method


def method_names(kind: str, *, boosted: bool = False, prototypes: Path | None = None) -> list[str]:
    """Everyone who takes part in experiments of a kind, the base model first."""
    from trueodds.calibrators import calibrator_names

    ours = [name for name in calibrator_names() if name not in NOT_CALIBRATORS_OF_SCORES]
    ours = sorted({*ours, "auto"} - {"identity"})
    theirs = [name for name in _probmetrics(kind) if boosted or name not in BOOSTED]
    trials = [] if prototypes is None else list(PROTOTYPES[kind])
    return [
        BASE,
        *(f"trueodds/{name}" for name in ours),
        *(f"probmetrics/{name}" for name in theirs),
        *(f"prototype/{name}" for name in trials),
    ]


def select(patterns: list[str], names: list[str]) -> list[str]:
    """Names that match any pattern, with or without their library; and names with options."""
    found = []
    for pattern in patterns:
        plain = pattern.partition("(")[0]
        matching = [n for n in names if fnmatchcase(n, plain) or n.partition("/")[2] == plain]
        if plain != pattern:
            matching = [name + pattern.removeprefix(plain) for name in matching]
        found += [name for name in matching if name not in found]
    return found


def make_method(name: str, kind: str, prototypes: Path | None = None) -> Method:
    """The method of this name; an ImportError names what is not installed."""
    library, _, call = name.partition("/")
    plain, _, options = call.partition("(")
    keywords = _literals(f"({options}" if options else "()")
    if library == "trueodds":
        return _ours(plain, keywords)
    if library == "probmetrics":
        return _theirs(_probmetrics(kind)[plain])
    if library == "prototype" and prototypes is not None:
        return PROTOTYPES[kind][plain](prototypes)
    raise ValueError(f"no method is named {name!r} (prototypes need --prototypes FOLDER).")


def _literals(arguments: str) -> dict[str, Any]:
    call = ast.parse(f"f{arguments}", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(item.arg): ast.literal_eval(item.value) for item in call.keywords}


def _ours(name: str, options: dict[str, Any]) -> Method:
    if name == "auto":
        from trueodds import AutoCalibrator as Kind
    else:
        from trueodds.calibrators import find_calibrator

        Kind = find_calibrator(name)
    return timed(lambda p, y: Kind(**options).fit(p, y).predict_proba)


def _theirs(make: Callable[[Any], Any]) -> Method:
    import torch
    from probmetrics import calibrators

    torch.set_num_threads(1)
    make(calibrators)  # which says what is not installed

    def fit(p: np.ndarray, y: np.ndarray) -> Predict:
        fitted = make(calibrators)
        fitted.fit(p, y)
        return fitted.predict_proba

    return timed(fit)


def _probmetrics(kind: str) -> dict[str, Callable[[Any], Any]]:
    """CalArena's methods, by its names and with its options; ``c`` is probmetrics.calibrators."""
    shared: dict[str, Callable[[Any], Any]] = {
        "BBQ": lambda c: c.NetcalBBQCalibrator(),
        "Isotonic": lambda c: c.SklearnCalibrator(method="isotonic", cv="prefit"),
        "TS": lambda c: c.TemperatureScalingCalibrator(),
        "ETS": lambda c: c.ETSCalibrator(),
        "Spline": lambda c: c.MLISplineCalibrator(),
        "Kernel": lambda c: c.KernelCalibrator(),
        "LightGBM": lambda c: c.LightGBMCalibrator(),
        "XGBoost": lambda c: c.XGBoostCalibrator(),
        "CatBoost": lambda c: c.CatBoostCalibrator(),
    }
    if kind == "binary":
        return {
            "Platt-logits": lambda c: c.BinaryLogisticCalibrator(type="affine"),
            "Platt-probs": lambda c: c.SklearnCalibrator(method="sigmoid", cv="prefit"),
            "Quadratic": lambda c: c.BinaryLogisticCalibrator(type="quadratic"),
            "Beta": lambda c: c.BetacalCalibrator(),
            "CDF-Spline": lambda c: c.CDFSplineCalibrator(),
            "CIR": lambda c: c.CenteredIsotonicRegressionCalibrator(),
            "Venn-Abers": lambda c: c.BinaryVennAbersCalibrator(),
            "Hist-uniform": lambda c: c.BinaryHistogramBinningCalibrator(strategy="uniform"),
            "Hist-quantile": lambda c: c.BinaryHistogramBinningCalibrator(strategy="quantile"),
            "Scaling-Binning": lambda c: c.BinaryPlattBinnerCalibrator(),
            **shared,
        }

    def each(c: Any, binary: Any) -> Any:
        return c.MulticlassOneVsRestCalibrator(binary)

    return {
        "VS": lambda c: c.VectorScalingCalibrator(),
        "SVS": lambda c: c.SVSCalibrator(print_init_info=False),
        "SMS": lambda c: c.SMSCalibrator(print_init_info=False),
        "MS": lambda c: c.MatrixScalingCalibrator(),
        "Dirichlet": lambda c: c.DirichletCalibrator(n_cv=0, reg_lambda=1e-3, reg_mu=1e-3),
        "Venn-Abers": lambda c: c.VennAbersCalibrator(),
        "CIR": lambda c: each(c, c.CenteredIsotonicRegressionCalibrator()),
        "Hist-uniform": lambda c: each(c, c.BinaryHistogramBinningCalibrator(strategy="uniform")),
        "Hist-quantile": lambda c: each(c, c.BinaryHistogramBinningCalibrator(strategy="quantile")),
        **shared,
    }


def _module(folder: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _smooth_prototype(folder: Path) -> Method:
    module = _module(folder, "bayes_smooth")
    return timed(lambda p, y: module.BayesSmooth().fit(p, y).predict)


def _structured_prototype(folder: Path) -> Method:
    module = _module(folder, "bayes_structured")

    def method(p_cal: np.ndarray, y_cal: np.ndarray, p_test: np.ndarray) -> Forecast:
        p_cal, p_test = np.asarray(p_cal, float), np.asarray(p_test, float)
        start = time.process_time()
        members, evidence, _ = module.members(p_cal, y_cal, p_test)
        used = [name for name in members if name != "r"]
        probabilities, _ = module.comb(members, evidence, used, 3.0)
        return Forecast(probabilities, time.process_time() - start, 0.0)

    return method


PROTOTYPES: dict[str, dict[str, Callable[[Path], Method]]] = {
    "binary": {"bayes_smooth": _smooth_prototype},
    "multiclass": {"bayes_structured": _structured_prototype},
}
