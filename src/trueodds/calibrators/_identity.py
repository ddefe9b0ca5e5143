"""Leave the scores alone: the method that every other one must beat."""

from __future__ import annotations

from typing import Any

from trueodds.calibrators._base import Calibrator, Promises
from trueodds.evidence import Evidence, LabelSmoothing
from trueodds.maps import CalibrationMap, IdentityMap
from trueodds.validation import Floats, InputScale, Labels

__all__ = ["IdentityCalibrator"]


class IdentityCalibrator(Calibrator):
    """No calibration: probabilities as they are, logits and margins through the softmax.

    Use it as the baseline of a comparison. It learns nothing but the classes.

    Parameters
    ----------
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores.
    label_smoothing : {"platt", None} or float, default=None
        Accepted as by all methods; without effect.
    classes : array-like, default=None
        All labels, if some may be absent from the calibration set.

    Examples
    --------
    >>> from trueodds import IdentityCalibrator
    >>> IdentityCalibrator().fit([0.2, 0.6], ["no", "yes"]).predict_proba([0.9])
    array([[0.1, 0.9]])
    """

    _sorted_table = False

    def __init__(
        self,
        *,
        input: InputScale = "probability",  # noqa: A002
        label_smoothing: LabelSmoothing = None,
        classes: Any = None,
    ) -> None:
        self.input = input
        self.label_smoothing = label_smoothing
        self.classes = classes

    @property
    def promises(self) -> Promises:
        """Monotone; all classes together."""
        return Promises(monotone=True, native_multiclass=True)

    def _fit(self, table: Evidence) -> CalibrationMap:
        return IdentityMap(input=self.input)

    def _fit_multiclass(
        self,
        scores: Floats,
        codes: Labels,
        weight: Floats | None,
        n_classes: int,
    ) -> CalibrationMap:
        return IdentityMap(input=self.input)
