"""How sure one can be of calibrated probabilities: the map that would be used, with its band."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.estimator import unfitted
from trueodds.inputs import Floats, InputScale
from trueodds.model_selection import CalibratorComparison
from trueodds.numerics.log_odds import log_odds
from trueodds.report._evidence import ReportRows
from trueodds.report._marks import round_step
from trueodds.report._plain import number, numbers

__all__ = ["SURENESS_BOX", "sureness", "sureness_lines"]

POINTS = 121
ROWS_SHOWN = 7
OUTERMOST = 0.005
SURENESS_BOX = (480.0, 360.0, 52.0, 14.0)
"""Width and height of the picture, and its margins: left and below, right and above."""


def sureness(
    comparison: CalibratorComparison,
    method: str,
    sample: ReportRows,
    scale: InputScale,
    level: float,
) -> dict[str, Any] | None:
    """The map of a method at scores in the data, with the interval of each; of two classes."""
    calibrator = comparison.calibrators[method]
    if not sample.binary or not hasattr(calibrator, "map_with_band"):
        return None
    fitted = unfitted(calibrator).set_params(input=scale)
    fitted.fit(sample.score, sample.codes, sample_weight=sample.weight)
    grid = _grid(sample.score, scale)
    low, high = fitted.predict_interval(grid, level=level)
    shown = fitted.predict_proba(grid)[:, 1]
    at = np.unique(np.quantile(sample.score, np.linspace(0.02, 0.98, ROWS_SHOWN), method="nearest"))
    ends = fitted.predict_interval(at, level=level)
    return {
        "score": numbers(grid),
        "probability": numbers(shown),
        "low": numbers(low),
        "high": numbers(high),
        "rows": [
            {"score": number(s), "probability": number(p), "low": number(a), "high": number(b)}
            for s, p, a, b in zip(at, fitted.predict_proba(at)[:, 1], *ends, strict=True)
        ],
    }


def _grid(score: Floats, scale: InputScale) -> Floats:
    """Even on the scale of the scores, and by rank, so that no part of them is left out."""
    finite = score[np.isfinite(log_odds(score, scale))]
    if not len(finite):
        finite = score
    # The outermost scores would stretch the picture for a handful of rows.
    shares = np.linspace(OUTERMOST, 1 - OUTERMOST, POINTS)
    by_rank = np.quantile(finite, shares, method="nearest")
    return np.unique(np.concatenate([np.linspace(by_rank[0], by_rank[-1], POINTS), by_rank]))


def sureness_lines(content: dict[str, Any] | None) -> dict[str, Any] | None:
    """The same in the units of the picture: a line, a shape, and the ticks of the axes."""
    if content is None:
        return None
    width, height, margin, rim = SURENESS_BOX
    x = content["score"]
    is_probability = x[0] >= 0 and x[-1] <= 1
    first, last = (0.0, _round_up(x[-1])) if is_probability else (x[0], x[-1])
    span, top = (last - first) or 1.0, _round_up(max(content["high"]))
    if is_probability:
        last = top = span = max(last, top)

    def place(score: float, p: float) -> str:
        across = margin + (score - first) / span * (width - margin - rim)
        return f"{across:.1f},{rim + (1 - p / top) * (height - margin - rim):.1f}"

    upper = [place(*pair) for pair in zip(x, content["high"], strict=True)]
    lower = [place(*pair) for pair in zip(x, content["low"], strict=True)]
    ticks = [first + span * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return {
        "line": " ".join(place(*pair) for pair in zip(x, content["probability"], strict=True)),
        "band": " ".join([*upper, *reversed(lower)]),
        "diagonal": f"{place(0, 0)} {place(top, top)}" if is_probability else None,
        "across": [(place(t, 0).split(",")[0], f"{t:.3g}".replace("-", "−")) for t in ticks],
        "up": [
            (place(first, share * top).split(",")[1], f"{share * top:.3g}")
            for share in (0.0, 0.25, 0.5, 0.75, 1.0)
        ],
    }


def _round_up(p: float) -> float:
    """The end of an axis of probabilities that holds ``p``."""
    return min(1.0, round_step(max(p, 1e-6)))
