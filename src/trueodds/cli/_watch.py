"""The state file of ``trueodds monitor``: a monitor, what was read, and a line for each period."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueodds.basics.files import write_text
from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, StateFormatError
from trueodds.monitoring import CalibrationMonitor
from trueodds.monitoring.state import Fields, read_json

__all__ = ["Watch", "file_fingerprint", "map_fingerprint"]

FORMAT, VERSION = "trueodds-watch", 1
KEYS = {"format", "version", "map", "time", "last", "kind", "files", "periods", "monitor"}
PERIOD = {
    "period", "rows", "expected", "observed", "evidence", "peak", "ratio_low", "ratio_high", "alarm"
}  # fmt: skip
MOST_FILES = 400
MOST_PERIODS = 150
KINDS = ("number", "time", "text")
CHUNK = 1 << 20


@dataclass
class Watch:
    """What a scheduled job remembers from one run to the next.

    Parameters
    ----------
    map : str
        Fingerprint of the map whose forecasts are watched.
    monitor : CalibrationMonitor
    time : str or None
        The column of times.
    last, kind : str or None
        The latest time that was read, and how times are compared.
    files : dict
        Names of files that were read, with their fingerprints; the newest 400.
    periods : list of dict
        A line for each of the last 150 periods.
    """

    map: str
    monitor: CalibrationMonitor
    time: str | None
    last: str | None = None
    kind: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    periods: list[dict[str, Any]] = field(default_factory=list)

    def remember(self, paths: list[Path]) -> None:
        """Note that files were read."""
        for path in paths:
            self.files.pop(path.name, None)
            self.files[path.name] = file_fingerprint(path)
        self.files = dict(list(self.files.items())[-MOST_FILES:])

    def is_new(self, path: Path) -> bool:
        """Whether a file has not been read yet, or has changed since."""
        known = self.files.get(path.name)
        if known is None or known == file_fingerprint(path):
            return known is None
        if self.time is None:
            raise InputError(
                f"{path.name} was read before and has changed since; without --time nobody can "
                "tell which of its rows are new."
            )
        return True

    def add_period(self, line: dict[str, Any]) -> dict[str, Any]:
        """Add the line of a period, or go on with the last one if it is the same period.

        Returns
        -------
        dict
            The line with all rows of the period so far.
        """
        if self.periods and self.time is not None and self.periods[-1]["period"] == line["period"]:
            begun = self.periods.pop()
            line = line | {key: begun[key] + line[key] for key in ("rows", "expected", "observed")}
        self.periods = [*self.periods, line][-MOST_PERIODS:]
        return line

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "map": self.map,
            "time": self.time,
            "last": self.last,
            "kind": self.kind,
            "files": self.files,
            "periods": self.periods,
            "monitor": self.monitor.to_dict(),
        }

    def save(self, path: str) -> None:
        """Write the file, whole or not at all."""
        text = json.dumps(self.to_dict(), allow_nan=False, separators=(",", ":"))
        write_text(text + "\n", path)

    @classmethod
    def load(cls, path: Path) -> Watch:
        """Read a state file, which is checked as if from an attacker."""
        try:
            return cls._read(read_json(path))
        except StateFormatError as error:
            raise StateFormatError(
                f"{path.name} holds no state that can be used: {error} To begin anew, move it away."
            ) from None

    @classmethod
    def _read(cls, content: Any) -> Watch:
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise StateFormatError(f'"format" must be {FORMAT!r}.')
        version = content.get("version")
        if version != VERSION or type(version) is not int:
            raise StateFormatError(f'"version" must be {VERSION}; got {shown(version)}.')
        fields = Fields(content, KEYS, "state")
        optional = {key: fields.raw(key) for key in ("time", "last", "kind")}
        for key, value in optional.items():
            if value is not None:
                optional[key] = fields.text(key)
        if optional["kind"] not in (None, *KINDS):
            raise StateFormatError(f"state.kind must be one of {KINDS}.")
        files = fields.raw("files")
        if not isinstance(files, dict) or len(files) > MOST_FILES:
            raise StateFormatError(f"state.files must be an object of at most {MOST_FILES} names.")
        if not all(isinstance(value, str) and len(value) == 16 for value in files.values()):
            raise StateFormatError("state.files must hold fingerprints of 16 characters.")
        periods = [_period(line) for line in fields.listed("periods", MOST_PERIODS)]
        monitor = CalibrationMonitor.from_dict(fields.raw("monitor"))
        return cls(fields.text("map"), monitor, files=dict(files), periods=periods, **optional)


def _period(content: Any) -> dict[str, Any]:
    fields = Fields(content, PERIOD, "state.periods")
    fields.text("period")
    fields.count("rows")
    fields.flag("alarm")
    for key in ("expected", "observed", "evidence", "peak", "ratio_low", "ratio_high"):
        fields.number(key, 0.0, 1e300)
    return dict(content)


def map_fingerprint(fitted: Any) -> str:
    """The same for equal maps."""
    text = json.dumps(fitted.to_dict(), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def file_fingerprint(path: Path) -> str:
    """Of a file's size, its first and its last megabyte."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as stream:
        digest.update(stream.read(CHUNK))
        stream.seek(max(0, size - CHUNK))
        digest.update(stream.read(CHUNK))
    return digest.hexdigest()[:16]
