"""State files from strangers: refused with a ``StateFormatError``, or a monitor that works."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from support.mutate_json import JsonChanges
from support.naive_monitor import stream
from trueodds import CalibrationMonitor
from trueodds.exceptions import StateFormatError
from trueodds.watch import Watch
from trueodds.watch.rows_seen import FileRecord

__all__ = ["TOKENS", "change", "check", "seeds"]

FOLDER = tempfile.TemporaryDirectory(prefix="trueodds-fuzz-")
P, Y = stream(60, shift=2.0)
CLASSES = np.stack([1 - P, 0.6 * P, 0.4 * P], axis=1)


def _states() -> list[dict[str, Any]]:
    times = np.arange(len(P))
    names = np.array(["a", "b"])[times % 2]
    plain = CalibrationMonitor().update(P, Y)
    grouped = CalibrationMonitor(alpha=0.5, max_groups=2).update(P, Y, time=times, group=names)
    several = CalibrationMonitor(tolerance=0.01, classes=("x", "y", "z"))
    several.update(CLASSES, np.array(["x", "y"])[Y])
    line = {"period": "7", "rows": 9, "expected": 4.5, "observed": 4.0, "e_value": 1.0}
    line |= {
        "peak_e_value": 1.5,
        "ratio_low": 0.5,
        "ratio_high": 2.0,
        "alarm": False,
        "late": False,
    }
    values = np.array([300, 556, 557], dtype=np.uint64)
    record = FileRecord("0" * 32, 9, 1, 4, 5, 3, 1, 2, "7.0", "6.0", values)
    watch = Watch("f" * 64, plain, "day", "7.0", "number", "1.0", {"7.csv": record}, [line], "day")
    watch.see("day", ["2026-10-01 00:00:00", "2026-10-03 00:00:00"])
    for start in watch.newly_missing():
        watch.add_event("missing", "2026-10-03T00:00:00Z", period=start, rows=0)
    watch.add_event("changed", "2026-10-03T00:00:00Z", period="7", file="7.csv", rows=2)
    alarm = {"at": "2026-10-03T00:00:00Z", "alarm_time": 7, "alarm_row": 3, "rows": 9}
    watch.acknowledged.append({**alarm, "peak_e_value": 21.0})
    monitors = (CalibrationMonitor(), plain, grouped, several)
    return [*(monitor.to_dict() for monitor in monitors), watch.to_dict()]


DOCUMENTS = _states()
TOKENS = sorted({key for state in DOCUMENTS for key in (*state, *(state.get("stream") or ()))})
change = JsonChanges(DOCUMENTS)


def seeds() -> list[bytes]:
    """Monitors of every kind, and the state of a scheduled job."""
    return [json.dumps(document, separators=(",", ":")).encode() for document in DOCUMENTS]


def check(data: bytes) -> None:
    """Load the state both ways; a monitor that loads takes rows, answers, and is saved again."""
    path = Path(FOLDER.name) / "state.json"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for load in (CalibrationMonitor.load, Watch.load):
            try:
                loaded = load(path)
            except StateFormatError as error:
                assert 0 < len(str(error)) < 1_000  # noqa: PT017
                continue
            monitor = loaded.monitor if isinstance(loaded, Watch) else loaded
            _use(monitor)
            _save(loaded, path)


def _use(monitor: CalibrationMonitor) -> None:
    state = monitor.to_dict()["stream"]
    n_classes = 0 if state is None else state["n_classes"]
    if state is None and monitor.classes is not None and len(monitor.classes) > 2:
        n_classes = len(monitor.classes)
    rows = np.tile(np.eye(n_classes), (2, 1)) if n_classes else np.array([0.0, 0.3, 0.7, 1.0])
    codes = np.arange(len(rows)) % (n_classes or 2)
    labels = codes if monitor.classes is None else [monitor.classes[code] for code in codes]
    grouped = state is not None and state["grouped"]
    monitor.update(rows, labels, group=["a", "z"] * (len(rows) // 2) if grouped else None)
    assert monitor.e_value >= 0, monitor.e_value
    assert not math.isnan(monitor.peak_e_value)
    repr(monitor)
    json.dumps(monitor.summary(), allow_nan=False)


def _save(loaded: Any, path: Path) -> None:
    """What a monitor writes can be read again."""
    loaded.save(str(path))
    assert type(loaded).load(path).to_dict() == loaded.to_dict()
