"""The figures of papers on prediction models, and the decision curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.decisions import decision_curve
from trueodds.inputs import Floats
from trueodds.metrics import validation_table
from trueodds.report._evidence import ReportRows, sample_rows
from trueodds.report._plain import number, numbers

__all__ = ["validation_section"]

N_RESAMPLES = 100
MOST_ROWS = 10_000
"""A loess curve of each resample of more would take most of the report's time."""


def validation_section(
    sample: ReportRows, out_of_fold: dict[str, Floats], *, level: float, seed: int
) -> dict[str, Any] | None:
    """The validation of the scores as they are, and net benefits of all methods out of fold.

    None for several classes, of which there is no single threshold.
    """
    if not sample.binary:
        return None
    options: dict[str, Any] = {
        "level": level,
        "sample_weight": sample.weight,
        "classes": [0, 1],
    }
    part = sample_rows(sample, MOST_ROWS, np.random.default_rng(seed))
    table = validation_table(
        part.codes,
        part.prob,
        n_resamples=N_RESAMPLES,
        random_state=seed,
        **{**options, "sample_weight": part.weight},
    )
    sampled = f"Figures are of a random sample of {len(part):,} rows."
    thresholds = _thresholds(float(np.average(sample.codes, weights=sample.weight)))
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
    """Ninety-nine in even steps; with rare events nobody would wait for a high probability."""
    per_unit = 100 if prevalence >= 0.1 else 500 if prevalence >= 0.02 else 2000
    return np.asarray(np.arange(1, 100) / per_unit)
