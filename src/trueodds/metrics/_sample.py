"""The door of all metrics: labels, probabilities and weights, and how classes become binary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.numerics.log_odds import positive_column
from trueodds.validation import (
    Floats,
    Labels,
    check_choice,
    encode_labels,
    validate_scores,
    validate_weights,
)

__all__ = ["BinaryView", "Multiclass", "Sample", "binary_views", "check_count", "read_sample"]

Multiclass = Literal["top_label", "classwise", "pooled"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Validated labels (coded 0 … k−1), probabilities and weights.

    With two classes ``prob`` is 1-D and of the positive class; otherwise one column per class.
    Rows of weight zero are left out.
    """

    codes: Labels
    prob: Floats
    weight: Floats | None
    classes: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return 2 if self.prob.ndim == 1 else self.prob.shape[1]

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
class BinaryView:
    """Probabilities of an event, whether it happened (bool, or 0 and 1), and weights."""

    prob: Floats
    hit: npt.NDArray[Any]
    weight: Floats | None

    @property
    def total(self) -> float:
        """Weight of everything."""
        return float(len(self.prob)) if self.weight is None else float(self.weight.sum())


def read_sample(y_true: Any, y_prob: Any, sample_weight: Any = None, classes: Any = None) -> Sample:
    """Validate labels, probabilities and weights together."""
    try:
        prob = validate_scores(y_prob, "probability")
    except InputError as error:
        # The door is shared with calibrators, which call them scores and can be told the scale.
        message = str(error).partition(" If the")[0].replace("scores", "y_prob")
        raise InputError(message) from None
    columns = 2 if prob.ndim == 1 else prob.shape[1]
    codes, found = _coded(y_true, classes, columns)
    if len(codes) != len(prob):
        raise InputError(f"y_true and y_prob differ in length: {len(codes)} and {len(prob)}.")
    weight = validate_weights(sample_weight, len(prob))
    if prob.ndim == 2 and columns == 2:
        prob = positive_column(prob, "probability")
    if weight is not None and not weight.all():
        kept = weight > 0
        codes, prob, weight = codes[kept], prob[kept], weight[kept]
    return Sample(codes, prob, weight, found)


def _coded(y_true: Any, classes: Any, columns: int) -> tuple[Labels, npt.NDArray[Any]]:
    codes, found = encode_labels(y_true, classes)
    if len(found) == columns:
        return codes, found
    if columns == 2 and len(found) == 1 and found.dtype.kind in "biuf" and found[0] in (0, 1):
        # Only zeros or only ones: there is no doubt which of the two classes it is.
        return codes + int(found[0]), np.array([0, 1])
    hint = " Pass classes= to name the absent ones." if len(found) < columns else ""
    raise InputError(
        f"y_prob has {columns} columns (1-D counts as 2), but y_true has {len(found)} "
        f"classes.{hint}"
    )


def binary_views(sample: Sample, multiclass: Multiclass) -> list[BinaryView]:
    """Reduce several classes to binary problems; two classes are one problem already."""
    check_choice(multiclass, ("top_label", "classwise", "pooled"), "multiclass")
    prob, codes, weight = sample.prob, sample.codes, sample.weight
    if prob.ndim == 1:
        return [BinaryView(prob, codes, weight)]
    if multiclass == "top_label":
        top = prob.argmax(axis=1)
        confidence = np.take_along_axis(prob, top[:, None], axis=1).ravel()
        return [BinaryView(confidence, top == codes, weight)]
    if multiclass == "classwise":
        return [
            BinaryView(np.ascontiguousarray(prob[:, k]), codes == k, weight)
            for k in range(sample.n_classes)
        ]
    hit = (codes[:, None] == np.arange(sample.n_classes)).ravel()
    repeated = None if weight is None else np.repeat(weight, sample.n_classes)
    return [BinaryView(prob.ravel(), hit, repeated)]


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Refuse anything but a whole number of at least ``least``."""
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < least:
        raise InputError(f"{name} must be an integer of at least {least}; got {value!r}.")
    return int(value)
