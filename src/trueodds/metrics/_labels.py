"""Metrics of several labels: one result for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from numbers import Real
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    Weights,
    as_names,
    indicator_matrix,
    label_probabilities,
    validate_scores,
)
from trueodds.metrics._evaluation import Evaluation, evaluate_counts
from trueodds.metrics._losses import log_loss
from trueodds.table import ScoreTable

__all__ = ["evaluate_labels", "per_label"]


def per_label(
    y_true: Any, y_prob: Any, metric: Callable[..., Any] = log_loss, **options: Any
) -> Any:
    """A metric or test of each label, for labels that may occur together.

    Parameters
    ----------
    y_true : {array-like, frame, sparse matrix} of shape (n, n_labels)
        Indicator matrix: 1 where a row has the label, 0 where not.
    y_prob : array-like of shape (n, n_labels), or list of n_labels arrays of shape (n, 2)
        Probability of each label. A list is what ``predict_proba`` of scikit-learn's
        ``MultiOutputClassifier`` and of forests returns.
    metric : callable, default=log_loss
        A function of ``(y_true, y_prob, **options)`` for two classes, from
        :mod:`trueodds.metrics` or elsewhere, such as :func:`group_test` and
        :func:`~trueodds.guaranteed_thresholds`.
    **options
        Options of the function, such as ``sample_weight``, ``groups`` or ``n_bins``.

    Returns
    -------
    ndarray of shape (n_labels,), or dict
        Numbers are an array, so that ``.mean()`` is the macro average. Other results are a dict by
        label: the columns of a frame, or 0, 1, ….

    Examples
    --------
    >>> from trueodds.metrics import brier_score, per_label
    >>> y = [[1, 0], [0, 1], [1, 1], [0, 0]]
    >>> p = [[0.9, 0.2], [0.1, 0.6], [0.8, 0.7], [0.2, 0.1]]
    >>> per_label(y, p, brier_score)
    array([0.025, 0.075])
    >>> from trueodds.metrics import calibration_test
    >>> tests = per_label(y, p, calibration_test)
    >>> {label: round(test.p_value, 2) for label, test in tests.items()}
    {0: 0.4, 1: 0.31}
    """
    if not callable(metric):
        raise InputError(f"metric must be a function such as log_loss; got {shown(metric)}.")
    labels = indicator_matrix(y_true, "y_true")
    probabilities = label_probabilities(y_prob, *labels.shape)
    known = {"classes": [0, 1]} if _has_classes(metric) else {}
    found = [
        metric(y, np.ascontiguousarray(p), **(known | options))
        for y, p in zip(labels.T, probabilities.T, strict=True)
    ]
    if all(isinstance(value, Real) for value in found):
        return np.array(found, dtype=np.float64)
    return dict(zip(_names(y_true, labels), found, strict=True))


def _names(y_true: Any, labels: npt.NDArray[Any]) -> tuple[Any, ...]:
    """The columns of a frame, or 0, 1, …."""
    columns = getattr(y_true, "columns", None)
    return tuple(range(labels.shape[1]) if columns is None else columns)


def _has_classes(metric: Callable[..., Any]) -> bool:
    """Whether a metric can be told both classes, for labels that all rows have or lack."""
    return isinstance(metric, FunctionType) and "classes" in signature(metric).parameters


def evaluate_labels(
    y_true: Any,
    y_prob: Any,
    *,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
    counts: Any = None,
    **options: Any,
) -> dict[Any, Evaluation]:
    """Metrics with intervals, reliability curve and tests of each label.

    Parameters
    ----------
    y_true, y_prob
        As in :func:`per_label`.
    names : sequence of str, default=None
        Names of the labels. By default the columns of a frame, or 0, 1, ….
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    **options
        Options of :func:`evaluate_counts`: ``level``, ``n_resamples``, ``n_bins``,
        ``random_state``.

    Returns
    -------
    dict of Evaluation
        One for each label, in the order of the columns. Tests are of each label separately; with
        many labels some p-values are small by chance.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import evaluate_labels
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((2000, 2))
    >>> y = rng.random((2000, 2)) < np.column_stack([p[:, 0], p[:, 1] ** 2])
    >>> found = evaluate_labels(y, p, names=["right", "too high"])
    >>> {name: bool(result.exact_test.p_value < 0.01) for name, result in found.items()}
    {'right': False, 'too high': True}
    """
    labels = indicator_matrix(y_true, "y_true")
    probabilities = label_probabilities(y_prob, *labels.shape)
    keys = _names(y_true, labels) if names is None else tuple(as_names(names, "names"))
    if len(keys) != labels.shape[1] or len(set(keys)) != len(keys):
        raise InputError(
            f"names must be {labels.shape[1]} different names, one for each label; got "
            f"{shown(keys)}."
        )
    weight = Weights.read(sample_weight, counts, len(labels))
    return {
        key: evaluate_counts(_table(y, p, weight), **options)
        for key, y, p in zip(keys, labels.T, probabilities.T, strict=True)
    }


def _table(y: Any, p: Floats, weight: Weights | None) -> ScoreTable:
    prob = validate_scores(p, "probability", n_columns=1)
    return ScoreTable.from_codes(prob, y == 1, weight)
