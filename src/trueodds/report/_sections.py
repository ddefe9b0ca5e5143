"""Sections of a report as plain JSON values: methods, intervals, costs, groups, validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.decisions import Risk, costs_by_ratio, decision_curve, guaranteed_threshold
from trueodds.estimator import unfitted
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, GroupColumn, InputScale, band_ends
from trueodds.metrics import (
    ClassEvaluation,
    Evaluation,
    ValidationReport,
    evaluate_classes,
    evaluate_counts,
    validation_report,
)
from trueodds.metrics._groups import GroupTest, groups_before_and_after
from trueodds.metrics._sample import event_of
from trueodds.model_selection import CalibratorComparison
from trueodds.numerics.log_odds import log_odds
from trueodds.report._diagrams import OUTERMOST
from trueodds.report._plain import number, numbers, show_method
from trueodds.report._rows import ReportRows
from trueodds.table import ScoreTable

__all__ = [
    "add_pooled",
    "decision_costs",
    "evaluated",
    "group_table",
    "guarantee_section",
    "headline_figures",
    "method_rows",
    "uncertainty",
    "validated",
    "validation_section",
]

# ----- methods, and the figures at the top --------------------------------------------------------

MEASURES = ("log_loss", "brier_score", "expected_calibration_error")


def method_rows(comparison: Any) -> list[dict[str, Any]]:
    """Return the results of the comparison, one dict per method, simplest first."""
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
        found.append(plain)
    return found


HEADLINES = {
    "log_loss": "Log-loss",
    "brier_score": "Brier score",
    "debiased_calibration_error": "Calibration error",
    "roc_auc": "AUC (ranking)",
}


def evaluated(
    rows: ReportRows, prob: Floats, *, level: float, seed: int
) -> Evaluation | ClassEvaluation:
    """The evaluation of some probabilities of the rows, as ``trueodds evaluate`` makes it."""
    if rows.binary:
        table = ScoreTable.from_codes(prob, rows.codes == 1, rows.weight)
        return evaluate_counts(table, level=level, random_state=seed)
    classes = np.arange(len(rows.classes))
    return evaluate_classes(
        rows.codes, prob, sample_weight=rows.weight, classes=classes, level=level
    )


def headline_figures(
    before: Evaluation | ClassEvaluation, after: Evaluation | ClassEvaluation
) -> list[dict[str, Any]]:
    """Return the main metrics of the scores as given, and out of fold after calibration."""
    sides = [
        {
            name: {key: number(getattr(found, key)) for key in ENDS}
            for name, found in side.metrics.items()
        }
        for side in (before, after)
    ]
    return [
        {"measure": name, "title": title, "before": sides[0][name], "after": sides[1][name]}
        for name, title in HEADLINES.items()
        if name in sides[0]
    ]


# ----- the calibration map with its interval ------------------------------------------------------

POINTS = 121
ROWS_SHOWN = 7


def uncertainty(
    comparison: CalibratorComparison,
    method: str,
    sample: ReportRows,
    scale: InputScale,
    level: float,
) -> dict[str, Any] | None:
    """Return a method's map with its intervals at scores in the data; for two classes."""
    calibrator = comparison.calibrators[method]
    if not sample.binary or not hasattr(calibrator, "to_map"):
        return None
    fitted = unfitted(calibrator).set_params(scale=scale)
    fitted.fit(sample.score, sample.codes, sample_weight=sample.weight)
    grid = _grid(sample, scale)
    low, high = fitted.predict_interval(grid, level=level)
    shown = fitted.predict_proba(grid)[:, 1]
    at = np.unique(_nearest(sample.score, sample.row_counts, np.linspace(0.02, 0.98, ROWS_SHOWN)))
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


def _grid(sample: ReportRows, scale: InputScale) -> Floats:
    """Return scores on an even grid and at quantiles, so that all parts are covered."""
    kept = np.isfinite(log_odds(sample.score, scale))
    if not kept.any():
        kept[:] = True
    # The outermost scores would stretch the picture for a few rows.
    shares = np.linspace(OUTERMOST, 1 - OUTERMOST, POINTS)
    by_rank = _nearest(sample.score[kept], sample.row_counts[kept], shares)
    return np.unique(np.concatenate([np.linspace(by_rank[0], by_rank[-1], POINTS), by_rank]))


def _nearest(values: Floats, times: Floats, shares: Floats) -> Floats:
    """Return values at the nearest ranks, as ``numpy.quantile`` of values so often repeated."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(times[order])
    rank = np.rint(shares * (reached[-1] - 1))
    return np.asarray(values[order][np.searchsorted(reached, rank, side="right")])


# ----- costs of decisions -------------------------------------------------------------------------


def decision_costs(
    sample: ReportRows, out_of_fold: dict[str, Floats], baseline: str, level: float
) -> dict[str, Any]:
    """Return the mean cost per row of the best decisions by each method's probabilities."""
    costs = costs_by_ratio(
        sample.codes, out_of_fold, baseline=baseline, weights=sample.weight, level=level
    )
    return {
        "kind": "act" if sample.binary else "ask",
        "ratios": numbers(costs.ratio),
        "thresholds": numbers(costs.threshold),
        "start": int(np.argmin(np.abs(np.log(costs.ratio / costs.usual)))),
        "rows": sample.n_rows,
        "default": numbers(costs.without_model),
        "methods": {
            method: {
                "cheap": numbers(costs.cheap[method]),
                "dear": numbers(costs.expensive[method]),
                "saving_low": numbers(costs.saving[method][0]),
                "saving_high": numbers(costs.saving[method][1]),
            }
            for method in out_of_fold
        },
    }


def guarantee_section(
    rows: ReportRows, at_most: float | None, risk: Risk, confidence: float
) -> dict[str, Any] | None:
    """The threshold of the scores as given that keeps a risk below the limit; None without one."""
    if at_most is None:
        return None
    if rows.weight is not None and rows.weight.importance is not None:
        raise InputError("at_most needs rows that count once each; pass counts, not sample_weight.")
    found = guaranteed_threshold(
        rows.codes,
        rows.prob,
        at_most=at_most,
        risk=risk,
        confidence=confidence,
        counts=None if rows.weight is None else rows.row_counts,
        classes=np.arange(len(rows.classes)),
    )
    return {**found.to_dict(), "finding": str(found)}


# ----- groups -------------------------------------------------------------------------------------

MAX_LISTED = 25


def group_table(
    columns: list[GroupColumn],
    rows: ReportRows,
    sample: ReportRows,
    after: Floats,
    *,
    level: float,
) -> dict[str, Any]:
    """Test every group by :func:`trueodds.metrics.group_test`, before and after."""
    pairs, left_out = groups_before_and_after(
        columns,
        (event_of(rows.prob, rows.codes, rows.weight), rows.index),
        (event_of(after, sample.codes, sample.weight), sample.index),
        level=level,
        event="positive" if rows.binary else "right",
    )
    entries = [
        {
            "column": test.column,
            "value": test.value,
            "band": band_ends(test.band),
            "before": _side(test),
            "after": None if then is None else _side(then),
            "pooled": None,
            "validation": None,
        }
        for test, then in pairs
    ]
    return {
        "columns": [column.name for column in columns],
        "tested": sum(not test.too_small for test, _ in pairs),
        "too_small": sum(test.too_small for test, _ in pairs),
        "too_many_values": left_out,
        "correction": "Holm",
        "significant_before": sum(test.flagged for test, _ in pairs),
        "significant_after": sum(then is not None and then.flagged for _, then in pairs),
        "significant_pooled": None,
        "pooled_gain": None,
        "worst": entries[:MAX_LISTED],
    }


def validated(
    groups: dict[str, Any], columns: list[GroupColumn], rows: ReportRows, *, level: float, seed: int
) -> ValidationReport | None:
    """Return the validation of all rows, and add that of each listed group to ``groups``.

    None for several classes.
    """
    if not rows.binary:
        return None
    listed = {(entry["column"], entry["value"]): entry for entry in groups["worst"]}
    names = {}
    for column in columns if listed else ():
        kept = [str(k) if (column.name, v) in listed else "" for k, v in enumerate(column.names)]
        names[column.name] = np.array(kept, dtype=object)[column.codes[rows.index]]
    found = validation_report(
        rows.codes,
        rows.prob,
        level=level,
        groups=names or None,
        sample_weight=rows.weight,
        classes=[0, 1],
        random_state=seed,
    )
    texts = {column.name: column.names for column in columns}
    for group in found.groups:
        if not group.value:
            continue
        entry = listed[group.column, texts[group.column][int(group.value)]]
        entry["validation"] = {
            name: {key: number(getattr(getattr(group, name), key)) for key in ENDS}
            for name in FIGURES_OF_GROUPS
        }
    return found


ENDS = ("estimate", "low", "high")
FIGURES_OF_GROUPS = ("observed_expected", "intercept", "slope", "ici", "c_statistic")


def add_pooled(table: dict[str, Any], pooled: dict[str, Any], method: dict[str, Any]) -> None:
    """Add what pooled effects of the groups reach: their table, and their row of the methods."""
    table["significant_pooled"] = pooled["significant_after"]
    table["pooled_gain"] = {
        key: method[key] for key in ("gain", "gain_low", "gain_high", "gain_of")
    }
    for entry, other in zip(table["worst"], pooled["worst"], strict=True):
        entry["pooled"] = other["after"]


SIDE_NUMBERS = (
    *("predicted", "observed", "observed_low", "observed_high"),
    *("gap", "gap_low", "gap_high", "gap_at_least", "p_value", "p_adjusted"),
)


def _side(test: GroupTest) -> dict[str, Any]:
    plain = test.to_dict()
    return {
        "rows": test.rows,
        "event": test.event,
        "whole": _rounded(plain["whole"]),
        "worst": _rounded(plain["worst"]),
        "too_small": test.too_small,
        "flagged": test.flagged,
        **{key: number(plain[key]) for key in SIDE_NUMBERS},
    }


def _rounded(excess: dict[str, Any]) -> dict[str, Any]:
    between = excess["between"]
    return {
        **{key: number(value) for key, value in excess.items() if key != "between"},
        "between": None if between is None else [number(end) for end in between],
    }


# ----- validation of a risk model -----------------------------------------------------------------


def validation_section(
    table: ValidationReport | None,
    sample: ReportRows,
    out_of_fold: dict[str, Floats],
    *,
    level: float,
) -> dict[str, Any] | None:
    """Return the validation of the scores as given, and the net benefits of all methods.

    Net benefits are out of fold, of the rows on which methods are compared.
    """
    if table is None:
        return None
    options: dict[str, Any] = {
        "level": level,
        "sample_weight": sample.weight,
        "classes": [0, 1],
    }
    thresholds = _thresholds(float(np.average(sample.codes, weights=sample.mass)))
    curve = decision_curve(sample.codes, out_of_fold, thresholds=thresholds, **options)
    figures = [
        {
            "figure": row["figure"],
            "title": row["title"],
            **{key: number(row[key]) for key in ("estimate", "low", "high")},
        }
        for row in table.rows()
    ]
    return {
        "rows": table.n,
        "events": table.events,
        "figures": figures,
        "cox_p_value": number(table.cox_test.p_value),
        "hosmer_lemeshow_p_value": number(table.hosmer_lemeshow.p_value),
        "notes": list(table.notes),
        "thresholds": numbers(curve.threshold),
        "prevalence": number(curve.prevalence),
        "treat_all": numbers(curve.treat_all.net_benefit),
        "methods": {
            name: {
                "net_benefit": numbers(line.net_benefit),
                "low": numbers(line.low),
                "high": numbers(line.high),
            }
            for name, line in curve.models.items()
        },
    }


def _thresholds(prevalence: float) -> Floats:
    """Return 99 even thresholds, up to a limit that suits rare events."""
    per_unit = 100 if prevalence >= 0.1 else 500 if prevalence >= 0.02 else 2000
    return np.asarray(np.arange(1, 100) / per_unit)
