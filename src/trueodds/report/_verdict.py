"""The sentence that the report begins with: what is wrong, where, and what would help."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.compare import holm_adjust
from trueodds.metrics import (
    ClassEvaluation,
    Evaluation,
    evaluate_classes,
    evaluate_table,
)
from trueodds.report._evidence import Event, ReportRows, event_of
from trueodds.report._gaps import Gaps, binned_gaps
from trueodds.report._plain import number, percent, phrase_method
from trueodds.table import ScoreTable

__all__ = ["diagnose", "verdict"]

ALPHA = 0.05
MAX_BINS = 20
ROWS_PER_BIN = 50


def diagnose(rows: ReportRows, seed: int, level: float) -> dict[str, Any]:
    """Whether the probabilities are off by more than chance, how much, and where.

    The tests are those of ``trueodds evaluate``, with the same p-value and the same words; Holm's
    method over bins then says where.
    """
    event = event_of(rows.prob, rows.codes, rows.weight)
    found: Evaluation | ClassEvaluation
    options: dict[str, Any] = {"level": level, "random_state": seed}
    if rows.binary:
        table = ScoreTable.from_codes(event.prob, event.hit, event.weight)
        found = evaluate_table(table, **options)
    else:
        found = evaluate_classes(rows.codes, rows.prob, sample_weight=rows.weight, **options)
    gaps = binned_gaps(event, int(np.clip(len(event) // ROWS_PER_BIN, 1, MAX_BINS)))
    is_off = found.p_value < ALPHA
    return {
        "p_value": number(found.p_value),
        "miscalibrated": bool(is_off),
        "test": "Spiegelhalter's, Cox's, and a binomial test of the mean (Bonferroni)"
        if rows.binary
        else "Spiegelhalter's, of all classes",
        "mean_predicted": number(_mean(event, event.prob)),
        "observed": number(_mean(event, event.hit)),
        "regions": _regions(gaps, holm_adjust(gaps.p_value) < ALPHA) if is_off else [],
        "finding": found.finding(),
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
    sentence = f"{finding} Advice: {advice}."
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
        return (
            "fine",
            f"leave it alone; no method lowers {_loss(rows[0])} by more than chance could",
        )
    others = [row for row in rows[1:] if row["gain"] is not None]
    if not others:
        return "unclear", "leave it alone for now; no method could be compared"
    top = max(others, key=lambda row: row["gain"])
    if top["gain"] <= 0:
        return "unclear", f"leave it alone; no method that was tried lowers {_loss(top)}"
    return (
        "unclear",
        f"leave it alone all the same; the best that was tried, {phrase_method(top['method'])}, "
        f"changes {_loss(top)} by too little to tell from chance ({_gain(top)})",
    )


def _apply(chosen: dict[str, Any]) -> tuple[str, str]:
    phrase, loss = phrase_method(chosen["method"]), _loss(chosen)
    if chosen["gain"] is None:  # the loss as it is has no size to compare with
        return "unclear", f"{phrase} was best, but by how much it cuts {loss} is not defined"
    if chosen["gain_low"] is not None and chosen["gain_low"] <= 0:
        return "unclear", f"{phrase} may cut {loss}, but that is not certain ({_gain(chosen)})"
    why = ""
    if chosen["gain_of"] == "brier_score":
        why = "; log-loss is infinite now, because something happened that had probability 0"
    return "calibrate", f"{phrase} would cut {loss} by {_gain(chosen)}{why}"


def _loss(row: dict[str, Any]) -> str:
    return {"log_loss": "log-loss", "brier_score": "the Brier score"}[row["gain_of"]]


def _gain(row: dict[str, Any]) -> str:
    if row["gain_low"] is None or row["gain_high"] is None:
        return f"{percent(row['gain'])} %"
    ends = f"[{percent(row['gain_low'])}, {percent(row['gain_high'])}]"
    return f"{percent(row['gain'])} % {ends}".replace("-", "−")
