"""Fits to several classes of a frame whose rows stay on their engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trueodds.basics.log import logger
from trueodds.calibrators._shared.intervals import MOST_VALUES
from trueodds.engines.checks import WeightColumns
from trueodds.engines.frames import collect_columns, open_frame
from trueodds.engines.group import group_scores
from trueodds.engines.sample import SampledRows, is_elsewhere, sample_class_rows
from trueodds.exceptions import InputError, SampledRowsWarning, warn_user
from trueodds.maps import OneVsRestMap
from trueodds.rows import Rows
from trueodds.table import ScoreTable

if TYPE_CHECKING:
    from trueodds.calibrators._shared.base import Calibrator
    from trueodds.maps import CalibrationMap

__all__ = ["fit_columns"]

C = TypeVar("C", bound="Calibrator")
PARTS = 8
"""Parts of a sample that are fitted separately, to estimate the sampling error of a map."""
LOOKED_AT = 2000


def fit_columns(
    calibrator: C,
    frame: Any,
    columns: list[str],
    label: str,
    weights: WeightColumns,
    max_rows: int,
    *,
    alone: bool,
) -> C:
    """Fit to several score columns; ``alone``: whether each class is fitted separately."""
    if not columns:
        raise InputError("score must name at least one column.")
    if is_elsewhere(frame):
        # Log-odds of one class against the rest need the whole row.
        each = alone and calibrator.scale != "logit"
        learn = _fit_each_class if each else _fit_sample
        learn(calibrator, _FrameRows(frame, columns, label, weights), max_rows)
        return calibrator
    found = collect_columns(open_frame(frame), [*columns, label, *weights.names])
    scores = np.column_stack([found[name] for name in columns])
    calibrator.fit(scores, found[label], **weights.collected(found))
    return calibrator


@dataclass(frozen=True)
class _FrameRows:
    """Rows on an engine, and the columns that matter."""

    frame: Any
    columns: list[str]
    label: str
    weights: WeightColumns

    def sample(self, calibrator: Calibrator, max_rows: int) -> SampledRows:
        """All of them if they are few."""
        return sample_class_rows(
            self.frame,
            self.columns,
            self.label,
            self.weights,
            max_rows,
            calibrator.scale,
            rows_sum_to_one=calibrator.rows_sum_to_one,
        )


def _fit_each_class(calibrator: Calibrator, rows: _FrameRows, max_rows: int) -> None:
    """One-vs-rest: a group-by on the engine for each class, and no row collected.

    Intervals need a sample of rows, which is collected.
    """
    kept = rows.sample(calibrator, MOST_VALUES // len(rows.columns))
    read = calibrator.read_rows(kept.scores, kept.labels, kept.weight, None, calibrator.classes)
    maps: list[CalibrationMap] = []
    for name, pos_label in zip(rows.columns, read.classes.tolist(), strict=True):
        grouped = group_scores(
            rows.frame,
            score=name,
            label=rows.label,
            weight=rows.weights.importance,
            counts=rows.weights.count,
            pos_label=pos_label,
            scale=calibrator.scale,
            max_rows=max_rows,
        )
        table = ScoreTable.from_grouped(grouped, max_rows)
        maps.append(calibrator.fit_map(Rows.of_table(table.in_counts())))
    fitted = OneVsRestMap(maps=tuple(maps), scale=calibrator.scale)
    calibrator._set_fitted(fitted, read)


def _fit_sample(calibrator: Calibrator, rows: _FrameRows, max_rows: int) -> None:
    """All classes jointly: from all rows if they are few, otherwise from a random sample."""
    drawn = rows.sample(calibrator, max_rows)
    calibrator.fit(drawn.scores, drawn.labels, drawn.weight)
    if drawn.is_sample:
        error = _sampling_error(calibrator, drawn)
        calibrator.sampling_error_ = error
        logger.info("the sample adds a standard error of %.2g to predictions", error)
        warn_user(
            f"the map was fitted to a random sample of {len(drawn.labels):,} of "
            f"{drawn.n_rows:,} "
            f"rows, which adds a standard error of about {error:.2g} to its predictions; pass a "
            "larger max_rows to reduce it.",
            SampledRowsWarning,
        )


def _sampling_error(calibrator: Calibrator, rows: SampledRows) -> float:
    """Root mean square difference between predictions of this sample's map and of another's.

    Fits to eight parts differ by √8 times as much as fits to whole samples do. The larger the share
    of all rows in the sample, the smaller the error.
    """
    order = np.random.default_rng(0).permutation(len(rows.labels))
    looked_at = rows.scores[order[:LOOKED_AT]]
    forecasts = []
    for part in range(PARTS):
        own = order[part::PARTS]
        twin = type(calibrator)(**calibrator.get_params(deep=False))
        twin.set_params(classes=list(calibrator.classes_))
        weight = None if rows.weight is None else rows.weight.take(own)
        twin.fit(rows.scores[own], rows.labels[own], weight)
        forecasts.append(twin.predict_proba(looked_at))
    variance = np.var(forecasts, axis=0, ddof=1).mean() / PARTS
    left_out = 1 - len(rows.labels) / rows.n_rows
    return float(np.sqrt(variance * left_out))
