"""The verdict on probabilities as sentences, for commands and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.basics.wording import count_text, counted, p_text, percent_text, times_text
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.metrics._curves import ReliabilityCurve
    from trueodds.metrics._evaluation import ClassEvaluation, Evaluation

__all__ = ["ALPHA", "SMALL_ERROR", "class_finding", "finding"]

ALPHA = 0.05
FEW_ROWS = 100
"""Rows below which a finding of no miscalibration has a caution."""
SMALL_ERROR = 0.02
"""Error that is called small, relative with two classes and absolute with several."""
NAMES_OF_EVENTS = {"positive": ("positives", "negatives"), "right": ("right", "wrong")}
"""What rows with the event, and those without it, are called."""
PARTS = 5
CLEAR = 3.0
"""Standard errors at or above which a part of the scale is named."""

Groups = list[dict[str, Any]] | None


def finding(found: Evaluation, tolerance: float = SMALL_ERROR, groups: Groups = None) -> str:
    """Describe the calibration of the probabilities of two classes."""
    chance = p_text(found.p_value)
    if found.p_value >= ALPHA:
        return _right(chance, groups, found.n)
    expected, happened = found.mean_score * found.n, found.prevalence * found.n
    parts = []
    if found.exact_test.n_tests * found.mean_test.p_value < ALPHA:
        parts.append(_number_off(expected, happened))
    worth = 1.0 if found.n_independent is None else found.n_independent / found.n
    parts += _places(found.curve, worth)
    error = found.metrics["debiased_calibration_error"].estimate
    if not parts:
        parts.append(f"No score range is clearly off; the typical error is {_typical(found)}")
    spread = np.sqrt(found.prevalence * (1 - found.prevalence))
    small = abs(expected - happened) <= tolerance * happened and error <= tolerance * spread
    head = "Not calibrated, but the error is small." if small else "Not calibrated."
    return f"{head} {'. '.join(parts)} ({chance}).{_also(groups)}"


def class_finding(
    found: ClassEvaluation, tolerance: float = SMALL_ERROR, groups: Groups = None
) -> str:
    """Describe the calibration of the probabilities of several classes."""
    chance = p_text(found.p_value)
    if found.p_value >= ALPHA:
        return _right(chance, groups, found.n)
    right = found.metrics["accuracy"].estimate
    gap = found.mean_confidence - right
    error = found.metrics["debiased_calibration_error"].estimate
    small = max(abs(gap), error) <= tolerance
    head = "Not calibrated, but the error is small." if small else "Not calibrated."
    confidence, accuracy = percent_text(found.mean_confidence), percent_text(right)
    if confidence == accuracy:
        size = f"Mean confidence equals accuracy ({accuracy}), but the typical error is "
        size += _typical(found)
    else:
        size = f"The model is {'overconfident' if gap > 0 else 'underconfident'}: "
        size += f"its mean confidence is {confidence}, its accuracy {accuracy}"
    return f"{head} {size} ({chance}).{_also(groups)}"


def _typical(found: Evaluation | ClassEvaluation) -> str:
    """The debiased error; its upper bound where the estimate is cut off at 0."""
    error = found.metrics["debiased_calibration_error"]
    if error.estimate > 0 or not np.isfinite(error.high):
        return percent_text(error.estimate)
    return f"less than {percent_text(error.high)}"


def _flagged(groups: Groups) -> list[dict[str, Any]]:
    if groups is None:
        return []
    if not isinstance(groups, list) or not all(
        isinstance(group, dict) and "flagged" in group for group in groups
    ):
        raise InputError(
            f"groups must be the list of dicts that evaluate_groups returns; got {shown(groups)}."
        )
    return [group for group in groups if group["flagged"]]


def _right(chance: str, groups: Groups, n: float) -> str:
    flagged = _flagged(groups)
    if not flagged:
        few = f"; {counted(round(n), 'row')} can reveal only large errors" if n < FEW_ROWS else ""
        return f"No miscalibration beyond chance was found ({chance}){few}."
    return (
        f"Not calibrated in {len(flagged)} of {counted(len(groups or []), 'group')}. "
        f"{_worst(flagged)} All rows together show no miscalibration ({chance})."
    )


def _also(groups: Groups) -> str:
    flagged = _flagged(groups)
    if not flagged or len(groups or []) < 2:
        return ""
    verb = "is" if len(flagged) == 1 else "are"
    return f" {len(flagged)} of {len(groups or [])} groups {verb} not calibrated. {_worst(flagged)}"


def _worst(flagged: list[dict[str, Any]]) -> str:
    """Describe the first flagged group, which is the worst, where it is off most."""
    group = flagged[0]
    name = f"{group['column']} = {group['value']}"
    p = group["p_adjusted"] if group["p_adjusted"] is not None else group["p_value"]
    where = f"In {name}" if len(flagged) == 1 else f"In the worst, {name}"
    worst, event = group["worst"], group["event"]
    events, others = NAMES_OF_EVENTS[event]
    predicted = percent_text(worst["predicted"])
    if worst["between"] is None:
        said = f"the model predicts {predicted} on average"
    else:
        said = f"when the model predicts {predicted}"
    joint = ", " if worst["between"] is not None else "; "
    return (
        f"{where}, {said}{joint}{_happen(worst['observed'], event)} "
        f"({times_text(worst, events, others)}; adjusted {p_text(p)})."
    )


def _happen(share: float, event: str = "positive") -> str:
    if share in (0.0, 1.0):
        return f"none are {event}" if share == 0 else f"all are {event}"
    return f"{percent_text(share)} are {event}"


def _number_off(expected: float, happened: float) -> str:
    counts = f"The model predicts {count_text(expected)} positives; "
    if happened <= 0:
        return f"{counts}none occurred"
    ratio = expected / happened
    if ratio >= 2:
        size = f"{ratio:.2g} times too many"
    elif ratio >= 1:
        size = f"{percent_text(ratio - 1)} too many"
    else:
        size = f"{percent_text(1 - ratio)} too few"
    return f"{counts}{count_text(happened)} occurred ({size})"


def _places(curve: ReliabilityCurve, worth: float = 1.0) -> list[str]:
    """Name the worst of five parts of the rows below and above the mean, if clearly off.

    A row in a cluster is worth a part of an independent one.
    """
    weight = curve.weight
    part = np.minimum((np.cumsum(weight) - weight / 2) / weight.sum() * PARTS, PARTS - 1)
    part = part.astype(np.intp)
    mass = np.bincount(part, weight, PARTS)
    kept = mass > 0
    mean = np.bincount(part, weight * curve.prob_pred, PARTS)[kept] / mass[kept]
    seen = np.bincount(part, weight * curve.prob_true, PARTS)[kept] / mass[kept]
    error = np.sqrt(np.maximum(mean * (1 - mean), 1e-12) / (worth * mass[kept]))
    z = (seen - mean) / error
    middle = np.average(curve.prob_pred, weights=weight)
    said = []
    for side in (mean < middle, mean >= middle):
        clear = np.flatnonzero(side & (np.abs(z) > CLEAR))
        if len(clear):
            worst = clear[np.argmax(np.abs(z[clear]))]
            said.append(f"when it predicts {percent_text(mean[worst])}, {_happen(seen[worst])}")
    if not said:
        return []
    text = "; ".join(said)
    return [text[0].upper() + text[1:]]
