"""Rows into the monitor, and a line for each period that they end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from trueodds.cli._watch import Watch
from trueodds.cli._watch_rows import NewRows, Piece

__all__ = ["take_rows"]


def take_rows(
    watch: Watch, fitted: Any, classes: tuple[Any, ...], rows: NewRows
) -> Iterator[dict[str, Any]]:
    """Update the monitor row by row; yields a line after each period."""
    names = np.array(classes, dtype=object)
    for period, pieces in groupby(rows.pieces(), key=lambda piece: piece.period):
        counts = np.zeros(3)
        for piece in pieces:
            counts += _take(watch, fitted, names, piece)
        yield _line(watch, period, counts)


def _take(watch: Watch, fitted: Any, names: Any, piece: Piece) -> Any:
    forecasts = np.asarray(fitted(piece.scores))
    if forecasts.ndim == 2 and forecasts.shape[1] == 2:
        forecasts = forecasts[:, 1]
    labelled = piece.codes >= 0
    if watch.monitor.classes is None:
        y: Any = np.where(labelled, piece.codes, np.nan)
    else:
        y = np.where(labelled, names[piece.codes], None)
    watch.monitor.update(forecasts, y, piece.weight, piece.times, group=piece.groups)
    if piece.times is not None:
        watch.last = str(piece.times[-1])
    p, right = forecasts, piece.codes == 1
    if forecasts.ndim == 2:
        choice = forecasts.argmax(axis=1)
        p, right = forecasts.max(axis=1), choice == piece.codes
    weight = np.ones(len(p)) if piece.weight is None else piece.weight
    mass = weight * labelled
    return np.array([labelled.sum(), (mass * p).sum(), (mass * right).sum()])


def _line(watch: Watch, period: str, counts: Any) -> dict[str, Any]:
    monitor = watch.monitor
    whole = monitor.how_much(1)
    line = {
        "period": period[:200],
        "rows": int(counts[0]),
        "expected": float(counts[1]),
        "observed": float(counts[2]),
        "evidence": monitor.evidence,
        "peak": monitor.peak_evidence,
        "ratio_low": 0.0 if whole is None else min(whole.ratio_low, 1e300),
        "ratio_high": 0.0 if whole is None else min(whole.ratio_high, 1e300),
        "alarm": monitor.alarm,
    }
    return watch.add_period(line)
