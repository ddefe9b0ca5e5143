"""How the models of a calibrated classifier are trained."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _check_method_params

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels
from trueodds.model_selection._early_stopping import (
    EvalSet,
    best_rounds,
    check_eval_set,
    fix_rounds,
    held_out_parameters,
    without_stopping,
)

__all__ = ["Training", "unfitted"]


def unfitted(estimator: Any) -> Any:
    """A copy to train.

    scikit-learn's ``clone`` refuses estimators that copy what they are given, such as CatBoost's
    with ``cat_features``; of these a plain copy does as well.
    """
    try:
        return clone(estimator, safe=False)
    except RuntimeError:
        return copy.deepcopy(estimator)


@dataclass(frozen=True, eq=False)
class Training:
    """The rows, and what the model's ``fit`` is given beside them.

    Parameters
    ----------
    estimator : object
        The model, not to be changed.
    X : {array-like, frame, sparse matrix}
    y : ndarray
    codes : ndarray of int
        Labels as positions among the classes.
    weight : ndarray or None
    fit_params : mapping
        For the model's ``fit``; what has an entry for each row is cut with the rows.
    eval_set : {None, "held_out"}
    """

    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    codes: Labels
    weight: Floats | None
    fit_params: Mapping[str, Any]
    eval_set: EvalSet

    def check(self) -> None:
        """Refuse a request that the model cannot fulfil."""
        check_eval_set(self.eval_set, _last(self.estimator))

    def fit(self, rows: Labels, held_out: Labels) -> Any:
        """A model of some rows, which may look at others to know when to stop."""
        model = unfitted(self.estimator)
        X, y = _safe_indexing(self.X, rows), self.y[rows]
        params = _check_method_params(self.X, self.fit_params, indices=rows)
        if self.eval_set is None:
            return model.fit(X, y, **params)
        # A class that the model does not learn has no place in its loss.
        known = held_out[np.isin(self.codes[held_out], self.codes[rows])]
        weight = None if self.weight is None else self.weight[known]
        X_known = _safe_indexing(self.X, known)
        if not isinstance(model, Pipeline):
            extra = held_out_parameters(model, X_known, self.y[known], weight)
            return model.fit(X, y, **(extra | params))
        own = _params_of_steps(model, params)
        for name, step in model.steps[:-1]:
            if step is not None and step != "passthrough":
                X = step.fit(X, y, **own[name]).transform(X)
                X_known = step.transform(X_known)
        name, last = model.steps[-1]
        extra = held_out_parameters(last, X_known, self.y[known], weight)
        last.fit(X, y, **(extra | own[name]))
        return model

    def fit_all(self, stopped: list[int]) -> Any:
        """A model of all rows; if the folds' models were stopped, after their mean of rounds."""
        model, params = unfitted(self.estimator), dict(self.fit_params)
        if stopped:
            fix_rounds(_last(model), max(1, round(float(np.mean(stopped)))))
            params = without_stopping(params)
        return model.fit(self.X, self.y, **params)

    def rounds(self, model: Any) -> int | None:
        """After how many rounds a fold's model was stopped, if it was."""
        return None if self.eval_set is None else best_rounds(_last(model))


def _last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _params_of_steps(model: Pipeline, params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What each step's ``fit`` is given: as routed, or by names such as ``step__parameter``."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(model, "fit", **params)
        return {
            name: dict(routed[name].get("fit", {}) or routed[name].get("fit_transform", {}))
            for name, _ in model.steps
        }
    found: dict[str, dict[str, Any]] = {name: {} for name, _ in model.steps}
    for key, value in params.items():
        name, _, parameter = key.partition("__")
        if name not in found or not parameter:
            raise InputError(
                f"a pipeline takes parameters of fit as step__parameter, with one of its steps "
                f"{sorted(found)}; got {key!r}."
            )
        found[name][parameter] = value
    return found
