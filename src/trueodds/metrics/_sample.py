"""The entry point of all metrics: labels, probabilities, weights, and classes as binary events."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    Weights,
    as_dense,
    check_choice,
    encode_labels,
    is_label,
)
from trueodds.rows import Rows

__all__ = [
    "TOP_LABEL",
    "Forecasts",
    "Multiclass",
    "binary_views",
    "event_of",
    "event_view",
    "finite_or_none",
    "read_kept",
    "read_sample",
    "read_two_classes",
    "top_label",
]

TOP_LABEL = -1
"""Stands for the event that the most probable class is the true one."""

Multiclass = Literal["top_label", "classwise", "pooled"]


class Forecasts(Rows):
    """Rows whose scores are probabilities; none has a weight of zero.

    With two classes they are also the probabilities of an event and whether it happened; see
    :func:`binary_views` for the events of several classes.
    """

    @property
    def prob(self) -> Floats:
        """1-D and of the positive class with two classes; otherwise one column per class."""
        return self.scores

    @cached_property
    def hit(self) -> npt.NDArray[np.bool_]:
        """Whether the event happened in each row (two classes)."""
        return self.codes.astype(bool, copy=False)

    @property
    def n_rows(self) -> int:
        """The number of rows, repetitions included."""
        return len(self) if self.weight is None else int(self.weight.row_counts.sum())

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that they are worth."""
        return float(len(self)) if self.weight is None else self.weight.effective

    @property
    def squares(self) -> Floats:
        """The weight of each row in the variance of a sum."""
        return np.ones(len(self)) if self.weight is None else self.weight.squares

    def times(self, kept: npt.NDArray[np.intp], n_rows: int) -> Floats:
        """How often each of ``n_rows`` given rows occurs, if these are ``kept`` of them."""
        times = np.zeros(n_rows)
        times[kept] = 1.0 if self.row_counts is None else self.row_counts
        return times

    @property
    def residual(self) -> Floats:
        """w·(p − y) of each row (two classes)."""
        return (self.prob - self.hit) * self.row_weight

    def mean(self, values: npt.NDArray[Any]) -> float:
        """The weighted mean of one value per row."""
        if self.weight is None:  # ones would be made and multiplied for nothing
            return float(values.sum()) / len(values)
        # No weight is 0, so an infinite value stays infinite here.
        return float((values * self.row_weight).sum()) / self.total

    def columns(self) -> Floats:
        """Probabilities with one column per class, also for two."""
        return self.prob if self.prob.ndim == 2 else np.stack([1 - self.prob, self.prob], axis=1)


def read_kept(
    y_true: Any, y_prob: Any, sample_weight: Any = None, counts: Any = None, classes: Any = None
) -> tuple[Forecasts, npt.NDArray[np.intp]]:
    """Validate labels, probabilities and weights together.

    Returns
    -------
    sample : Forecasts
        The rows of positive weight.
    kept : ndarray of int
        Their places among the rows given.
    """
    given = Forecasts.read(
        y_prob,
        y_true,
        sample_weight,
        counts,
        scale="probability",
        classes=classes,
        words=METRIC_WORDS,
    )
    kept = np.arange(len(given)) if given.mass is None else np.flatnonzero(given.mass)
    return given.of_positive_weight(), kept


def read_sample(
    y_true: Any, y_prob: Any, sample_weight: Any = None, counts: Any = None, classes: Any = None
) -> Forecasts:
    """As :func:`read_kept`, the rows alone."""
    return read_kept(y_true, y_prob, sample_weight, counts, classes)[0]


def read_two_classes(
    y_true: Any, y_prob: Any, sample_weight: Any, counts: Any, classes: Any
) -> Forecasts:
    """As :func:`read_sample`, refusing more than two classes."""
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    if sample.prob.ndim != 1:
        raise InputError(
            f"y_prob must be of two classes; got {sample.prob.shape[1]} columns. Take one class "
            "against the rest: (y_true == label, y_prob[:, k])."
        )
    return sample


def event_of(
    prob: Floats, codes: npt.NDArray[Any], weight: Weights | None, of_class: int = TOP_LABEL
) -> Forecasts:
    """The positive class; or one of several classes; or that the most probable one is right."""
    if prob.ndim == 1:
        return Forecasts(prob, codes, weight)
    if of_class != TOP_LABEL:
        return Forecasts(np.ascontiguousarray(prob[:, of_class]), codes == of_class, weight)
    top = prob.argmax(axis=1)
    confidence = np.take_along_axis(prob, top[:, None], axis=1).ravel()
    # Rounding of a row's sum may leave 1 + 2e-16.
    return Forecasts(np.minimum(confidence, 1.0), top == codes, weight)


def top_label(sample: Forecasts) -> Forecasts:
    """The event that the most probable class is the true one; the positive class of two."""
    return event_of(sample.prob, sample.codes, sample.weight)


def binary_views(sample: Forecasts, multiclass: Multiclass) -> list[Forecasts]:
    """Reduce several classes to events; two classes are one already."""
    check_choice(multiclass, ("top_label", "classwise", "pooled"), "multiclass")
    prob, codes, weight = sample.prob, sample.codes, sample.weight
    if prob.ndim == 1:
        return [sample]
    if multiclass == "top_label":
        return [top_label(sample)]
    if multiclass == "classwise":
        return [event_of(prob, codes, weight, k) for k in range(sample.n_classes)]
    hit = (codes[:, None] == np.arange(sample.n_classes)).ravel()
    if weight is not None:
        weight = weight.take(np.repeat(np.arange(len(sample)), sample.n_classes))
    return [Forecasts(prob.ravel(), hit, weight)]


def event_view(
    y_true: Any,
    y_prob: Any,
    sample_weight: Any,
    counts: Any,
    classes: Any,
    multiclass: Any,
    pos_label: Any,
) -> tuple[Forecasts, str]:
    """The event that a curve is of, and its name; see :func:`reliability_curve`."""
    if pos_label is not None and classes is None:
        labels = encode_labels(y_true)[1]
        classes = labels if len(labels) == 2 else None  # sorted; pos_label settles any doubt
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    if pos_label is not None:
        found = np.flatnonzero(is_label(sample.classes, pos_label))
        if len(found) != 1:
            raise InputError(
                f"pos_label {shown(pos_label)} is not one of {sample.classes.tolist()}."
            )
        own = int(found[0])
        # A single column is that of pos_label; two are those of the sorted classes.
        given = as_dense(y_prob, "y_prob").shape
        if len(given) == 1 or given[1] == 1:
            column = sample.prob
        else:
            column = np.ascontiguousarray(sample.columns()[:, own])
        return Forecasts(column, sample.codes == own, sample.weight), f"class {pos_label}"
    view = binary_views(sample, multiclass)[0]
    if sample.prob.ndim == 1:
        return view, "positive class"
    return view, "most probable class" if multiclass == "top_label" else "every class"


def finite_or_none(value: float) -> float | None:
    """A number for JSON, which has no infinity and no NaN."""
    return value if math.isfinite(value) else None
