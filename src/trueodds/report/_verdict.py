"""The sentence that the report begins with: what is wrong, where, and what would help."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.basics.wording import interval_percent_text, share_percent_text
from trueodds.compare import holm_adjust
from trueodds.metrics import ClassEvaluation, Evaluation, evaluate_classes, evaluate_table
from trueodds.metrics._exact_test import BinTests, bin_tests
from trueodds.metrics._plain_words import ALPHA
from trueodds.report._evidence import Event, ReportRows, event_of
from trueodds.report._plain import number, phrase_method
from trueodds.table import ScoreTable

__all__ = ["diagnose", "verdict"]

MAX_BINS = 20
ROWS_PER_BIN = 50
WORTH_A_WORD = 0.0005
"""A smaller share is 0.0% on the page."""


def diagnose(rows: ReportRows, groups: dict[str, Any], seed: int, level: float) -> dict[str, Any]:
    """Whether the probabilities are off by more than chance, how much, and where.

    Tests and words are those of ``trueodds evaluate``; Holm's method over bins then finds where.
    """
    event = event_of(rows.prob, rows.codes, rows.weight)
    found: Evaluation | ClassEvaluation
    options: dict[str, Any] = {"level": level, "random_state": seed}
    table = ScoreTable.from_codes(event.prob, event.hit, event.weight)
    square = effective = None
    if rows.weight is not None:
        effective = float(rows.weight.sum() ** 2 / (rows.weight**2).sum())
        square = table.weight * (table.total / effective)
    if rows.binary:
        found = evaluate_table(table, n_effective=effective, **options)
    else:
        found = evaluate_classes(rows.codes, rows.prob, sample_weight=rows.weight, **options)
    is_off = found.p_value < ALPHA
    n_bins = int(np.clip(len(event) // ROWS_PER_BIN, 1, MAX_BINS))
    bins = bin_tests(table, n_bins, square) if is_off else None
    flagged = groups["significant_before"]
    worst = groups["worst"][0] if flagged else None
    return {
        "p_value": number(found.p_value),
        "miscalibrated": bool(is_off),
        "worst_group": None if worst is None else f"{worst['column']} = {worst['value']}",
        "test": "exact tests of mean, slope and bins (Bonferroni)"
        if rows.binary
        else "Spiegelhalter's, of all classes",
        "mean_predicted": number(_mean(event, event.prob)),
        "observed": number(_mean(event, event.hit)),
        "regions": [] if bins is None else _regions(bins, holm_adjust(bins.p_value) < ALPHA),
        "finding": found.finding(groups=_sides(groups)),
    }


def _sides(groups: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups as the finding needs them: worst first, as many as were tested."""
    listed = [{"column": g["column"], "value": g["value"], **g["before"]} for g in groups["worst"]]
    hidden = groups["tested"] - len(listed)
    flagged = groups["significant_before"] - sum(side["flagged"] for side in listed)
    return listed + [{"flagged": i < flagged} for i in range(hidden)]


def _mean(event: Event, values: Any) -> float:
    return float(np.average(values, weights=event.weight))


def _regions(bins: BinTests, proven: Any) -> list[dict[str, Any]]:
    """Runs of bins that are off the same way, each with at least one proven bin."""
    sign = np.sign(bins.mean_prob - bins.frequency)
    regions: list[dict[str, Any]] = []
    begin = 0
    for i in range(1, len(sign) + 1):
        if i < len(sign) and sign[i] == sign[begin]:
            continue
        inside = np.flatnonzero(proven[begin:i]) + begin
        if len(inside) and sign[begin]:
            # Unproven bins at the ends of a run are left out, those within it are not.
            part = slice(inside[0], inside[-1] + 1)
            weight = bins.weight[part]
            regions.append(
                {
                    "direction": "too high" if sign[begin] > 0 else "too low",
                    "from": number(bins.low[inside[0]]),
                    "to": number(bins.high[inside[-1]]),
                    "share": number(weight.sum() / bins.weight.sum()),
                    "predicted": number(np.average(bins.mean_prob[part], weights=weight)),
                    "observed": number(np.average(bins.frequency[part], weights=weight)),
                }
            )
        begin = i
    return regions


def verdict(
    diagnosis: dict[str, Any], rows: list[dict[str, Any]], best: str, *, level: float
) -> dict[str, Any]:
    """The sentence, in two halves: the finding, and what to do about it.

    The first of ``rows`` is the baseline, which leaves the scores alone. Nothing is advised where
    nothing was found.
    """
    finding = diagnosis["finding"]
    chosen = next(row for row in rows if row["method"] == best)
    status, advice = _advise(diagnosis, rows, chosen, level)
    return {
        "sentence": f"{finding} Recommendation: {advice}.",
        "finding": finding,
        "advice": advice,
        "status": status,
        "method": best if status == "calibrate" else rows[0]["method"],
        "gain": chosen["gain"],
        "gain_low": chosen["gain_low"],
        "gain_high": chosen["gain_high"],
        "level": level,
    }


def _advise(
    diagnosis: dict[str, Any], rows: list[dict[str, Any]], chosen: dict[str, Any], level: float
) -> tuple[str, str]:
    if not diagnosis["miscalibrated"]:
        if diagnosis["worst_group"] is None:
            return "fine", "leave the scores unchanged"
        return (
            "groups",
            f"calibrate {diagnosis['worst_group']} separately; one map for all rows cannot correct "
            "a single group",
        )
    others = [row for row in rows[1:] if row["gain"] is not None]
    if not others:
        return "unclear", "leave the scores unchanged for now; no method could be compared"
    top = chosen if chosen is not rows[0] else max(others, key=lambda row: row["gain"])
    name, loss = phrase_method(top["method"]), _loss(top)
    if top["gain"] < WORTH_A_WORD:
        return "unclear", f"leave the scores unchanged; no method reduces {loss}"
    gain = _gain(top, level)
    if chosen is rows[0] or (top["gain_low"] is not None and top["gain_low"] <= 0):
        return (
            "unclear",
            f"leave the scores unchanged for now; {name}, the best method here, reduces {loss} by "
            f"{gain}, which could be chance",
        )
    why = ""
    if top["gain_of"] == "brier_score":
        why = "; log-loss is infinite now, because an event of probability 0 occurred"
    return "calibrate", f"calibrate; {name} reduces {loss} by {gain}{why}"


def _loss(row: dict[str, Any]) -> str:
    return {"log_loss": "log-loss", "brier_score": "the Brier score"}[row["gain_of"]]


def _gain(row: dict[str, Any], level: float) -> str:
    size = share_percent_text(row["gain"])
    if row["gain_low"] is None or row["gain_high"] is None:
        return size
    ends = interval_percent_text(row["gain_low"], row["gain_high"])
    return f"{size} ({100 * level:g}% CI {ends})"
