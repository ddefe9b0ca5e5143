"""Which of a model's outputs is calibrated, and on which scale it is."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, as_dense, check_choice

__all__ = ["ResponseMethod", "choose_response", "response_of"]

ResponseMethod = Literal["auto", "predict_proba", "decision_function"]


def choose_response(
    estimator: Any, calibrator: Any, response_method: ResponseMethod
) -> tuple[str, InputScale]:
    """Name the method to call and the scale of what it returns.

    Probabilities are probabilities. The values of a decision function are margins, unless the
    calibrator was made with ``input="logit"``: then its maker knows that they are log-odds.
    """
    check_choice(response_method, ("auto", "predict_proba", "decision_function"), "response_method")
    wanted: InputScale = getattr(calibrator, "input", "probability")
    if response_method == "auto":
        order = ["predict_proba", "decision_function"]
        if wanted != "probability":
            order.reverse()
        available = [name for name in order if hasattr(estimator, name)]
        if not available:
            raise InputError(
                f"{type(estimator).__name__} has neither predict_proba nor decision_function."
            )
        response_method = (
            "predict_proba" if available[0] == "predict_proba" else "decision_function"
        )
    elif not hasattr(estimator, response_method):
        raise InputError(f"{type(estimator).__name__} has no {response_method}.")
    if response_method == "predict_proba":
        return response_method, "probability"
    return response_method, "logit" if wanted == "logit" else "score"


def response_of(estimator: Any, X: Any, method: str, n_classes: int) -> Floats:
    """The scores: 1-D for two classes, one column per class for more."""
    output = np.asarray(as_dense(getattr(estimator, method)(X), method), dtype=np.float64)
    if n_classes == 2:
        return np.ascontiguousarray(output[:, 1]) if output.ndim == 2 else output
    if output.ndim != 2 or output.shape[1] != n_classes:
        raise InputError(
            f"{type(estimator).__name__}.{method} gives shape {output.shape} for {n_classes} "
            "classes; one column per class is needed."
        )
    return output
