"""What an evaluation found, as a person would say it, with its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueodds.basics.wording import p_text, percent_text

if TYPE_CHECKING:
    from trueodds.metrics._curve import ReliabilityCurve
    from trueodds.metrics._evaluate import Evaluation
    from trueodds.metrics._evaluate_classes import ClassEvaluation

__all__ = ["TOLERANCE", "class_finding", "finding"]

ALPHA = 0.05
TOLERANCE = 0.02
PARTS = 5
CLEAR = 3.0
"""Standard errors from which a part of the scale is worth naming."""


def finding(found: Evaluation, tolerance: float = TOLERANCE) -> str:
    """One or two sentences about the probabilities of two classes."""
    chance = p_text(found.p_value)
    expected, happened = found.mean_score * found.n, found.prevalence * found.n
    if found.p_value >= ALPHA:
        return f"No miscalibration beyond chance was found ({chance})."
    parts = []
    if len(found.tests) * found.mean_test.p_value < ALPHA:
        parts.append(_number_off(expected, happened))
    parts += _places(found.curve)
    if not parts:
        parts.append(
            "It is off by more than chance, though not clearly in any one place: typically by "
            f"{percent_text(found.metrics['debiased_calibration_error'].estimate)}"
        )
    spread = np.sqrt(found.prevalence * (1 - found.prevalence))
    error = found.metrics["debiased_calibration_error"].estimate
    if abs(expected - happened) <= tolerance * happened and error <= tolerance * spread:
        parts[0] = f"Significant but small: {parts[0][0].lower()}{parts[0][1:]}"
    return f"{'. '.join(parts)} ({chance})."


def class_finding(found: ClassEvaluation, tolerance: float = TOLERANCE) -> str:
    """One sentence about the probabilities of several classes."""
    chance = p_text(found.p_value)
    if found.p_value >= ALPHA:
        return f"No miscalibration beyond chance was found ({chance})."
    right = found.metrics["accuracy"].estimate
    gap = found.mean_confidence - right
    sure = "too sure of itself" if gap > 0 else "not sure enough"
    small = "Significant but small: it" if abs(gap) <= tolerance else "It"
    return (
        f"{small} is {sure}: its first choice has {percent_text(found.mean_confidence)} on "
        f"average, and is right in {percent_text(right)} ({chance})."
    )


def _number_off(expected: float, happened: float) -> str:
    counts = f"{_count(expected)} expected, {_count(happened)} happened"
    if happened <= 0:
        return f"It promises what never happened: {_count(expected)} expected, none happened"
    ratio = expected / happened
    if ratio >= 2:
        return f"It promises {ratio:.2g} times as many as happened: {counts}"
    if ratio >= 1:
        return f"It promises {percent_text(ratio - 1)} too many: {counts}"
    return f"It promises {percent_text(1 - ratio)} too few: {counts}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _places(curve: ReliabilityCurve) -> list[str]:
    """Where it is clearly off: of five parts of the rows, the worst below and above the middle."""
    weight = curve.weight
    part = np.minimum((np.cumsum(weight) - weight / 2) / weight.sum() * PARTS, PARTS - 1)
    part = part.astype(np.intp)
    mass = np.bincount(part, weight, PARTS)
    kept = mass > 0
    mean = np.bincount(part, weight * curve.prob_pred, PARTS)[kept] / mass[kept]
    seen = np.bincount(part, weight * curve.prob_true, PARTS)[kept] / mass[kept]
    error = np.sqrt(np.maximum(mean * (1 - mean), 1e-12) / mass[kept])
    z = (seen - mean) / error
    middle = np.average(curve.prob_pred, weights=weight)
    said = []
    for side in (mean < middle, mean >= middle):
        clear = np.flatnonzero(side & (np.abs(z) > CLEAR))
        if len(clear):
            worst = clear[np.argmax(np.abs(z[clear]))]
            said.append(
                f"where it says {percent_text(mean[worst])}, {percent_text(seen[worst])} happen"
            )
    if not said:
        return []
    text = "; ".join(said)
    return [text[0].upper() + text[1:]]
