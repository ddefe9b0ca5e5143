"""A calibrator that learns from labels as they come."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from trueodds.basics.files import as_path, write_text
from trueodds.basics.shown import shown
from trueodds.basics.threads import Locked
from trueodds.exceptions import InputError, MapFormatError, StateFormatError
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    as_tuple,
    check_choice,
    check_flag,
    check_integer,
    check_length,
    positive_column,
    validate_scores,
)
from trueodds.kernels.online import clipped_log_odds, clipped_log_odds_into
from trueodds.maps import CalibrationMap, IdentityMap, LogOddsCurveMap, OneVsRestMap
from trueodds.monitoring import as_rows, label_codes, stream_weights
from trueodds.numerics.log_odds import sigmoid
from trueodds.numerics.softmax.logits import one_vs_rest_scores
from trueodds.online._curve import sample_curve
from trueodds.online._pending import LARGEST_ID, LONGEST_ID, Pending, RowId
from trueodds.online._settings import CODES, MAX_LOG_ODDS
from trueodds.online._stream import Stream
from trueodds.state_file import (
    Fields,
    document_fields,
    read_state,
    state_text,
)

__all__ = ["FORMAT", "VERSION", "OnlineCalibrator"]

FORMAT, VERSION = "trueodds-online", 1
KEYS = {
    "scale", "classes", "start", "monotone", "max_pending", "n_unlabeled", "n_unknown", "n_dropped",
    "range", "streams", "pending",
}  # fmt: skip
MOST_CLASSES = 100
MOST_PENDING = 100_000
LARGEST_SCORE = 1e300


class OnlineCalibrator(Locked, unlocked=("save",)):
    """Calibrate scores while labels come in: forecast a row, then learn its label.

    The forecast combines 16 Bayesian experts: the scores unchanged, shifts and lines of the
    log-odds, and smooth curves, each with its own memory. Three mixtures switch between them.
    Defensive forecasting then corrects the result wherever earlier forecasts were off. For every
    sequence of labels, the log-loss exceeds that of any expert by at most ``bound_`` nats, and
    residuals stay within ``calibration_`` bounds. ``docs/online.md`` has the theorems.

    Use it if the relation between scores and labels drifts, or if labels arrive continuously. For
    a fixed set of labeled rows use :class:`~trueodds.AutoCalibrator`.

    Parameters
    ----------
    start : CalibrationMap or fitted calibrator, default=None
        The map to begin with. It is one more expert, and all others are centered on it and begin
        near it; ``IdentityMap()`` trusts the scores. Pass one if the first labels come late:
        without it, small scores are forecast several times too high until then. With several
        classes it must be a one-vs-rest map.
    scale : {"probability", "logit", "raw"}, default=None
        Scale of the scores; by default that of ``start``, or ``"probability"``. Without ``start``,
        raw decision values are taken as log-odds.
    classes : sequence of labels, default=None
        The labels in the order of the score columns; by default those of ``start``, or 0, 1, … .
        With two, the second one is positive.
    monotone : bool, default=False
        Whether ``map_`` must not decrease. Forecasts are not affected.
    max_pending : int, default=1000
        Rows from :meth:`ask` that wait for their labels. With more, the oldest are dropped.

    Attributes
    ----------
    map_ : CalibrationMap
        The forecasts of this moment as an ordinary map, which can be saved and exported.
    experts_ : tuple of Expert
        Experts with their shares of the mixture, the largest first.
    regret_, bound_ : float
        Log-loss so far minus that of the best expert, in nats, and the bound on it.
    calibration_ : tuple of PlaceCalibration
        Sums of residuals at 17 places of the scale and in all, with their bounds.
    n_rows, n_unlabeled : int
        Rows that were learned, and rows whose label is missing.
    n_pending, n_unknown, n_dropped : int
        Rows that wait for their labels, labels of unknown ids, and rows dropped from the buffer.

    Notes
    -----
    Scores, and forecasts of experts, are clipped to [10⁻⁶, 1 − 10⁻⁶]. Scores of exactly 0 and 1
    share the ends of the curves. A row costs about 2 µs, and the state about 15 kB of JSON,
    however many rows there were; both are for each class if there are more than two.

    A row of weight k counts like k rows with the same forecast. The bounds hold for weights of at
    most 1; otherwise ``bound_`` is infinite. Labels that come together later, after :meth:`ask`,
    count by their mean in ``regret_`` and ``calibration_``.

    Threads may share a calibrator. An update that would leave numbers that are not finite raises
    :class:`~trueodds.exceptions.InputError`, and nothing of it is learned.

    References
    ----------
    V. Vovk, A. Takemura, G. Shafer, "Defensive forecasting", AISTATS 2005, 365-372.
    M. Herbster, M. K. Warmuth, "Tracking the best expert", Machine Learning 32 (1998), 151-178,
    doi:10.1023/A:1007424614876.
    C. Gupta, A. Ramdas, "Online Platt scaling with calibeating", ICML 2023, 12182-12204.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import OnlineCalibrator
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(0.02, 0.6, 4000)
    >>> y = (rng.random(4000) < truth).astype(int)
    >>> scores = truth**2  # too low
    >>> online = OnlineCalibrator()
    >>> forecasts = online.replay(scores, y)[:, 1]  # each before its label
    >>> def log_loss(p):
    ...     return float(-np.log(np.where(y == 1, p, 1 - p)).mean())
    >>> round(log_loss(scores), 3), round(log_loss(forecasts), 3), round(log_loss(truth), 3)
    (0.72, 0.56, 0.558)
    >>> online.predict_proba([0.04, 0.25]).round(2)  # 0.2 and 0.5 are right
    array([[0.78, 0.22],
           [0.53, 0.47]])
    >>> online.regret_ < online.bound_
    True
    """

    def __init__(
        self,
        *,
        start: Any = None,
        scale: InputScale | None = None,
        classes: Sequence[Any] | None = None,
        monotone: bool = False,
        max_pending: int = 1000,
    ) -> None:
        self.start = None if start is None else _as_map(start)
        if scale is not None:
            check_choice(scale, ("probability", "logit", "raw"), "scale")
        if self.start is not None and scale not in (None, self.start.scale):
            raise InputError(
                f"scale must be that of the start map, {self.start.scale!r}; got {scale!r}."
            )
        own = "probability" if self.start is None else self.start.scale
        self.scale: InputScale = own if scale is None else scale
        self.classes = _checked_classes(classes, self.start)
        check_flag(monotone, "monotone")
        self.monotone = monotone
        self.max_pending = check_integer(max_pending, "max_pending", 1, most=MOST_PENDING)
        self.n_unlabeled = self.n_unknown = self.n_dropped = 0
        self._range: tuple[float, float] | None = None
        self._streams: list[Stream] = []
        self._pending: Pending | None = None
        if self.classes is not None:
            self._open(len(self.classes))
        # One row as a plain number takes a shorter way.
        self._short = self.start is None and self.classes is None and self.scale != "raw"

    # Forecast and learn --------------------------------------------------------------------------

    def predict_proba(self, scores: Any) -> Floats:
        """Forecasts of this moment; nothing is learned and nothing remembered.

        Parameters
        ----------
        scores : float, or array-like of shape (n,) or (n, n_classes)

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        if self._short and isinstance(scores, float) and self._is_open_for(scores):
            z = clipped_log_odds(scores, self.scale == "probability")
            p = self._streams[0].kernel.forecast_one(z, z)
            if p != p:
                raise _unusable()
            return np.array([[1.0 - p, p]])
        z, score = self._places(self._checked(scores))
        return _whole(self._forecast(z, score))

    def update(self, scores: Any, y: Any, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Learn from labeled rows, in their order; one row at a time or many give the same state.

        Parameters
        ----------
        scores : float, or array-like of shape (n,) or (n, n_classes)
        y : label, or array-like of shape (n,)
            What happened; rows whose label is None or NaN are counted and left out.
        sample_weight : float or array-like of shape (n,), default=None
            Importance of each row, at most 1. Rows of importance 0 are left out.
        counts : int or array-like of shape (n,), default=None
            How often each row occurred.

        Returns
        -------
        OnlineCalibrator
            Itself.
        """
        if (
            self._short
            and isinstance(scores, float)
            and isinstance(y, int)
            and 0 <= y <= 1
            and sample_weight is None
            and counts is None
            and self._is_open_for(scores)
        ):
            z = clipped_log_odds(scores, self.scale == "probability")
            p = self._streams[0].kernel.learn_one(z, z, float(y), 1.0)
            if p != p:
                raise _refused()
            return self
        self.replay(scores, y, sample_weight, counts=counts)
        return self

    def replay(
        self, scores: Any, y: Any, sample_weight: Any = None, *, counts: Any = None
    ) -> Floats:
        """Learn as :meth:`update` does, and return the forecast of each row before its label.

        Parameters
        ----------
        scores, y, sample_weight, counts
            As in :meth:`update`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            What would have been forecast. Rows without a label are forecast also.
        """
        table = self._checked(scores)
        z, score = self._places(table)
        n_classes = max(2, len(z))
        codes = label_codes(y, z.shape[1], n_classes, self.classes)
        given = stream_weights(sample_weight, counts, z.shape[1])
        weight = np.ones(z.shape[1]) if given is None else given.copy()
        weight[codes < 0] = 0.0
        self._open(n_classes)
        out = np.empty(z.shape)
        with self._all_or_nothing():
            for c, stream in enumerate(self._streams):
                happened = _happened(codes, c, len(self._streams))
                stream.kernel.learn(z[c], score[c], happened, weight, out[c])
        self.n_unlabeled += int((codes < 0).sum())
        self._widen(table[weight > 0])
        return _whole(out)

    # Late labels ---------------------------------------------------------------------------------

    def ask(self, scores: Any, ids: Any) -> Floats:
        """Forecast rows whose labels come later, and remember the forecast of every expert.

        Parameters
        ----------
        scores : float, or array-like of shape (n,) or (n, n_classes)
        ids : str, int, or sequence of n
            Names of the rows, for :meth:`answer`; each must be new among the rows that wait.

        Returns
        -------
        ndarray of shape (n, n_classes)
            As :meth:`predict_proba` returns, but for a rounding of the experts' forecasts.

        Examples
        --------
        >>> from trueodds import OnlineCalibrator
        >>> online = OnlineCalibrator()
        >>> online.ask([0.2, 0.7], ids=["a", "b"]).round(2)
        array([[0.74, 0.26],
               [0.34, 0.66]])
        >>> online.answer(["b"], [1])
        1
        >>> online.n_pending
        1
        """
        table = self._checked(scores)
        z, score = self._places(table)
        z, score = z.astype(np.float32), score.astype(np.float32)
        row_ids = _checked_ids(ids, z.shape[1])
        if self._pending is not None:
            known = [row_id for row_id in row_ids if row_id in self._pending]
            if known:
                raise InputError(f"ids must be new; {shown(known[0])} waits for its label already.")
        self._open(max(2, len(z)))
        if self._pending is None:
            self._pending = Pending(self.max_pending, len(self._streams))
        told = np.empty(z.shape, np.float32)
        codes = np.empty((*z.shape, CODES), np.int16)
        wide_z, wide_score = z.astype(np.float64), score.astype(np.float64)
        with self._all_or_nothing():
            for c, stream in enumerate(self._streams):
                if not stream.kernel.ask(wide_z[c], wide_score[c], told[c], codes[c]):
                    raise _unusable()
            generation = self._streams[0].generations
            dropped = self._pending.dropped_for([generation] * len(row_ids))
            for old in dropped:
                self._give_up(old)
        for i, row_id in enumerate(row_ids):
            self._pending.add(row_id, generation, z[:, i], score[:, i], told[:, i], codes[:, i])
        self.n_dropped += len(dropped)
        self._widen(table)
        return _whole(sigmoid(told.astype(np.float64)))

    def waits_for(self, row_id: str | int) -> bool:
        """Whether a row of this id waits for its label."""
        (known,) = _checked_ids([row_id])
        return self._pending is not None and known in self._pending

    def recall(self, ids: Any) -> Floats:
        """The forecasts that :meth:`ask` returned for rows that still wait.

        Parameters
        ----------
        ids : str, int, or sequence of n

        Returns
        -------
        ndarray of shape (n, n_classes)
            NaN for ids that do not wait.
        """
        row_ids = _checked_ids(ids)
        pending = self._pending
        told = np.full((max(1, len(self._streams)), len(row_ids)), np.nan)
        for i, row_id in enumerate(row_ids):
            if pending is not None and row_id in pending:
                told[:, i] = [pending.row(pending.place(row_id), c)[2] for c in range(len(told))]
        return _whole(sigmoid(told))

    def answer(self, ids: Any, y: Any, sample_weight: Any = None, *, counts: Any = None) -> int:
        """Learn from labels of rows that were asked, in the order in which they were asked.

        Labels may come in any order, some never. Rows that were forecast from the same weights are
        a generation. It ends when all its labels have come or, before a new row, half of them.
        Then experts are judged by their forecasts when they were asked. Labels that come later
        still teach the experts, and are not part of ``regret_``.

        Parameters
        ----------
        ids : str, int, or sequence of n
            Labels of ids that are not known (never asked, dropped, or answered already) are
            counted in ``n_unknown`` and left out.
        y : label, or array-like of shape (n,)
            None or NaN if the label will never come.
        sample_weight : float or array-like of shape (n,), default=None
            Importance of each row, at most 1.
        counts : int or array-like of shape (n,), default=None
            How often each row occurred.

        Returns
        -------
        int
            Rows that were learned.
        """
        row_ids = _checked_ids(ids)
        n = len(row_ids)
        codes = label_codes(y, n, max(2, len(self._streams)), self.classes)
        given = stream_weights(sample_weight, counts, n)
        weight = np.ones(n) if given is None else given
        pending = self._pending
        if pending is None:
            self.n_unknown += n
            return 0
        number = {row_id: i for i, row_id in enumerate(row_ids)}
        places = {number[row_id]: pending.place(row_id) for row_id in pending.in_order(row_ids)}
        before = self.n_rows
        with self._all_or_nothing():
            for i, k in places.items():
                if codes[i] < 0 or weight[i] == 0:
                    self._give_up(pending.generation(k))
                    continue
                judged = pending.generation(k) == self._streams[0].generations
                for c, stream in enumerate(self._streams):
                    happened = float(codes[i] == (1 if len(self._streams) == 1 else c))
                    z, score, told, said = pending.row(k, c)
                    stream.kernel.learn_late(z, score, happened, weight[i], told, said, judged)
        for i in places:
            pending.take(row_ids[i])
            self.n_unlabeled += int(codes[i] < 0)
        self.n_unknown += n - len(places)
        return self.n_rows - before

    def _give_up(self, generation: int) -> None:
        """Do not wait for a row of a generation any longer."""
        if generation == self._streams[0].generations:
            for stream in self._streams:
                stream.kernel.drop_row()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Return to the state before this context on an error, and if a number is not finite."""
        kernels = [stream.kernel for stream in self._streams]
        for kernel in kernels:
            kernel.keep()
        is_done = False
        try:
            yield
            if not all(kernel.is_finite() for kernel in kernels):
                raise _refused()
            is_done = True
        finally:
            if not is_done:
                for kernel in kernels:
                    kernel.restore()

    # What was learned ----------------------------------------------------------------------------

    @property
    def map_(self) -> CalibrationMap:
        """The forecasts of this moment as a map.

        Between knots the map is straight in log-odds, so it differs from :meth:`predict_proba` by
        at most 0.001, except where the forecast jumps: there it is steep within a few millionths.
        On the raw scale it is constant beyond the scores that were seen.
        """
        maps = []
        for c in range(len(self._streams) or 1):
            low, high = (
                (-MAX_LOG_ODDS, MAX_LOG_ODDS)
                if self.scale != "raw"
                else self._range or (-MAX_LOG_ODDS, MAX_LOG_ODDS)
            )
            x, y = sample_curve(
                lambda x, c=c: self._forecast_at(x, c),  # type: ignore[misc]
                low,
                high,
                monotone=self.monotone,
            )
            maps.append(LogOddsCurveMap(x=x, y=y, scale=self.scale))
        whole = maps[0] if len(maps) == 1 else OneVsRestMap(maps=tuple(maps), scale=self.scale)
        return whole.with_classes(self.classes)

    @property
    def experts_(self) -> Any:
        """Experts by their share of the mixture; with several classes, a tuple for each."""
        return self._of_each(Stream.experts)

    @property
    def regret_(self) -> Any:
        """Log-loss minus that of the best expert, in nats; with several classes, for each.

        Of labels that come together later, the mean counts.
        """
        return self._of_each(Stream.regret)

    @property
    def bound_(self) -> Any:
        """What ``regret_`` cannot exceed, whatever the labels; with several classes, for each."""
        return self._of_each(Stream.bound)

    @property
    def calibration_(self) -> Any:
        """Sums of residuals with their bounds; with several classes, a tuple for each."""
        return self._of_each(Stream.calibration)

    def _of_each(self, what: Any) -> Any:
        found = tuple(what(stream) for stream in self._streams or [self._new_stream()])
        return found[0] if len(found) == 1 else found

    @property
    def n_rows(self) -> int:
        """Rows that were learned."""
        return self._streams[0].rows if self._streams else 0

    @property
    def n_pending(self) -> int:
        """Rows that wait for their labels."""
        return 0 if self._pending is None else len(self._pending)

    def _waiting_now(self) -> int:
        """Rows of the open generation that wait."""
        if self._pending is None:
            return 0
        return self._pending.waiting_in(self._streams[0].generations)

    # State ---------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The whole state; :meth:`from_dict` continues from it bit for bit."""
        with_start = self.start is not None
        return {
            "format": FORMAT,
            "version": VERSION,
            "scale": self.scale,
            "classes": None if self.classes is None else list(self.classes),
            "start": None if self.start is None else self.start.to_dict(),
            "monotone": self.monotone,
            "max_pending": self.max_pending,
            "n_unlabeled": self.n_unlabeled,
            "n_unknown": self.n_unknown,
            "n_dropped": self.n_dropped,
            "range": None if self._range is None else list(self._range),
            "streams": [stream.to_dict() for stream in self._streams],
            "pending": None if self._pending is None else self._pending.to_dict(with_start),
        }

    @classmethod
    def from_dict(cls, content: Any) -> OnlineCalibrator:
        """A calibrator from its state, every value of which is checked."""
        fields = document_fields(content, FORMAT, VERSION, KEYS, "state", of="an online calibrator")
        classes = fields.raw("classes")
        if classes is not None and not all(
            type(label) in (str, int, float, bool)
            for label in fields.listed("classes", MOST_CLASSES)
        ):
            raise StateFormatError("state.classes must be null or a list of labels.")
        start, scale = fields.raw("start"), fields.raw("scale")
        try:
            online = cls(
                start=None if start is None else CalibrationMap.from_dict(start),
                scale=scale,
                classes=classes,
                monotone=fields.flag("monotone"),
                max_pending=fields.count("max_pending", MOST_PENDING),
            )
        except StateFormatError:
            raise
        except (InputError, MapFormatError) as error:
            raise StateFormatError(f"state: {error}") from None
        for name in ("n_unlabeled", "n_unknown", "n_dropped"):
            setattr(online, name, fields.count(name))
        online._read_streams(fields)
        return online

    def _read_streams(self, fields: Fields) -> None:
        with_start = self.start is not None
        documents = fields.listed("streams", MOST_CLASSES)
        streams = [Stream.from_dict(document, with_start) for document in documents]
        expected = None if self.classes is None else _n_streams(len(self.classes))
        if len(streams) == 2 or (expected is not None and len(streams) != expected):
            raise StateFormatError(
                f"state.streams must be one, or one for each class; got {len(streams)}."
            )
        if len({(stream.rows, stream.generations, stream.waits) for stream in streams}) > 1:
            raise StateFormatError("state.streams must have learned from the same rows.")
        self._streams = streams
        if fields.raw("range") is not None:
            low, high = fields.array("range", (2,), -LARGEST_SCORE, LARGEST_SCORE).tolist()
            if low > high or self.scale != "raw":
                raise StateFormatError("state.range must be that of raw scores, the lower first.")
            self._range = low, high
        if fields.raw("pending") is not None:
            if not streams:
                raise StateFormatError("state.pending needs streams.")
            self._pending = Pending.from_dict(
                fields.raw("pending"),
                self.max_pending,
                len(streams),
                with_start,
                streams[0].generations,
            )
        if streams and self._waiting_now() != (streams[0].waits or 0):
            raise StateFormatError("state.pending must hold the rows that the streams wait for.")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state as JSON, whole or not at all."""
        write_text(state_text(self.to_dict(), self.from_dict), path)
        return as_path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnlineCalibrator:
        """Read a state that :meth:`save` wrote."""
        path = as_path(path)
        return read_state(path, cls.from_dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the state, whose values are checked when it is read."""
        return OnlineCalibrator.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        waiting = f", {self.n_pending:,} waiting" if self.n_pending else ""
        return f"<OnlineCalibrator: {self.n_rows:,} rows learned{waiting}>"

    # Rows ----------------------------------------------------------------------------------------

    def _new_stream(self) -> Stream:
        return Stream(self.start is not None)

    def _open(self, n_classes: int) -> None:
        """Begin a stream for each class, or one for two classes."""
        if not self._streams:
            self._streams = [self._new_stream() for _ in range(_n_streams(n_classes))]

    def _is_open_for(self, score: float) -> bool:
        """Whether a plain number may take the short way; the long way has the messages."""
        if len(self._streams) != 1:
            return False
        return 0.0 <= score <= 1.0 if self.scale == "probability" else score == score

    def _forecast(self, z: Floats, score: Floats) -> Floats:
        streams = self._streams or [self._new_stream() for _ in z]
        out = np.empty(z.shape)
        for c, stream in enumerate(streams):
            if not stream.kernel.forecast(z[c], score[c], out[c]):
                raise _unusable()
        return out

    def _forecast_at(self, x: Floats, c: int) -> Floats:
        """The forecast of one class, before normalization, at log-odds or raw scores x."""
        scores = sigmoid(x) if self.scale == "probability" else x
        z, score = self._places_of(np.ascontiguousarray(scores), c)
        stream = self._streams[c] if self._streams else self._new_stream()
        out = np.empty(len(x))
        if not stream.kernel.forecast(z, score, out):
            raise _unusable()
        return out

    def _checked(self, scores: Any) -> Floats:
        """Scores as one column for two classes, or a column for each of several."""
        table = validate_scores(as_rows(scores), self.scale)
        if table.ndim == 2 and table.shape[1] == 2:
            table = positive_column(table, self.scale)
        if self.scale == "raw" and np.abs(table).max(initial=0.0) > LARGEST_SCORE:
            raise InputError(f"raw scores must lie within ±{LARGEST_SCORE:g}.")
        return table

    def _places(self, table: Floats) -> tuple[Floats, Floats]:
        """Log-odds of the center and of the score, a row for each stream."""
        n_classes = 2 if table.ndim == 1 else table.shape[1]
        expected = len(self.classes) if self.classes is not None else None
        if expected is None and self._streams:
            expected = max(2, len(self._streams))
        if expected not in (None, n_classes):
            raise InputError(f"scores are of {n_classes} classes; expected {expected}.")
        if n_classes > MOST_CLASSES:
            raise InputError(f"scores must be of at most {MOST_CLASSES} classes; got {n_classes}.")
        if table.ndim == 1:
            columns = [np.ascontiguousarray(table)]
        else:
            rest = one_vs_rest_scores(table, self.scale)
            columns = [np.ascontiguousarray(rest[:, c]) for c in range(n_classes)]
        places = [self._places_of(column, c) for c, column in enumerate(columns)]
        return np.stack([z for z, _ in places]), np.stack([score for _, score in places])

    def _places_of(self, column: Floats, c: int) -> tuple[Floats, Floats]:
        score = np.empty(len(column))
        clipped_log_odds_into(column, self.scale == "probability", score)
        if self.start is None:
            return score, score
        start = self.start.maps[c] if isinstance(self.start, OneVsRestMap) else self.start
        z = np.empty(len(column))
        clipped_log_odds_into(np.ascontiguousarray(start._apply_valid(column)), True, z)
        return z, z if self.scale == "raw" else score  # raw scores are no log-odds

    def _widen(self, table: Floats) -> None:
        """Remember the range of raw scores, on which ``map_`` is defined."""
        if self.scale == "raw" and table.size:
            low, high = float(table.min()), float(table.max())
            if self._range is not None:
                low, high = min(low, self._range[0]), max(high, self._range[1])
            self._range = low, high


def _refused() -> InputError:
    return InputError(
        "the labels were not learned, since the state would hold numbers that are not finite; it "
        "is as it was before. Check whether weights are extremely large."
    )


def _unusable() -> InputError:
    return InputError(
        "the state has no finite forecast for these scores. Load a saved state, or start anew."
    )


def _n_streams(n_classes: int) -> int:
    return 1 if n_classes == 2 else n_classes


def _happened(codes: Labels, c: int, n_streams: int) -> Floats:
    """1 where the class of stream c happened; with one stream, the positive class."""
    return np.asarray(codes == (1 if n_streams == 1 else c)).astype(np.float64)


def _whole(p: Floats) -> Floats:
    """Probabilities of all classes, a row for each row of scores."""
    if len(p) == 1:
        return np.column_stack([1.0 - p[0], p[0]])
    return np.ascontiguousarray((p / p.sum(axis=0)).T)


def _as_map(start: Any) -> CalibrationMap:
    found = start if isinstance(start, CalibrationMap) else getattr(start, "map_", None)
    if not isinstance(found, CalibrationMap):
        raise InputError(f"start must be a map or a fitted calibrator; got {shown(start)}.")
    if found.features:
        raise InputError("start must be a map of scores alone; it needs features also.")
    several = found.n_classes not in (None, 2)
    if isinstance(found, IdentityMap):
        several = False
    if several and not isinstance(found, OneVsRestMap):
        raise InputError(
            "start must be a one-vs-rest map if there are more than two classes; fit it with "
            f"OneVsRestCalibrator. Got {type(found).__name__}."
        )
    return found


def _checked_classes(
    classes: Sequence[Any] | None, start: CalibrationMap | None
) -> tuple[Any, ...] | None:
    if classes is None:
        if start is None or start.classes is None:
            return tuple(range(start.class_count)) if isinstance(start, OneVsRestMap) else None
        return tuple(start.classes)
    found = tuple(
        label.item() if hasattr(label, "item") else label for label in as_tuple(classes, "classes")
    )
    if not all(
        type(label) in (str, int, bool) or (type(label) is float and math.isfinite(label))
        for label in found
    ):
        raise InputError(f"classes must be texts or finite numbers; got {shown(classes)}.")
    if not 2 <= len(set(found)) == len(found) <= MOST_CLASSES:
        raise InputError(f"classes must be two or more distinct labels; got {shown(classes)}.")
    if start is not None and start.n_classes not in (None, len(found)):
        raise InputError(
            f"classes must be {start.n_classes} labels, as the start map has; got {shown(classes)}."
        )
    return found


def _checked_ids(ids: Any, n: int | None = None) -> list[RowId]:
    values = [ids] if isinstance(ids, (str, int)) else list(as_tuple(ids, "ids"))
    found = [value.item() if hasattr(value, "item") else value for value in values]
    for value in found:
        fits = isinstance(value, str) and len(value) <= LONGEST_ID
        if not fits and not (type(value) is int and abs(value) < LARGEST_ID):
            raise InputError(
                f"ids must be whole numbers or texts of at most {LONGEST_ID} characters; got "
                f"{shown(value)}."
            )
    if len(set(found)) < len(found):
        raise InputError("ids must be different.")
    if n is not None:
        check_length(len(found), "ids", n, "scores")
    return found
