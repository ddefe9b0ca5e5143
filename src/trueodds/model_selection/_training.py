"""How the models of a calibrated classifier are trained, and stopped early."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object, process_routing
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from trueodds.exceptions import InputError, TrueoddsWarning, warn_user
from trueodds.inputs import Floats, Labels, Weights, check_choice, mass_of

__all__ = [
    "EvalSet",
    "Training",
    "best_rounds",
    "check_eval_set",
    "clone_model",
    "fix_rounds",
    "held_out_parameters",
    "share_parameters",
    "without_stopping",
]


def clone_model(estimator: Any) -> Any:
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
    """The rows, and what else the model's ``fit`` is given.

    Parameters
    ----------
    estimator : object
        The model, not to be changed.
    X : {array-like, frame, sparse matrix}
    y : ndarray
    codes : ndarray of int
        Labels as positions among the classes.
    weight : Weights or None
        As given: importances on the scale of the caller, and counts.
    fit_params : mapping
        For the model's ``fit``; what has an entry for each row is cut with the rows.
    eval_set : {None, "held_out"}
    """

    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    codes: Labels
    weight: Weights | None
    fit_params: Mapping[str, Any]
    eval_set: EvalSet

    def check(self) -> None:
        """Refuse a request that the model cannot fulfill."""
        check_eval_set(self.eval_set, _last(self.estimator))

    def fit(self, rows: Labels, held_out: Labels) -> Any:
        """A model of some rows, which may look at others to know when to stop."""
        model = clone_model(self.estimator)
        rows = self._repeated(rows)
        X, y = _safe_indexing(self.X, rows), self.y[rows]
        params = _check_method_params(self.X, self.fit_params, indices=rows)
        if self.eval_set is None:
            return model.fit(X, y, **params)
        # A class that the model does not learn has no place in its loss.
        known = held_out[np.isin(self.codes[held_out], self.codes[rows])]
        weight = mass_of(self.weight_of(known))
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
        model, params = clone_model(self.estimator), dict(self.fit_params)
        if stopped:
            fix_rounds(_last(model), max(1, round(float(np.mean(stopped)))))
            params = without_stopping(params)
        every = np.arange(len(self.y))
        rows = self._repeated(every)
        if rows is every:
            return model.fit(self.X, self.y, **params)
        params = _check_method_params(self.X, params, indices=rows)
        return model.fit(_safe_indexing(self.X, rows), self.y[rows], **params)

    def weight_of(self, rows: Labels) -> Weights | None:
        """The weights of some rows."""
        return None if self.weight is None else self.weight.take(rows)

    def _repeated(self, rows: Labels) -> Labels:
        """Each row as often as it occurred: models take no counts."""
        if self.weight is None or self.weight.count is None:
            return rows
        count = self.weight.count[rows]
        if count.sum() > MOST_COPIES:
            raise InputError(
                f"a model is trained on at most {MOST_COPIES:,} copies of rows; counts sum to "
                f"{count.sum():,.0f}. Train it yourself and calibrate its scores with counts=."
            )
        return np.repeat(rows, count.astype(np.intp))

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


MOST_COPIES = 100_000_000
"""Rows that a model may be trained on, counts included."""

EvalSet = Literal["held_out"] | None

ROUNDS = ("iterations", "num_boost_round", "num_trees", "num_iterations", "n_estimators")
PATIENCE = ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change")
STOPPERS = ("_EarlyStoppingCallback", "EarlyStopping")
"""Callbacks of LightGBM and XGBoost that need rows to stop by."""


def check_eval_set(eval_set: Any, model: Any) -> None:
    """Refuse an unknown request, and a model that cannot stop early."""
    if eval_set is None:
        return
    check_choice(eval_set, ("held_out",), "eval_set")
    if not has_fit_parameter(model, "eval_set"):
        raise InputError(
            f"eval_set='held_out' needs a model whose fit takes eval_set, such as those of "
            f"LightGBM, XGBoost and CatBoost, alone or last in a pipeline; "
            f"{type(model).__name__}.fit takes none."
        )


def held_out_parameters(model: Any, X: Any, y: Any, weight: Floats | None) -> dict[str, Any]:
    """What ``fit`` is to be given so that the model stops by these rows."""
    found: dict[str, Any] = {"eval_set": [(X, y)]}
    if has_fit_parameter(model, "eval_X"):  # newer versions of LightGBM warn of eval_set
        found = {"eval_X": (X,), "eval_y": (y,)}
    if has_fit_parameter(model, "sample_weight_eval_set"):  # XGBoost, which prints every round
        found["verbose"] = False
        if weight is not None:
            found["sample_weight_eval_set"] = [weight]
    elif weight is not None:
        if has_fit_parameter(model, "eval_sample_weight"):
            found["eval_sample_weight"] = [weight]
        elif "catboost" in sys.modules and hasattr(model, "get_cat_feature_indices"):
            options = model.get_params()
            kinds = {name: options.get(name) for name in ("cat_features", "text_features")}
            pool = sys.modules["catboost"].Pool(X, y, weight=weight, **kinds)
            found["eval_set"] = pool
    return found


def best_rounds(model: Any) -> int | None:
    """How many rounds a model kept; None if it was not stopped by anything."""
    if hasattr(model, "tree_count_"):  # CatBoost, which drops the rounds after the best
        return int(model.tree_count_)
    if getattr(model, "best_iteration_", None):  # LightGBM
        return int(model.best_iteration_)
    if hasattr(model, "best_iteration"):  # XGBoost counts from 0
        return int(model.best_iteration) + 1
    return None


def fix_rounds(model: Any, rounds: int) -> None:
    """Train this many rounds, whatever the model's options for stopping."""
    options = model.get_params()
    changed: dict[str, Any] = {next(name for name in ROUNDS if name in options): rounds}
    changed |= {name: None for name in PATIENCE if options.get(name) is not None}
    if options.get("callbacks"):
        changed["callbacks"] = _without_stoppers(options["callbacks"])
    model.set_params(**changed)


def without_stopping(fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of the parameters of ``fit`` for a model that is not to stop early."""
    kept: dict[str, Any] = {}
    for key, value in fit_params.items():
        name = key.rpartition("__")[2]  # of a step of a pipeline
        if name == "callbacks":
            kept[key] = _without_stoppers(value or [])
        elif name not in PATIENCE:
            kept[key] = value
    return kept


def _without_stoppers(callbacks: Any) -> list[Any]:
    return [callback for callback in callbacks if type(callback).__name__ not in STOPPERS]


def share_parameters(
    owner: Any, weight: Weights | None, fit_params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters for the ``fit`` of the owner's model, and for ``split`` of its folds.

    With scikit-learn's metadata routing as requested. Without it ``groups`` are the splitter's,
    importances the model's if it takes them, and the model is given all the rest.
    """
    given = None if weight is None else weight.importance
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", sample_weight=given, **fit_params)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    for_model = dict(fit_params)
    for_splitter = {"groups": for_model.pop("groups")} if "groups" in for_model else {}
    if given is not None and _wants_weights(owner.estimator):
        for_model["sample_weight"] = given
    return for_model, for_splitter


def _wants_weights(model: Any) -> bool:
    """Whether ``fit`` takes sample weights and the user has not turned them off."""
    if isinstance(model, FrozenEstimator):
        return False
    if not has_fit_parameter(model, "sample_weight"):
        warn_user(
            f"{type(model).__name__}.fit takes no sample_weight; weights are used for "
            "calibration only.",
            TrueoddsWarning,
        )
        return False
    routing = get_routing_for_object(model)
    if not isinstance(routing, MetadataRequest):
        return True
    return routing.fit.requests.get("sample_weight") is not False
