"""Early stopping of boosted trees: a fold's held-out rows as the model's ``eval_set``.

LightGBM, XGBoost and CatBoost take rows to stop by in ``fit``, each with weights in its own way,
and say afterwards how many rounds were best. None of them is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

from sklearn.utils.validation import has_fit_parameter

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_choice

__all__ = [
    "EvalSet",
    "best_rounds",
    "check_eval_set",
    "fix_rounds",
    "held_out_parameters",
    "without_stopping",
]

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
    """Train so many rounds, whatever the model was told about stopping."""
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
