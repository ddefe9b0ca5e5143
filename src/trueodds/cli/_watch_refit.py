"""A new map from the rows since the change."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueodds.cli._methods_list import AUTO, make_calibrator
from trueodds.cli._show import note, working
from trueodds.cli._watch_rows import NewRows, Piece, time_constant
from trueodds.cli._write import write_text

if TYPE_CHECKING:
    from trueodds.cli._engine import Reading
    from trueodds.cli._watch_run import WatchRun

__all__ = ["refit_map"]

MOST_ROWS = 1_000_000


def refit_map(
    run: WatchRun, paths: list[Path], files: list[str], reading: Reading, output: str
) -> dict[str, Any] | None:
    """Fit the default method to the rows since the change, of all files that were named.

    Returns
    -------
    dict or None
        Where the map is, how many rows it was fitted to, and since when; None without an alarm.
    """
    from trueodds.model_selection import describe_fit

    change = run.watch.monitor.since
    if change is None or change.time is None:
        note("no alarm, so no new map was fitted (--refit).")
        return None
    since = f"moment >= {time_constant(str(run.watch.kind), str(change.time))}"
    with run.open(files[0], paths, reading) as source:
        with working("reading rows since the change", source.connection):
            rows = run.select(source, files[0], None, keep=since)
            scores, codes, mass = _newest(rows)
        labelled = np.flatnonzero(codes >= 0)[-MOST_ROWS:]
        calibrator = make_calibrator(AUTO, run.fitted.input, ())
        calibrator.set_params(classes=list(run.classes))
        y = np.array(run.classes)[codes[labelled]]
        weight = None if mass is None else mass[labelled]
        fitted = calibrator.fit(scores[labelled], y, weight), scores[labelled], y, weight
        about = describe_fit(*fitted, parent=run.fitted)
    content = calibrator.map_.with_about(about).to_dict()
    write_text(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1), output)
    note(f"{output}: new map of {len(labelled):,} rows since {change.time}.")
    return {"output": output, "rows": len(labelled), "since": change.time}


def _newest(rows: NewRows) -> tuple[Any, Any, Any]:
    """Scores, codes and weights of the newest rows, a million at least if there are so many."""
    kept: deque[Piece] = deque()
    count = 0
    for piece in rows.pieces():
        kept.append(piece)
        count += len(piece.codes)
        while count - len(kept[0].codes) >= MOST_ROWS:
            count -= len(kept.popleft().codes)
    weights = [piece.weight for piece in kept if piece.weight is not None]
    return (
        np.concatenate([piece.scores for piece in kept]),
        np.concatenate([piece.codes for piece in kept]),
        np.concatenate(weights) if weights else None,
    )
