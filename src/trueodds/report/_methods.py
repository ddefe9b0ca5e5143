"""The table of methods, and the figures of the scores before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.inputs import Floats
from trueodds.metrics import (
    ClassEvaluation,
    Evaluation,
    MetricInterval,
    c_statistic,
    evaluate_classes,
    evaluate_table,
)
from trueodds.report._evidence import ReportRows
from trueodds.report._plain import number, show_method
from trueodds.table import ScoreTable

__all__ = ["headline_figures", "method_rows"]

MEASURES = ("log_loss", "brier_score", "expected_calibration_error")


def method_rows(comparison: Any) -> list[dict[str, Any]]:
    """What the comparison found, one dict for each method, simplest first."""
    found = []
    for row in comparison.rows():
        plain: dict[str, Any] = {"method": row["method"], "shown": show_method(row["method"])}
        for measure in MEASURES:
            for key in (measure, f"{measure}_low", f"{measure}_high"):
                plain[key] = number(row.get(key))
        plain["gain_of"] = comparison.gain_metric
        gain = comparison.relative_gain(row["method"], metric=comparison.gain_metric)
        for key, value in zip(("gain", "gain_low", "gain_high"), gain or [None] * 3, strict=True):
            plain[key] = number(value)
        plain["seconds"] = number(row.get("seconds"))
        plain["chosen"] = row["method"] == comparison.best_method
        found.append(plain)
    return found


def headline_figures(
    sample: ReportRows,
    out_of_fold: dict[str, Floats],
    rows: list[dict[str, Any]],
    shown: str,
    *,
    level: float,
    seed: int,
) -> list[dict[str, Any]]:
    """Before and after, for the few figures that stand at the top.

    The first of ``rows`` is the baseline.
    """
    by_name = {row["method"]: row for row in rows}
    before_and_after = (rows[0]["method"], shown)
    figures = []
    for measure, title in (("log_loss", "Log-loss"), ("brier_score", "Brier score")):
        sides = [
            [by_name[m][f"{measure}{end}"] for end in ("", "_low", "_high")]
            for m in before_and_after
        ]
        figures.append(_figure(measure, title, *sides))
    sides = []
    for method in before_and_after:
        interval = _debiased(sample, out_of_fold[method], level, seed)
        sides.append([number(v) for v in (interval.estimate, interval.low, interval.high)])
    figures.append(_figure("debiased_calibration_error", "Calibration error", *sides))
    if sample.binary:
        sides = [[_auc(sample, out_of_fold[method]), None, None] for method in before_and_after]
        figures.append(_figure("roc_auc", "AUC (ranking)", *sides))
    return figures


def _debiased(sample: ReportRows, prob: Floats, level: float, seed: int) -> MetricInterval:
    options: dict[str, Any] = {"level": level, "random_state": seed}
    found: Evaluation | ClassEvaluation
    if sample.binary:
        table = ScoreTable.from_codes(prob, sample.codes == 1, sample.weight)
        found = evaluate_table(table, **options)
    else:
        found = evaluate_classes(
            sample.codes,
            prob,
            sample_weight=sample.weight,
            classes=np.arange(len(sample.classes)),
            **options,
        )
    return found.metrics["debiased_calibration_error"]


def _auc(sample: ReportRows, prob: Floats) -> float | None:
    return number(c_statistic(sample.codes, prob, sample_weight=sample.weight))


def _figure(
    measure: str, title: str, before: list[float | None], after: list[float | None]
) -> dict[str, Any]:
    keys = ("estimate", "low", "high")
    return {
        "measure": measure,
        "title": title,
        "before": dict(zip(keys, before, strict=True)),
        "after": dict(zip(keys, after, strict=True)),
    }
