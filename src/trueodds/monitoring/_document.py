"""A monitor to and from its state; ``docs/monitoring.md`` describes the format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, StateFormatError
from trueodds.inputs import MOST_WEIGHT
from trueodds.monitoring._bets import N_PARTS, kept_for_later
from trueodds.monitoring._history import MAX_STRETCHES, History
from trueodds.monitoring._stream import MAX_CLASSES, Stream, n_places
from trueodds.monitoring.state import MOST_ROWS, Fields, is_moment

if TYPE_CHECKING:
    from trueodds.monitoring._monitor import CalibrationMonitor

__all__ = ["FORMAT", "VERSION", "from_document", "to_document"]

FORMAT = "trueodds-monitor"
VERSION = 1
KEYS = {"format", "version", "alpha", "tolerance", "classes", "max_groups", "stream"}
ARRAYS = ("clock", "stakes", "open_share", "value", "named", "sums")
STREAM = {"n_classes", "grouped", "groups", "unlabelled", "alarm_time", "last_time", "history"}
HISTORY = {"starts", "moments", "cells"}
MOST = 1e281


def to_document(monitor: CalibrationMonitor) -> dict[str, Any]:
    """The state as plain JSON values; numbers read back as the same float64."""
    stream = monitor._stream
    return {
        "format": FORMAT,
        "version": VERSION,
        "alpha": monitor.alpha,
        "tolerance": monitor.tolerance,
        "classes": None if monitor.classes is None else [_plain(c) for c in monitor.classes],
        "max_groups": monitor.max_groups,
        "stream": None if stream is None else _stream_document(stream),
    }


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _stream_document(stream: Stream) -> dict[str, Any]:
    history = stream.history
    return {
        "n_classes": stream.n_classes,
        "grouped": stream.n_groups > 0,
        "groups": list(stream.groups),
        "unlabelled": stream.n_unlabelled,
        "alarm_time": stream.alarm_time,
        "last_time": stream.last_time,
        **{name: getattr(stream, name).tolist() for name in ARRAYS},
        "history": {
            "starts": list(history.starts),
            "moments": list(history.moments),
            "cells": [_short(cells) for cells in history.cells],
        },
    }


def _short(cells: Any) -> list[list[float | int]]:
    """Counts by part of the scale, whole numbers without a point: two thirds of the bytes."""
    return [[int(v) if float(v).is_integer() else v for v in row] for row in cells.tolist()]


def from_document(content: Any) -> CalibrationMonitor:
    """Check a state and make a monitor of it."""
    from trueodds.monitoring._monitor import CalibrationMonitor

    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StateFormatError(f'not the state of a monitor: "format" must be {FORMAT!r}.')
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise StateFormatError(f'"version" must be a positive integer; got {shown(version)}.')
    if version > VERSION:
        raise StateFormatError(
            f"the state has format version {version}; this trueodds reads up to {VERSION}: upgrade."
        )
    fields = Fields(content, KEYS, "state")
    classes = fields.raw("classes")
    if classes is not None:
        classes = fields.listed("classes", MAX_CLASSES)
        if not all(type(label) in (str, int, float, bool) for label in classes):
            raise StateFormatError("state.classes must be null or a list of labels.")
    try:
        monitor = CalibrationMonitor(
            alpha=fields.number("alpha", 1e-300, 1.0),
            tolerance=fields.number("tolerance", 0.0, 0.5),
            classes=classes,
            max_groups=fields.count("max_groups", MAX_CLASSES),
        )
    except StateFormatError:
        raise
    except InputError as error:
        raise StateFormatError(f"state: {error}") from None
    if fields.raw("stream") is not None:
        stream = _read_stream(fields.raw("stream"), monitor.max_groups)
        if classes is not None and len(classes) != max(2, stream.n_classes):
            raise StateFormatError("state.classes does not fit state.stream.n_classes.")
        monitor._stream = stream
    return monitor


def _read_stream(content: Any, max_groups: int) -> Stream:
    fields = Fields(content, STREAM | set(ARRAYS), "state.stream")
    n_classes = fields.count("n_classes", MAX_CLASSES)
    if n_classes in (1, 2):
        raise StateFormatError("state.stream.n_classes must be 0 or at least 3.")
    n_groups = max_groups if fields.flag("grouped") else 0
    places, sums = n_places(n_classes, n_groups), n_classes + n_groups
    clock = fields.array("clock", (5,), -15.0, MOST)
    rows = clock[0]
    if not (0 <= rows <= MOST_ROWS and rows.is_integer() and 0 <= clock[4] <= rows):
        raise StateFormatError("state.stream.clock must begin with a count of rows.")
    if abs(clock[1]) > 15 or clock[2:].min() < 0 or not float(clock[4]).is_integer():
        raise StateFormatError("state.stream.clock holds numbers that no stream gives.")
    named = fields.array("named", (places,), 0.0, float(rows))
    if not np.array_equal(named, np.round(named)):
        raise StateFormatError("state.stream.named must hold rows.")
    return Stream(
        n_classes,
        n_groups,
        clock=clock,
        stakes=fields.array("stakes", (places, 8), 0.0, MOST),
        open_share=fields.array("open_share", (places,), float(kept_for_later(rows + 1)), 1.0),
        value=fields.array("value", (places,), 0.0, MOST),
        named=named,
        sums=fields.array("sums", (sums, 3), 0.0, rows * MOST_WEIGHT),
        history=_read_history(fields.raw("history"), int(rows)),
        groups=fields.texts("groups", n_groups),
        n_unlabelled=fields.count("unlabelled"),
        alarm_time=fields.moment("alarm_time"),
        last_time=fields.moment("last_time"),
    )


def _read_history(content: Any, rows: int) -> History:
    fields = Fields(content, HISTORY, "state.stream.history")
    starts = fields.listed("starts", MAX_STRETCHES)
    good = all(type(start) is int for start in starts)
    if not good or starts != sorted(set(starts)) or (starts and starts[-1] >= max(rows, 1)):
        raise StateFormatError("state.stream.history.starts must be increasing rows of the stream.")
    if bool(starts) != (rows > 0) or (starts and starts[0] != 0):
        raise StateFormatError("state.stream.history.starts must begin with 0.")
    moments = fields.listed("moments", MAX_STRETCHES)
    if len(moments) != len(starts) or not all(is_moment(moment) for moment in moments):
        raise StateFormatError("state.stream.history.moments must be one time for each start.")
    cells = fields.array("cells", (len(starts), N_PARTS, 4), 0.0, rows * MOST_WEIGHT)
    if bool((cells[..., 1:] > cells[..., :1] * (1 + 1e-9) + 1e-9).any()):
        raise StateFormatError("state.stream.history.cells has more positives than rows.")
    return History(list(starts), list(moments), [np.ascontiguousarray(block) for block in cells])
