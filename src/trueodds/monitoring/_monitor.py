"""The calibration monitor."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from trueodds.basics.files import as_path, write_text
from trueodds.basics.shown import shown
from trueodds.basics.threads import Locked
from trueodds.exceptions import InputError, StateFormatError
from trueodds.inputs import (
    as_tuple,
    check_integer,
    check_label_length,
    check_level,
    check_number,
)
from trueodds.kernels.monitor import update_bets
from trueodds.monitoring._bets import EDGES, MAX_CLASSES, SLOPES, TILTS, Bets, check_cuts
from trueodds.monitoring._diagnosis import advise, find_change, measure
from trueodds.monitoring._findings import (
    ChangePoint,
    MiscalibratedRegion,
    Miscalibration,
    Recommendation,
    miscalibrated_regions,
)
from trueodds.monitoring._rows import read_stream
from trueodds.state_file import (
    Moment,
    document_fields,
    read_state,
    state_text,
)

__all__ = ["FORMAT", "VERSION", "CalibrationMonitor"]

FORMAT, VERSION = "trueodds-monitor", 1
KEYS = {"alpha", "tolerance", "classes", "max_groups", "group_cuts", "stream"}


class CalibrationMonitor(Locked, unlocked=("save",)):
    """Monitor whether forecasts are still calibrated, and raise an alarm when they are not.

    The monitor bets against the forecasts, row by row, starting with one unit of money. If the
    forecasts are calibrated, it cannot expect to win. The chance that its wealth, the ``e_value``,
    *ever* reaches 1/alpha is then at most alpha (Ville's inequality), so results may be checked
    after every row. It bets on forecasts that are too low, too high, too extreme or not extreme
    enough. It does so for all rows, score ranges, groups and classes, and for changes at any row.

    It does not detect errors that cancel within each score range and each group, and it does not
    measure discrimination.

    Parameters
    ----------
    alpha : float, default=0.05
        Probability of ever raising a false alarm.
    tolerance : float, default=0.0
        Forecasts count as right while the true probability of each row is within this distance
        of its forecast. With 0.01, a million rows do not raise an alarm for an error of 0.005.
    classes : sequence of labels, default=None
        The labels in the order of the columns of the scores; by default 0, 1, … . Of two, the
        second one is positive.
    max_groups : int, default=20
        Maximum number of groups that are monitored separately, in order of appearance. Rows of
        further groups count in all other regions.
    group_cuts : sequence of float, default=None
        Increasing numbers at which groups that are numbers are cut into bands: ``[30, 50]`` makes
        three. A stream has no quantiles before it begins, so by default each number is a group.
        ``trueodds monitor`` takes the cuts from its first rows, by the rule of
        :func:`trueodds.metrics.group_test`.

    Attributes
    ----------
    alarm : bool
        Whether the e-value has ever reached 1/alpha.
    alarm_row, alarm_time
        The row and time at which it first did; None without an alarm.
    e_value, peak_e_value : float
        The current e-value, which starts at 1, and the largest so far.
    change_point : ChangePoint or None
        The first miscalibrated row, with an interval; None without an alarm.
    regions : tuple of MiscalibratedRegion
        Regions whose own e-value is large enough; largest first.
    n_rows, n_unlabeled : int
        Rows that were counted, and rows without a label.

    Notes
    -----
    The guarantee is for labels that, given all rows before, are 1 with the probability that was
    forecast. So the order of rows must not depend on their labels: if frauds are reported sooner
    than other rows are cleared, wait until both are in, and take rows in the order of their
    forecasts. Rows without a label are left out, which is harmless if a label's absence has
    nothing to do with its value, given the forecast.

    A count of k represents k rows with that forecast and label. Importances are at most 1, with
    which the guarantee holds; they are not rescaled, as those of later rows are not known.

    The state takes about 50 kB for any number of rows. A row takes about half a microsecond.
    Threads may share a monitor. An update that raises an error counts none of its rows.

    References
    ----------
    S. Arnold, A. Henzi, J. F. Ziegel, "Sequentially valid tests for forecast calibration",
    Annals of Applied Statistics 17 (2023), 1909-1935, doi:10.1214/22-AOAS1697.
    A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, "Game-theoretic statistics and safe anytime-valid
    inference", Statistical Science 38 (2023), 576-601, doi:10.1214/23-STS894.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import CalibrationMonitor
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.6, 8000)
    >>> truth = np.where(np.arange(8000) < 5000, p, p + 0.08)  # too low since row 5,001
    >>> monitor = CalibrationMonitor(alpha=0.05)
    >>> for day in np.array_split(np.arange(8000), 80):
    ...     _ = monitor.update(p[day], rng.random(100) < truth[day], time=int(day[0] // 100))
    >>> monitor.alarm, monitor.alarm_time
    (True, 56)
    >>> monitor.change_point.low <= 5001 <= monitor.change_point.high
    True
    >>> str(monitor.regions[0])
    'too low'
    >>> monitor.recommendation().action
    'shift'
    """

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        tolerance: float = 0.0,
        classes: Sequence[Any] | None = None,
        max_groups: int = 20,
        group_cuts: Sequence[float] | None = None,
    ) -> None:
        self.alpha = check_level(alpha, "alpha")
        self.tolerance = check_number(tolerance, "tolerance")
        if self.tolerance >= 0.5:
            raise InputError(f"tolerance must be below 0.5; got {tolerance!r}.")
        self.classes = None if classes is None else as_tuple(classes, "classes")
        if self.classes is not None and not _are_distinct(self.classes):
            raise InputError(f"classes must be two or more distinct labels; got {shown(classes)}.")
        if self.classes is not None and not all(map(_is_label, self.classes)):
            raise InputError(f"classes must be texts or finite numbers; got {shown(classes)}.")
        check_label_length(self.classes or (), "classes")
        self.max_groups = check_integer(max_groups, "max_groups", 1)
        if self.max_groups > MAX_CLASSES:
            raise InputError(f"max_groups must be at most {MAX_CLASSES}; got {max_groups!r}.")
        self.group_cuts = None if group_cuts is None else check_cuts(group_cuts)
        self._bets: Bets | None = None

    def update(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        time: Any = None,
        *,
        counts: Any = None,
        group: Any = None,
    ) -> Self:
        """Update the monitor with one or more rows, in order.

        Batches and single rows give the same state, bit for bit.

        Parameters
        ----------
        scores : float, or array-like of shape (n,) or (n, n_classes)
            Probabilities of the positive class, or of each class. With more than two classes, the
            monitor checks the most probable class (top label) and each class.
        y : label, or array-like of shape (n,)
            Outcomes; None or NaN where the label is unknown.
        sample_weight : float or array-like of shape (n,), default=None
            Importance of each row, at most 1.
        time : anything, or array-like of shape (n,), default=None
            Time of each row, used in results.
        counts : int or array-like of shape (n,), default=None
            How often each row occurred.
        group : str or array-like of shape (n,), default=None
            Group of each row. Pass it in every call or in none.

        Returns
        -------
        CalibrationMonitor
            Itself.
        """
        rows = read_stream(scores, y, sample_weight, counts, time, group, self.classes)
        n_classes = 0 if rows.table is None else rows.table.shape[1]
        bets = self._bets
        if bets is None:
            bets = Bets.new(n_classes, self.max_groups if group is not None else 0)
        bets.check_kind(n_classes, group is not None)
        codes = None if rows.groups is None else bets.group_codes(rows.groups, self.group_cuts)
        done = 0
        while done < len(rows):
            if not bets.history.room(bets.rows):
                bets.history.open(bets.rows, rows.moment(done))
            end = min(len(rows), done + bets.history.room(bets.rows))
            part = slice(done, end)
            alarmed = bets.alarm_row
            before = bets.rows
            if not update_bets(
                rows.top[part],
                rows.right[part],
                *bets.arrays(),
                TILTS,
                SLOPES,
                EDGES,
                self.tolerance,
                1.0 / self.alpha,
                weight=None if rows.weight is None else rows.weight[part],
                group=None if codes is None else codes[part],
                class_prob=None if rows.table is None else rows.table[part],
                codes=None if rows.codes is None else rows.codes[part],
            ):
                raise InputError(
                    "the rows were not counted, since the state holds numbers that are not finite. "
                    "Load an earlier state."
                )
            if bets.alarm_row and not alarmed:
                bets.alarm_time = rows.moment(done + bets.alarm_row - before - 1)
            done = end
        bets.n_unlabeled += rows.n_unlabeled
        if len(rows):
            bets.last_time = rows.moment(len(rows) - 1)
        self._bets = bets
        return self

    @property
    def alarm(self) -> bool:
        """Whether the e-value has ever reached 1/alpha."""
        return self.alarm_row is not None

    @property
    def alarm_row(self) -> int | None:
        """The row at which the e-value first reached 1/alpha, counted from 1."""
        return None if self._bets is None else self._bets.alarm_row or None

    @property
    def alarm_time(self) -> Moment:
        """The time of that row."""
        return None if self._bets is None else self._bets.alarm_time

    @property
    def last_time(self) -> Moment:
        """The time of the last row."""
        return None if self._bets is None else self._bets.last_time

    @property
    def e_value(self) -> float:
        """The e-value after the last row."""
        return 1.0 if self._bets is None else self._bets.e_value

    @property
    def peak_e_value(self) -> float:
        """The largest e-value after any row."""
        return 1.0 if self._bets is None else self._bets.peak

    @property
    def n_rows(self) -> int:
        """Rows with a label."""
        return 0 if self._bets is None else self._bets.rows

    @property
    def n_unlabeled(self) -> int:
        """Rows without a label, which were left out."""
        return 0 if self._bets is None else self._bets.n_unlabeled

    @property
    def change_point(self) -> ChangePoint | None:
        """The first miscalibrated row; None without an alarm."""
        return self._change() if self.alarm else None

    @property
    def regions(self) -> tuple[MiscalibratedRegion, ...]:
        """Regions whose own e-value is large enough, largest first."""
        if self._bets is None or not self.alarm:
            return ()
        labels = self.classes or tuple(range(self._bets.n_classes))
        return miscalibrated_regions(self._bets, labels, self._first_row())

    def miscalibration(self, first_row: int | None = None) -> Miscalibration | None:
        """The size of the error, with confidence sequences.

        Parameters
        ----------
        first_row : int, default=None
            First row to include: 1, or the first row of a later stretch of the history. Default:
            the change point if there was an alarm, otherwise 1.

        Returns
        -------
        Miscalibration or None
            None before the first row.
        """
        if self._bets is None or not self.n_rows:
            return None
        if first_row is None:
            first = self._first_row()
        else:
            first = check_integer(first_row, "first_row", 0, "None or ", most=2**63)
        first = max(row for row in self._bets.history.starts if row < max(first, 1)) + 1
        return measure(self._bets.history, self.n_rows, first, self.alpha)

    def recommendation(self) -> Recommendation:
        """Recommend to keep the forecasts, shift their log-odds, or fit a new map."""
        if self._bets is None or not self.alarm:
            beyond = f" by more than {self.tolerance:g}" if self.tolerance else ""
            words = f"Keep the forecasts. No miscalibration{beyond} was found."
            return Recommendation("keep", 0.0, 0.0, 0.0, self.n_rows, None, words)
        return advise(self._bets.history, self.n_rows, self._first_row())

    def _change(self) -> ChangePoint:
        assert self._bets is not None  # noqa: S101
        bets = self._bets
        return find_change(
            bets.history, bets.alarm_row, bets.alarm_time, self.tolerance, bets.center
        )

    def _first_row(self) -> int:
        return self._change().row if self.alarm else 1

    def summary(self) -> dict[str, Any]:
        """Return all results as plain JSON values."""
        error, change = self.miscalibration(), self.change_point
        return {
            "rows": self.n_rows,
            "rows_unlabeled": self.n_unlabeled,
            "alpha": self.alpha,
            "tolerance": self.tolerance,
            "alarm": self.alarm,
            "alarm_row": self.alarm_row,
            "alarm_time": self.alarm_time,
            "e_value": self.e_value,
            "peak_e_value": self.peak_e_value,
            "change_point": None if change is None else change.to_dict(),
            "regions": [region.to_dict() for region in self.regions],
            "miscalibration": None if error is None else error.to_dict(),
            "recommendation": self.recommendation().to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state; :meth:`from_dict` continues from it bit for bit."""
        classes = self.classes
        return {
            "format": FORMAT,
            "version": VERSION,
            "alpha": self.alpha,
            "tolerance": self.tolerance,
            "classes": None if classes is None else [_plain(label) for label in classes],
            "max_groups": self.max_groups,
            "group_cuts": None if self.group_cuts is None else list(self.group_cuts),
            "stream": None if self._bets is None else self._bets.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Any) -> CalibrationMonitor:
        """Return a monitor from its state, every value of which is checked."""
        if isinstance(content, dict):  # states of numbers that are not cut may lack the key
            content = {"group_cuts": None, **content}
        fields = document_fields(content, FORMAT, VERSION, KEYS, "state")
        classes = fields.raw("classes")
        if classes is not None:
            classes = fields.listed("classes", MAX_CLASSES)
            if not all(type(label) in (str, int, float, bool) for label in classes):
                raise StateFormatError("state.classes must be null or a list of labels.")
        alpha, tolerance = fields.number("alpha", 1e-300, 1.0), fields.number("tolerance", 0.0, 0.5)
        max_groups = fields.count("max_groups", MAX_CLASSES)
        cuts = fields.raw("group_cuts")
        try:
            monitor = cls(
                alpha=alpha,
                tolerance=tolerance,
                classes=classes,
                max_groups=max_groups,
                group_cuts=None if cuts is None else fields.listed("group_cuts", MAX_CLASSES),
            )
        except InputError as error:
            raise StateFormatError(f"state: {error}") from None
        if fields.raw("stream") is not None:
            bets = Bets.from_dict(fields.raw("stream"), max_groups)
            if classes is not None and len(classes) != max(2, bets.n_classes):
                raise StateFormatError("state.classes does not fit state.stream.n_classes.")
            monitor._bets = bets
        return monitor

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state as JSON; the file appears only when it is complete."""
        write_text(state_text(self.to_dict(), self.from_dict), path)
        return as_path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CalibrationMonitor:
        """Read a state that :meth:`save` wrote.

        The monitor of a scheduled job is ``trueodds.watch.Watch.load(path).monitor``.
        """
        path = as_path(path)
        return read_state(path, cls.from_dict)

    def __repr__(self) -> str:
        said = f"alarm at row {self.alarm_row:,}" if self.alarm_row else "no alarm"
        return f"<CalibrationMonitor: {said}, {self.n_rows:,} rows, e-value {self.e_value:.3g}>"


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _is_label(value: Any) -> bool:
    """Whether a state can hold a label."""
    value = _plain(value)
    return type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))


def _are_distinct(classes: tuple[Any, ...]) -> bool:
    """Whether they are two or more labels, no two of them equal."""
    try:
        return 2 <= len(set(classes)) == len(classes)
    except TypeError:  # lists, which cannot be labels
        return False
