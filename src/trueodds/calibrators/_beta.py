"""Beta calibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.estimator import fact
from trueodds.inputs import check_choice
from trueodds.maps import CalibrationMap
from trueodds.numerics.logistic_regression import Design
from trueodds.rows import Rows

__all__ = ["BetaCalibrator"]

DESIGNS: dict[str, Design] = {"abm": "beta", "am": "logistic", "ab": "beta_half"}


@dataclass(kw_only=True, eq=False, repr=False)
class BetaCalibrator(Calibrator):
    """Beta calibration: σ(a·ln s − b·ln(1−s) + c), which bends each end of the scale separately.

    Use it if you need a formula with few parameters for scores in [0, 1]. It contains the identity,
    sigmoids and inverse sigmoids. It cannot represent more than one bend at each end.

    Parameters
    ----------
    parameters : {"abm", "am", "ab"}, default="abm"
        Free parameters: all three; a = b (logistic calibration of the log-odds); or the midpoint m
        fixed at 0.5.
    monotone : {"auto", True, False}, default="auto"
        Whether a, b ≥ 0 is enforced, as section 3.3 of the paper proposes: a negative coefficient
        is eliminated and the rest fitted again, until none is left. ``"auto"`` enforces it for
        ``"abm"`` and ``"am"``, the paper's two algorithms. It leaves ``"ab"`` free, as the authors'
        program does: without a constant, eliminating a coefficient distorts the rest.
    loss : {"log", "brier"}, default="log"
        Loss that the parameters minimize: log-loss, which is maximum likelihood, or the Brier
        score, which the paper proposes as future work. The squared error limits the cost of a very
        wrong prediction, so ``"brier"`` follows the bulk of the rows and both ends of the scale
        less closely.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; raw scores (``"raw"``) are treated as log-odds.

    Attributes
    ----------
    map_ : LogOddsMap
        The map with the paper's a, b and c. The midpoint m solves c = b·ln(1−m) − a·ln m.

    Notes
    -----
    It differs from the authors' program in three ways. The likelihood is maximized to the last
    digit. Elimination continues until a, b ≥ 0 holds; theirs checks once. Scores of exactly 0 and 1
    are placed on the log-odds axis by maximum likelihood; theirs are clipped at 2.2e-16, which
    decides the fit. If the fitted rows have none, prediction replaces them by 2.2e-16 and 1 −
    2.2e-16. Cost: a few passes over the scores, no sorting.

    The Brier score is not convex in the parameters. ``loss="brier"`` descends from the maximum of
    the likelihood, and is never worse than that on the rows it is fitted to. If scores nearly
    separate the classes, the best slope is infinite; Platt's targets are then used, with a warning.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers, AISTATS. Algorithms 1 and 2.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95], [0, 0, 1, 1, 0, 1]
    >>> BetaCalibrator().fit(scores, y).predict_proba([0.9]).round(3)
    array([[0.298, 0.702]])
    """

    title = "beta calibration"
    complexity = 30
    compared = (2, 20)

    parameters: Literal["abm", "am", "ab"] = field(default="abm", kw_only=False)
    monotone: Literal["auto"] | bool = "auto"
    loss: Literal["log", "brier"] = "log"

    @fact
    def is_monotone(self) -> bool:
        """Monotone if a, b ≥ 0 is enforced."""
        return self.parameters != "ab" if self.monotone == "auto" else bool(self.monotone)

    def _check_options(self) -> None:
        check_choice(self.parameters, tuple(DESIGNS), "parameters")
        check_choice(self.monotone, ("auto", True, False), "monotone")
        check_choice(self.loss, ("log", "brier"), "loss")

    def _counts_by_class(self) -> bool:
        return self.parameters != "ab" and self.loss == "log"

    def _fit(self, rows: Rows) -> CalibrationMap:
        design = DESIGNS[self.parameters]
        return fit_log_odds_map(
            rows, self.scale, design, nonnegative=self.is_monotone, loss=self.loss
        )
