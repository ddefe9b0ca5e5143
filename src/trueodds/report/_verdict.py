"""The sentence that the report begins with: what is wrong, where, and what would help."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.compare import holm_adjust
from trueodds.metrics import calibration_test
from trueodds.report._evidence import Event, ReportRows, event_of
from trueodds.report._gaps import Gaps, binned_gaps
from trueodds.report._plain import number, percent, phrase_method, probability_text

__all__ = ["diagnose", "verdict"]

ALPHA = 0.05
MAX_BINS = 20
ROWS_PER_BIN = 50
N_DRAWS = 1000
ALMOST_ALL = 0.8
NEARLY_HALF = 0.4
"""A bin that reaches a little over ½ still belongs to its side."""


def diagnose(rows: ReportRows, seed: int) -> dict[str, Any]:
    """Whether the probabilities are off by more than chance, and where.

    One test of the whole (root mean square gap in 10 bins, labels redrawn) decides whether
    anything is said; Holm's method over the bins then says where.
    """
    event = event_of(rows.prob, rows.codes, rows.weight)
    test = calibration_test(
        event.hit.astype(np.intp),
        event.prob,
        method="rms",
        n_resamples=N_DRAWS,
        sample_weight=event.weight,
        random_state=seed,
    )
    gaps = binned_gaps(event, int(np.clip(len(event) // ROWS_PER_BIN, 1, MAX_BINS)))
    regions = _regions(gaps, holm_adjust(gaps.p_value) < ALPHA) if test.p_value < ALPHA else []
    return {
        "p_value": number(test.p_value),
        "miscalibrated": bool(test.p_value < ALPHA),
        "test": "root mean square gap in 10 bins of equal mass, labels redrawn 1000 times",
        "mean_predicted": number(_mean(event, event.prob)),
        "observed": number(_mean(event, event.hit)),
        "regions": regions,
        "finding": _finding(regions, gaps, event, several=not rows.binary)
        if test.p_value < ALPHA
        else "no sign of miscalibration",
    }


def _mean(event: Event, values: Any) -> float:
    return float(np.average(values, weights=event.weight))


def _regions(gaps: Gaps, proven: Any) -> list[dict[str, Any]]:
    """Runs of bins that are off the same way, each with at least one proven bin."""
    sign = np.sign(gaps.mean_prob - gaps.frequency)
    regions: list[dict[str, Any]] = []
    begin = 0
    for i in range(1, len(sign) + 1):
        if i < len(sign) and sign[i] == sign[begin]:
            continue
        inside = np.flatnonzero(proven[begin:i]) + begin
        if len(inside) and sign[begin]:
            # Unproven bins at the ends of a run are left out, those within it are not.
            part = slice(inside[0], inside[-1] + 1)
            weight = gaps.weight[part]
            regions.append(
                {
                    "direction": "too high" if sign[begin] > 0 else "too low",
                    "from": number(gaps.low[inside[0]]),
                    "to": number(gaps.high[inside[-1]]),
                    "share": number(weight.sum() / gaps.weight.sum()),
                    "predicted": number(np.average(gaps.mean_prob[part], weights=weight)),
                    "observed": number(np.average(gaps.frequency[part], weights=weight)),
                }
            )
        begin = i
    return regions


def _finding(regions: list[dict[str, Any]], gaps: Gaps, event: Event, *, several: bool) -> str:
    if not regions:
        return "miscalibrated, though it cannot be told where"
    directions = {region["direction"] for region in regions}
    share = sum(region["share"] for region in regions)
    if len(directions) == 1 and share >= ALMOST_ALL:
        direction = directions.pop()
        if several:
            return "over-confident" if direction == "too high" else "under-confident"
        said, seen = _mean(event, event.prob), _mean(event, event.hit)
        return (
            f"probabilities are {direction} nearly everywhere "
            f"({_short(said)} on average, while {_short(seen)} of cases are positive)"
        )
    lowest, highest = float(gaps.mean_prob[0]), float(gaps.mean_prob[-1])
    # "Confident" only makes sense if the probabilities reach from one side of ½ to the other.
    both_sides = several or (lowest < 0.3 and highest > 0.7)
    said_ends: dict[str, list[str]] = {}
    for region in regions:
        kind, where = _place(region, both_sides, several)
        said_ends.setdefault(kind, []).append(where)
    return "; ".join(f"{kind} {_join(places)}" for kind, places in said_ends.items())


def _place(region: dict[str, Any], both_sides: bool, several: bool) -> tuple[str, str]:
    low, high, direction = region["from"], region["to"], region["direction"]
    if high == 1 and low == 0:
        return direction, "on the whole"
    if high == 1:
        where = f"above {probability_text(low)}"
        if both_sides and low >= NEARLY_HALF:
            return "over-confident" if direction == "too high" else "under-confident", where
        return direction, where
    if low == 0:
        where = f"below {probability_text(high)}"
        if both_sides and not several and high <= 1 - NEARLY_HALF:
            return "over-confident" if direction == "too low" else "under-confident", where
        return direction, where
    return direction, f"between {probability_text(low)} and {probability_text(high)}"


def _join(places: list[str]) -> str:
    if len(places) == 1:
        return places[0]
    return ", ".join(places[:-1]) + " and " + places[-1]


def _short(share: float) -> str:
    return f"{share:.2g}"


def verdict(
    diagnosis: dict[str, Any], rows: list[dict[str, Any]], best: str, *, level: float
) -> dict[str, Any]:
    """The sentence, in two halves: the finding, and what to do about it.

    The first of ``rows`` is the baseline, which leaves the scores alone.
    """
    finding = diagnosis["finding"]
    chosen = next(row for row in rows if row["method"] == best)
    if chosen is rows[0]:
        status, advice = _leave(diagnosis, rows)
    else:
        status, advice = _apply(chosen)
    sentence = f"{finding[0].upper()}{finding[1:]}; {advice}."
    return {
        "sentence": sentence,
        "finding": finding,
        "advice": advice,
        "status": status,
        "method": best,
        "gain": chosen["gain"],
        "gain_low": chosen["gain_low"],
        "gain_high": chosen["gain_high"],
        "level": level,
    }


def _leave(diagnosis: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[str, str]:
    if not diagnosis["miscalibrated"]:
        return "fine", "leave it alone: no method lowers log-loss by more than chance could"
    others = [row for row in rows[1:] if row["gain"] is not None]
    if not others:
        return "unclear", "leave it alone for now: no method could be compared"
    top = max(others, key=lambda row: row["gain"])
    if top["gain"] <= 0:
        return "unclear", "leave it alone: no method that was tried lowers log-loss"
    return (
        "unclear",
        f"leave it alone all the same: the best that was tried, {phrase_method(top['method'])}, "
        f"changes log-loss by too little to tell from chance ({_gain(top)})",
    )


def _apply(chosen: dict[str, Any]) -> tuple[str, str]:
    phrase = phrase_method(chosen["method"])
    if chosen["gain"] is None:
        return "calibrate", f"{phrase} would make log-loss finite, which it is not now"
    if chosen["gain_low"] is not None and chosen["gain_low"] <= 0:
        return "unclear", f"{phrase} may cut log-loss, but that is not certain ({_gain(chosen)})"
    return "calibrate", f"{phrase} would cut log-loss by {_gain(chosen)}"


def _gain(row: dict[str, Any]) -> str:
    if row["gain_low"] is None or row["gain_high"] is None:
        return f"{percent(row['gain'])} %"
    ends = f"[{percent(row['gain_low'])}, {percent(row['gain_high'])}]"
    return f"{percent(row['gain'])} % {ends}".replace("-", "−")
