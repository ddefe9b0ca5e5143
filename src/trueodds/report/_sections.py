"""Sections of a report as plain JSON values: methods, intervals, costs, groups, validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.decisions import decision_curve, guaranteed_threshold
from trueodds.decisions._costs import costs_by_ratio
from trueodds.decisions._guarantees import Risk
from trueodds.estimator import unfitted
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, GroupColumn, InputScale, band_ends
from trueodds.metrics import (
    ClassEvaluation,
    Evaluation,
    MetricInterval,
    c_statistic,
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
from trueodds.report._rows import ReportRows, sample_rows
from trueodds.table import ScoreTable

__all__ = [
    "add_pooled",
    "decision_costs",
    "group_table",
    "guarantee_section",
    "headline_figures",
    "method_rows",
    "uncertainty",
    "validate_groups",
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


def headline_figures(
    sample: ReportRows,
    out_of_fold: dict[str, Floats],
    rows: list[dict[str, Any]],
    shown: str,
    *,
    level: float,
    seed: int,
) -> list[dict[str, Any]]:
    """Return the main metrics before and after.

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
        found = evaluate_counts(table, **options)
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


def validate_groups(
    table: dict[str, Any], columns: list[GroupColumn], rows: ReportRows, *, level: float
) -> None:
    """Add O:E, intercept, slope, ICI and C statistic of the listed groups, for two classes."""
    if not (rows.binary and table["worst"]):
        return
    listed = {(entry["column"], entry["value"]): entry for entry in table["worst"]}
    names = {}
    for column in columns:
        kept = [str(k) if (column.name, v) in listed else "" for k, v in enumerate(column.names)]
        names[column.name] = np.array(kept, dtype=object)[column.codes[rows.index]]
    found = validation_report(
        rows.codes,
        rows.prob,
        level=level,
        groups=names,
        sample_weight=rows.weight,
        classes=[0, 1],
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

N_RESAMPLES = 100
MOST_ROWS = 10_000
"""Rows for loess curves; more would take most of the report's time."""


def validation_section(
    sample: ReportRows, out_of_fold: dict[str, Floats], *, level: float, seed: int
) -> dict[str, Any] | None:
    """Return validation measures of the uncalibrated scores, and net benefits of all methods.

    None for several classes, which have no single threshold. Net benefits are out of fold.
    """
    if not sample.binary:
        return None
    options: dict[str, Any] = {
        "level": level,
        "sample_weight": sample.weight,
        "classes": [0, 1],
    }
    part = sample_rows(sample, MOST_ROWS, np.random.default_rng(seed))
    table = validation_report(
        part.codes,
        part.prob,
        n_resamples=N_RESAMPLES,
        random_state=seed,
        **{**options, "sample_weight": part.weight},
    )
    sampled = f"The figures use a random sample of {part.n_rows:,} rows."
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
        "notes": [*table.notes, *([sampled] if part is not sample else [])],
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
