"""The door of all metrics: labels, probabilities and weights, and how classes become binary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    Labels,
    as_dense,
    check_choice,
    encode_labels,
    is_label,
)
from trueodds.rows import Rows

__all__ = [
    "TOP_LABEL",
    "Event",
    "Forecasts",
    "Multiclass",
    "binary_views",
    "event_of",
    "event_view",
    "finite_or_none",
    "read_sample",
]

TOP_LABEL = -1
"""Stands for the event that the most probable class is the true one."""

Multiclass = Literal["top_label", "classwise", "pooled"]


class Forecasts(Rows):
    """Validated rows whose scores are probabilities; rows of weight zero are left out."""

    @property
    def prob(self) -> Floats:
        """1-D and of the positive class with two classes; otherwise one column per class."""
        return self.scores

    def mean(self, values: Floats) -> float:
        """The weighted mean of one value per row."""
        if self.weight is None:
            return float(values.sum()) / len(values)
        # Weight 0 drops rows at the door, so an infinite value stays infinite here.
        return float((values * self.weight).sum() / self.weight.sum())

    def columns(self) -> Floats:
        """Probabilities with one column per class, also for two."""
        return self.prob if self.prob.ndim == 2 else np.stack([1 - self.prob, self.prob], axis=1)


@dataclass(frozen=True, eq=False)
class Event:
    """Probabilities of an event, whether it happened (bool, or 0 and 1), and weights."""

    prob: Floats
    hit: npt.NDArray[Any]
    weight: Floats | None

    def __len__(self) -> int:
        return len(self.prob)

    @property
    def total(self) -> float:
        """Weight of everything."""
        return float(len(self.prob)) if self.weight is None else float(self.weight.sum())

    @property
    def n_effective(self) -> float | None:
        """(Σw)²/Σw², the rows that importance weights are worth; None without weights."""
        if self.weight is None:
            return None
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())


def read_sample(
    y_true: Any, y_prob: Any, sample_weight: Any = None, classes: Any = None
) -> Forecasts:
    """Validate labels, probabilities and weights together."""
    return Forecasts.read(
        y_prob, y_true, sample_weight, scale="probability", classes=classes, words=METRIC_WORDS
    ).of_positive_weight()


def event_of(
    prob: Floats, codes: Labels, weight: Floats | None, of_class: int = TOP_LABEL
) -> Event:
    """The positive class; or one of several classes; or that the most probable one is right."""
    if prob.ndim == 1:
        return Event(prob, codes == 1, weight)
    if of_class != TOP_LABEL:
        return Event(np.ascontiguousarray(prob[:, of_class]), codes == of_class, weight)
    top = prob.argmax(axis=1)
    confidence = np.take_along_axis(prob, top[:, None], axis=1).ravel()
    # Rounding of a row's sum may leave 1 + 2e-16.
    return Event(np.minimum(confidence, 1.0), top == codes, weight)


def binary_views(sample: Forecasts, multiclass: Multiclass) -> list[Event]:
    """Reduce several classes to binary problems; two classes are one problem already."""
    check_choice(multiclass, ("top_label", "classwise", "pooled"), "multiclass")
    prob, codes, weight = sample.prob, sample.codes, sample.weight
    if prob.ndim == 1:
        return [Event(prob, codes, weight)]
    if multiclass == "top_label":
        return [event_of(prob, codes, weight)]
    if multiclass == "classwise":
        return [event_of(prob, codes, weight, k) for k in range(sample.n_classes)]
    hit = (codes[:, None] == np.arange(sample.n_classes)).ravel()
    repeated = None if weight is None else np.repeat(weight, sample.n_classes)
    return [Event(prob.ravel(), hit, repeated)]


def event_view(
    y_true: Any, y_prob: Any, sample_weight: Any, classes: Any, multiclass: Any, pos_label: Any
) -> tuple[Event, str]:
    """The event that a curve is of, and its name; see :func:`reliability_curve`."""
    if pos_label is not None and classes is None:
        labels = encode_labels(y_true)[1]
        classes = labels if len(labels) == 2 else None  # sorted; pos_label settles any doubt
    sample = read_sample(y_true, y_prob, sample_weight, classes)
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
        return Event(column, sample.codes == own, sample.weight), f"class {pos_label}"
    view = binary_views(sample, multiclass)[0]
    if sample.prob.ndim == 1:
        return view, "positive class"
    return view, "most probable class" if multiclass == "top_label" else "every class"


def finite_or_none(value: float) -> float | None:
    """A number for JSON, which knows no infinity and no NaN."""
    return value if math.isfinite(value) else None
