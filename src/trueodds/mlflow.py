"""Calibrated models in MLflow: logged in its default format, with a signature and a report.

MLflow saves scikit-learn models by skops, which reads nothing back but types that it was told to
trust: :func:`trusted_types` lists ours. Nothing of MLflow is loaded before it is used.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Any

from trueodds.basics.imports import require

__all__ = ["log_model", "log_report", "trusted_types"]

SKLEARN_PARTS = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)
"""Parts of scikit-learn's models that skops does not trust unless it is told to."""
HOMES = ("calibrators", "inputs", "maps", "model_selection", "numerics", "rows", "table")
"""Where the types of fitted calibrators and models are defined."""


@cache
def trusted_types() -> tuple[str, ...]:
    """The types that a fitted calibrator or calibrated model may consist of.

    They are those of this library, and the parts of scikit-learn's forests, boosted trees, networks
    and neighbors. They hold numbers, labels and options; making one runs no code from the
    file. Models of other libraries inside have other types, which are not listed.

    Returns
    -------
    tuple of str
        For ``skops.io.load(file, trusted=...)``, and MLflow's ``skops_trusted_types``.

    Notes
    -----
    scikit-learn's compiled trees follow the node numbers of a file without checking them, so a
    forged forest can crash the process that uses it. Load files from sources that you trust, or
    leave out what starts with ``sklearn.``.

    Examples
    --------
    >>> from trueodds.mlflow import trusted_types
    >>> "trueodds.maps._binary.LogOddsMap" in trusted_types()
    True
    """
    found = set()
    for home in HOMES:
        package = importlib.import_module(f"trueodds.{home}")
        inside = pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.")
        modules = [package, *(importlib.import_module(module.name) for module in inside)]
        for module in modules:
            found |= {
                f"{kind.__module__}.{kind.__qualname__}"
                for _, kind in inspect.getmembers(module, inspect.isclass)
                if kind.__module__.startswith("trueodds.")
            }
    return tuple(sorted(found.union(SKLEARN_PARTS)))


def log_model(
    model: Any,
    X: Any,
    *,
    name: str = "model",
    skops_trusted_types: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Log a fitted model to the active run, so that the served model answers with probabilities.

    Parameters
    ----------
    model : CalibratedClassifier, or any model of scikit-learn's kind with one inside
    X : {array, frame}
        Some rows, of which the signature is made.
    name : str, default="model"
    skops_trusted_types : sequence of str, default=()
        Types of other libraries to be trusted next to :func:`trusted_types`, such as LightGBM's.
        MLflow's error lists them.
    **options : dict
        For ``mlflow.sklearn.log_model``.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from trueodds.mlflow import log_model  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_model(model, X_test)  # a fitted CalibratedClassifier, and some rows
    """
    require("mlflow", "logging to MLflow", "mlflow")
    from mlflow.models import infer_signature
    from mlflow.sklearn import log_model as log

    settings = {
        "signature": infer_signature(X, model.predict_proba(X)),
        "pyfunc_predict_fn": "predict_proba",
        "skops_trusted_types": [*trusted_types(), *skops_trusted_types],
    }
    return log(model, name=name, **(settings | options))


def log_report(
    scores: Any, y: Any, *, artifact_file: str = "calibration.html", **options: Any
) -> None:
    """Log a calibration report of held-out scores to the active run, as one HTML page.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        Scores of rows that the model was not trained on.
    y : array-like of shape (n,)
    artifact_file : str, default="calibration.html"
    **options : dict
        For :func:`trueodds.report.build_report`.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from trueodds.mlflow import log_report  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_report(model.predict_proba(X_test), y_test)
    """
    mlflow = require("mlflow", "logging to MLflow", "mlflow")
    from trueodds.report import build_report

    mlflow.log_text(build_report(scores, y, **options).to_html(), artifact_file)
