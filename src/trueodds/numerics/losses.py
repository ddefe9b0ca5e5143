"""The logarithmic and the squared loss of forecasts: of each row, and summed.

With one column per class the losses are −ln p_label and Σⱼ (pⱼ − yⱼ)². Probabilities of two classes
are 1-D, of the positive one, whose squared error alone counts: half of the sum over both.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.basics.threads import in_blocks
from trueodds.inputs import Floats, as_codes
from trueodds.kernels.forecast_sums import sum_losses

__all__ = ["Loss", "loss_sum", "of_label", "row_losses"]

Loss = Literal["log_loss", "brier_score"]


def row_losses(loss: Loss, codes: npt.NDArray[Any], prob: Floats) -> Floats:
    """The loss of each row; a log-loss is infinite if the label had probability 0."""
    if loss == "log_loss":
        with np.errstate(divide="ignore"):
            if prob.ndim == 1:
                return np.asarray(0.0 - np.where(codes == 1, np.log(prob), np.log1p(-prob)))
            return np.asarray(0.0 - np.log(of_label(codes, prob)))
    if prob.ndim == 1:
        return np.asarray((prob - codes) ** 2)
    # Σp² + 1 − 2·p_label would cancel for good forecasts.
    label = of_label(codes, prob)
    others = np.einsum("ij,ij->i", prob, prob) - label**2
    return np.asarray(np.maximum(others, 0.0) + (1 - label) ** 2)


def of_label(codes: npt.NDArray[Any], prob: Floats) -> Floats:
    """The probability that each row gives to its label, from one column per class."""
    return np.take_along_axis(prob, codes[:, None], axis=1).ravel()


def loss_sum(loss: Loss, codes: npt.NDArray[Any], prob: Floats, weight: Floats | None) -> float:
    """Σ w·loss; of two classes by a compiled loop."""
    if prob.ndim == 2:
        losses = row_losses(loss, codes, prob)
        return float((losses if weight is None else losses * weight).sum())
    codes = as_codes(codes)

    def part(rows: slice) -> float:
        w = None if weight is None else weight[rows]
        return float(sum_losses(loss == "brier_score", prob[rows], codes[rows], w))

    return sum(in_blocks(part, len(prob)))
