"""The measures that ``evaluate`` shows, as plain dicts."""

from __future__ import annotations

from typing import Any

from trueodds.cli._rows import Rows

__all__ = ["evaluate_relation", "evaluate_rows"]


def evaluate_relation(relation: Any, weight: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Group the scores on DuckDB and measure the table."""
    from trueodds.metrics import evaluate_table
    from trueodds.table import ScoreTable

    table = ScoreTable.from_frame(relation, score="score", label="label", weight=weight)
    return _with_mean_test(evaluate_table(table, **options).to_dict())


def _with_mean_test(result: dict[str, Any]) -> dict[str, Any]:
    """Add a test of the mean, and the p-value of both tests together (Bonferroni).

    Spiegelhalter's test does not see probabilities near one half that are all too high or too low.
    A binomial count with the mean probability is spread more than independent events of unequal
    probabilities are (Hoeffding, 1956), so the test of the mean errs on the safe side.
    """
    from scipy.special import bdtr, bdtrc

    n, mean = round(result["n"]), result["mean_score"]
    hits = round(n * result["prevalence"])
    above = float(bdtrc(hits - 1, n, mean)) if hits > 0 else 1.0
    p_mean = min(1.0, 2 * min(float(bdtr(hits, n, mean)), above))
    p_value = min(1.0, 2 * min(p_mean, result["test"]["p_value"]))
    return {**result, "mean_test": {"method": "binomial", "p_value": p_mean}, "p_value": p_value}


def evaluate_rows(rows: Rows, classes: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Measure probabilities of several classes, row by row."""
    from trueodds.metrics import (
        accuracy,
        brier_score,
        calibration_test,
        confidence_interval,
        debiased_calibration_error,
        expected_calibration_error,
        log_loss,
    )

    prob = rows.scores / rows.scores.sum(axis=1, keepdims=True)
    metrics = {}
    for metric in (
        log_loss,
        brier_score,
        accuracy,
        expected_calibration_error,
        debiased_calibration_error,
    ):
        found = confidence_interval(
            metric,
            rows.y,
            prob,
            sample_weight=rows.weight,
            classes=list(classes),
            progress=False,
            **options,
        )
        metrics[metric.__name__] = {
            "estimate": found.estimate,
            "low": found.low,
            "high": found.high,
            "level": found.level,
        }
    test = calibration_test(rows.y, prob, sample_weight=rows.weight, classes=list(classes))
    return {
        "metrics": metrics,
        "n": len(rows),
        "test": {
            "statistic": test.statistic,
            "p_value": test.p_value,
            "method": test.method,
            "expected": test.expected,
        },
        "p_value": test.p_value,
    }
