"""The measures of each group, with control of false alarms."""

from __future__ import annotations

from typing import Any

from trueodds.cli._evaluation import evaluate_relation
from trueodds.cli._prepare import Prepared
from trueodds.cli._show import working
from trueodds.cli._sql import literal, quoted

__all__ = ["evaluate_groups"]

SIGNIFICANT = 0.05
MISSING = "(missing)"


def evaluate_groups(prepared: Prepared, max_groups: int, options: dict[str, Any]) -> dict[str, Any]:
    """Measure the largest groups of each group column, worst first.

    The rows are copied once into a temporary table of DuckDB, which goes to disk if it is large;
    each group is then grouped by score there.
    """
    import numpy as np

    from trueodds.compare import holm_adjust

    connection = prepared.source.connection
    with working("copying rows", connection):
        prepared.relation.create("prepared_rows")
    rows = connection.table("prepared_rows")
    entries: list[dict[str, Any]] = []
    left_out = one_class = 0
    for number, name in enumerate(prepared.columns.groups):
        column = quoted(f"group_{number}")
        text = f"coalesce(CAST({column} AS VARCHAR), '{MISSING}')"
        sizes = rows.aggregate(
            f"{text} AS value, count(*) AS n, count(DISTINCT label) AS classes", text
        ).order("n DESC, value")
        left_out += max(0, sizes.aggregate("count(*)").fetchall()[0][0] - max_groups)
        for value, size, classes in sizes.limit(max_groups).fetchall():
            if classes < 2:
                one_class += 1
                continue
            with working(f"{name} = {value}", connection):
                own = rows.filter(f"{text} = {literal(value)}")
                entries.append(_entry(own, prepared.weight, name, value, size, options))
    if entries:
        adjusted = holm_adjust(np.array([entry["p_value"] for entry in entries]))
        for entry, p in zip(entries, adjusted, strict=True):
            entry["p_adjusted"] = float(p)
            entry["flagged"] = bool(p < SIGNIFICANT)
    entries.sort(key=lambda e: (not e["flagged"], -(e["debiased_calibration_error"] or 0.0)))
    return {
        "correction": "Holm",
        "significance": SIGNIFICANT,
        "left_out": left_out,
        "one_class": one_class,
        "groups": entries,
    }


def _entry(
    relation: Any, weight: str | None, name: str, value: str, size: int, options: dict[str, Any]
) -> dict[str, Any]:
    found = evaluate_relation(relation, weight, options)
    metrics = found["metrics"]
    return {
        "column": name,
        "value": value,
        "rows": size,
        "mean_score": found["mean_score"],
        "prevalence": found["prevalence"],
        **{name: measure["estimate"] for name, measure in metrics.items()},
        "p_value": found["p_value"],
    }
