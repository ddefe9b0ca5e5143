"""Calls of every public callable with what callers may have: an answer, or one of our errors.

    python -m fuzz.fuzz_api --calls 100000 --seed 0    # random calls; ends with a table
    python -m fuzz.fuzz_api --only predict_proba       # those whose name contains it

Callables are found by ``__all__`` of the public packages, and so are the public methods of the
classes there. Arguments are sound by their name and type; some are then replaced by hostile ones.
The fuzzer's bytes choose both. A call keeps the promise if it returns, or raises one of
:data:`OURS`, and warns in our categories only; what it returns must be in its range, and metrics
must agree with their oracles (``tests/oracle``) where these can read the arguments.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import collections
import contextlib
import datetime as dt
import decimal
import fractions
import importlib
import inspect
import io
import math
import os
import random
import signal
import sys
import tempfile
import traceback
import typing
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "agg")

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import trueodds
from oracle import oracles
from trueodds import metrics
from trueodds.calibrators import Calibrator, all_calibrators
from trueodds.exceptions import (
    InputError,
    MapFormatError,
    MissingLibraryError,
    TrueoddsWarning,
)
from trueodds.maps import CalibrationMap
from trueodds.table import ScoreTable

__all__ = ["TOKENS", "change", "check", "seeds"]

OURS = (InputError, MapFormatError, MissingLibraryError, NotFittedError)
"""Errors that callers may meet; NotFittedError is what scikit-learn's users expect."""
SLOWEST = 8
"""CPU seconds for one call; ten times as many on the clock, for the machine may have other work."""
FOLDER = tempfile.TemporaryDirectory(prefix="trueodds-fuzz-")
TOKENS: list[str] = []

NOT_CALLED = {
    "trueodds.exceptions": "names of errors",
    "trueodds.testing": "its answer is an AssertionError",
    "SharedOptions": "a type",
    "SqlDialect": "a type",
    "CalibratedClassifier.score": "scikit-learn's own",
    # What validation has made comes in here, not what callers have.
    **dict.fromkeys(("fit_map", "fit_map_with_band", "read_rows"), "takes validated rows"),
    "nodes_of_encoded": "takes features that a space encoded",
    **dict.fromkeys(
        ("from_codes", "from_grouped", "from_sorted_codes", "of_runs", "of_sorted"),
        "takes validated columns",
    ),
    "fit_curve": "takes the rows that a method was given",
    "expression": "takes nodes of a formula",
    **dict.fromkeys(("get_metadata_routing", "set_fit_request", "set_score_request"), "sklearn's"),
    **dict.fromkeys(("onnx_converter", "onnx_parser", "onnx_shape_calculator"), "skl2onnx's"),
    "help": "prints",
}
"""Names that are left out, and why."""


class Draw:
    """Choices by bytes of an input, and by chance when they are used up."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.more = data, 0, random.Random(data)  # noqa: S311

    def below(self, n: int) -> int:
        """A whole number below n."""
        size = 1 if n <= 256 else 2
        if self.at + size > len(self.data):
            return self.more.randrange(n)
        value = int.from_bytes(self.data[self.at : self.at + size], "big")
        self.at += size
        return value % n

    def pick(self, options: Any) -> Any:
        """One of several."""
        return options[self.below(len(options))]

    def once_in(self, n: int) -> bool:
        """True once in n times."""
        return self.below(n) == 0

    def rng(self) -> np.random.Generator:
        """A generator for arrays."""
        return np.random.default_rng(self.below(256))


class Rows:
    """Scores, labels, weights and attributes that belong together."""

    def __init__(self, draw: Draw) -> None:
        rng = draw.rng()
        self.n = draw.pick((30, 60, 8, 3, 120))
        self.k = draw.pick((2, 2, 3, 4))
        self.labels = np.array(
            draw.pick(([0, 1, 2, 3], ["a", "b", "c", "d"], [-1, 1, 5, 9], [0.0, 1.0, 2.0, 3.0]))
        )[: self.k]
        table = rng.dirichlet(np.ones(self.k), self.n)
        kind = draw.below(6)
        if kind == 0:
            table = np.round(table * 4) / 4
            table[:, 0] = 1 - table[:, 1:].sum(axis=1)
            table = np.abs(table) / np.abs(table).sum(axis=1, keepdims=True)
        if kind == 1:
            table = np.eye(self.k)[rng.integers(0, self.k, self.n)]
        if kind == 2:
            table = np.full((self.n, self.k), 1 / self.k)
        codes = (table.cumsum(axis=1) > rng.random(self.n)[:, None]).argmax(axis=1)
        codes[: self.k] = np.arange(self.k)[: self.n]
        self.table, self.codes = table, codes
        self.y = self.labels[codes]
        is_one_column = self.k == 2 and not draw.once_in(4)
        self.prob = table[:, 1].copy() if is_one_column else table
        self.weight = draw.pick((None, None, rng.integers(0, 4, self.n) + 0.0, rng.random(self.n)))
        self.X = rng.normal(size=(self.n, 2)) + codes[:, None]
        self.rng = rng

    def frame(self) -> Any:
        """The rows as a frame."""
        columns = {"y": self.y, "w": np.ones(self.n)}
        several = self.table.T if self.prob.ndim == 2 else [self.prob]
        columns |= {f"p{k}": column for k, column in enumerate(several)}
        return pd.DataFrame(columns)


def hostile(draw: Draw, sound: Any) -> Any:
    """A value that fits nowhere, or the sound one in other clothes."""
    if isinstance(sound, np.ndarray) and not draw.once_in(3):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not every array has every form
            return draw.pick(CLOTHES)(sound)
    return draw.pick(NOWHERE)()


class Refuses:
    """An object that answers every question with an error."""

    def __repr__(self) -> str:
        raise RuntimeError("no name")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("no array")


def _cyclic() -> list[Any]:
    nest: list[Any] = []
    nest.append(nest)
    return nest


NOWHERE: list[Callable[[], Any]] = [
    lambda: None,
    lambda: 10**400,
    lambda: -(10**400),
    lambda: 10**5000,
    lambda: 2**63,
    lambda: 2**64 + 1,
    lambda: 10**18,
    lambda: 0,
    lambda: -1,
    lambda: 1,
    lambda: 1.5,
    lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf,
    lambda: 1e-320,
    lambda: 1e308,
    lambda: True,
    lambda: "",
    lambda: "auto",
    lambda: "no such thing",
    lambda: "\x00\ud800",
    lambda: b"\xff",
    lambda: bytearray(b"12"),
    list,
    lambda: (),
    dict,
    lambda: set(),
    lambda: {"a": [1, 2], "b": 3},
    lambda: [[], []],
    lambda: [[1, 2], [3]],
    lambda: [[[0.1]]],
    lambda: [None],
    lambda: [0.2, None, 0.7],
    lambda: ["a", 1, None],
    lambda: [10**400, 0.5],
    lambda: _cyclic(),
    lambda: [0.1, 0.9],
    lambda: [0, 1],
    lambda: iter([0.1, 0.2]),
    lambda: range(3),
    lambda: 3 + 4j,
    lambda: decimal.Decimal("0.5"),
    lambda: decimal.Decimal("sNaN"),
    lambda: fractions.Fraction(1, 3),
    lambda: np.float16(0.5),
    lambda: np.longdouble("1e4000"),
    lambda: np.int8(3),
    lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True),
    lambda: np.datetime64("2026-01-01"),
    lambda: np.datetime64("NaT"),
    lambda: dt.datetime(2026, 1, 1),
    lambda: pd.NA,
    lambda: pd.NaT,
    lambda: pd.Timestamp("2026-01-01"),
    lambda: pd.DataFrame(),
    lambda: pd.DataFrame(index=range(3)),
    lambda: pd.Series([], dtype=float),
    lambda: pd.Series(["x", pd.NA], dtype="string"),
    lambda: pl.DataFrame(),
    lambda: pl.Series([[1.0], [2.0, 3.0]]),
    lambda: pl.Series([{"a": 1}]),
    lambda: pl.DataFrame({"a": [0.1]}).lazy(),
    lambda: pa.table({}),
    lambda: np.array([]),
    lambda: np.empty((0, 3)),
    lambda: np.empty((3, 0)),
    lambda: np.array(0.5),
    lambda: np.array(None),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    lambda: np.array([1, 2], dtype="M8[D]"),
    lambda: np.array([b"0.5", b"x"]),
    lambda: csr_array(np.eye(2)),
    lambda: np.random.default_rng(0),
    lambda: np.random.RandomState(0),
    lambda: LogisticRegression(),
    lambda: trueodds.BetaCalibrator(),
    lambda: trueodds.BetaCalibrator,
    lambda: LogisticRegression,
    lambda: len,
    lambda: lambda *_: 1 / 0,
    lambda: object(),
    lambda: Refuses(),
    lambda: ScoreTable.from_arrays([0.1, 0.9], [0, 1]),
    lambda: Path("/no/such/file"),
]


def _with_bad(bad: Any) -> Callable[[Any], Any]:
    def put(array: Any) -> Any:
        changed = np.array(array, dtype=object)
        if changed.size:
            changed.flat[changed.size // 2] = bad
        return changed

    return put


def _unaligned(array: Any) -> Any:
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _read_only(array: Any) -> Any:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _named(names: Callable[[int], list[Any]]) -> Callable[[Any], Any]:
    def dress(array: Any) -> Any:
        if array.ndim != 2:
            return pd.Series(array, index=[7] * len(array))
        return pd.DataFrame(array, columns=names(array.shape[1]))

    return dress


def _float(kind: Any) -> Callable[[Any], Any]:
    return lambda a: a.astype(kind) if a.dtype.kind in "fiu" else a.astype(object)


def _polars(array: Any) -> Any:
    return pl.Series(array.tolist()) if array.ndim == 1 else pl.DataFrame(array)


def _arrow(array: Any) -> Any:
    if array.ndim == 1:
        return pa.array(array.tolist())
    return pa.Table.from_arrays([pa.array(column) for column in array.T], ["a"] * array.shape[1])


SAME: list[Callable[[Any], Any]] = [
    lambda a: a.tolist(),
    lambda a: tuple(a.tolist()),
    _read_only,
    _unaligned,
    lambda a: np.asfortranarray(a),
    lambda a: np.repeat(a, 2, axis=0)[::2],
    lambda a: a[::-1][::-1],
    lambda a: a.astype(a.dtype.newbyteorder()),
    lambda a: a.astype(object),
    lambda a: np.ma.array(a),
    lambda a: a.reshape(len(a), -1) if a.ndim == 1 else a,
    _named(lambda k: list(range(k))),
    _named(lambda k: list(range(k))[::-1]),
    _named(lambda k: ["a"] * k),
    _named(lambda k: [None] * k),
    _named(lambda k: [("a", j) for j in range(k)]),
    _polars,
    _arrow,
    lambda a: pd.Series(a).astype("category") if a.ndim == 1 else pd.DataFrame(a),
    lambda a: pd.Series(a).convert_dtypes() if a.ndim == 1 else pd.DataFrame(a).convert_dtypes(),
]
"""The same values otherwise held: an answer must be the same."""

CLOTHES: list[Callable[[Any], Any]] = [
    *SAME,
    *SAME,
    _float(np.float16),
    _float(np.float32),
    _float(np.longdouble),
    _float(complex),
    _float(bool),
    _float("S8"),
    _float("U8"),
    _float("M8[s]"),
    lambda a: np.stack([a, a], axis=-1),
    lambda a: a[:, None, None],
    lambda a: a[:-1],
    lambda a: a[:0],
    lambda a: a[:1],
    lambda a: a.T,
    lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 1),
    lambda a: iter(a),
    lambda a: csr_array(a) if a.dtype.kind == "f" and a.ndim == 2 else a,
    lambda a: pd.DataFrame(a).astype(pd.SparseDtype(float)) if a.dtype.kind == "f" else a,
    lambda a: a * 100 if a.dtype.kind == "f" else a,
    lambda a: -a if a.dtype.kind == "f" else a,
    lambda a: a * 1e300 if a.dtype.kind == "f" else a,
    *map(_with_bad, (None, math.nan, math.inf, -math.inf, 10**400, "x", b"x", [1], pd.NA, 1j)),
    *map(_with_bad, (decimal.Decimal("0.25"), dt.date(2026, 1, 1), object(), 1e308, -0.0)),
]

ARGUMENTS: dict[str, Callable[[Draw, Rows], Any]] = {
    **dict.fromkeys(("y_true", "y"), lambda d, r: r.y),
    **dict.fromkeys(("y_prob", "scores", "y_prob_unlabeled"), lambda d, r: r.prob),
    **dict.fromkeys(("y_prob_a", "old", "first"), lambda d, r: r.prob),
    **dict.fromkeys(("y_prob_b", "new", "second"), lambda d, r: r.prob**2),
    **dict.fromkeys(("X", "X_fit", "features"), lambda d, r: r.X),
    **dict.fromkeys(("sample_weight", "weight"), lambda d, r: r.weight),
    **dict.fromkeys(("classes", "labels"), lambda d, r: d.pick((None, r.labels))),
    **dict.fromkeys(("level", "alpha", "fraction"), lambda d, r: d.pick((0.5, 0.9, 0.01, 0.999))),
    **dict.fromkeys(("old_prior", "new_prior"), lambda d, r: _prior(d, r)),
    **dict.fromkeys(("random_state",), lambda d, r: d.pick((0, 7, 2**40))),
    **dict.fromkeys(("n_jobs",), lambda d, r: d.pick((None, 1))),
    **dict.fromkeys(("groups", "group"), lambda d, r: d.pick((None, r.codes % 2))),
    **dict.fromkeys(("time",), lambda d, r: d.pick((None, np.arange(r.n)))),
    **dict.fromkeys(("cv",), lambda d, r: d.pick((2, 3))),
    **dict.fromkeys(("n_resamples",), lambda d, r: d.pick((20, 25, 40))),
    **dict.fromkeys(("max_draws", "n_samples"), lambda d, r: d.pick((10, 50))),
    **dict.fromkeys(("max_iter",), lambda d, r: d.pick((1, 5, 200))),
    **dict.fromkeys(("n_chains", "n_repeats"), lambda d, r: d.pick((1, 2))),
    **dict.fromkeys(("n_components",), lambda d, r: d.pick((1, 2, "auto"))),
    **dict.fromkeys(("max_rows",), lambda d, r: d.pick((3, 20, 10**6))),
    **dict.fromkeys(("progress",), lambda d, r: False),
    **dict.fromkeys(("pos_label",), lambda d, r: d.pick((None, d.pick(r.labels.tolist())))),
    **dict.fromkeys(("calibrators",), lambda d, r: _methods(d)),
    **dict.fromkeys(("calibrator",), lambda d, r: _calibrator(d, r)),
    **dict.fromkeys(("deep",), lambda d, r: d.pick((True, False))),
    **dict.fromkeys(("periods",), lambda d, r: _periods()),
    **dict.fromkeys(("summary",), lambda d, r: _monitor().summary()),
    **dict.fromkeys(("estimator", "model"), lambda d, r: GaussianNB().fit(r.X, r.y)),
    **dict.fromkeys(
        ("metric",), lambda d, r: d.pick((_metric("brier_score"), _metric("log_loss")))
    ),
    **dict.fromkeys(("metrics",), lambda d, r: None),
    **dict.fromkeys(("table",), lambda d, r: _table(r)),
    **dict.fromkeys(("calibration_map", "tree", "parent"), lambda d, r: _map(d, r)),
    **dict.fromkeys(("threshold",), lambda d, r: d.pick((0.2, [0.1, 0.5], np.array([0.3])))),
    **dict.fromkeys(("thresholds",), lambda d, r: d.pick((None, [0.1, 0.2, 0.5]))),
    **dict.fromkeys(("cost_matrix",), lambda d, r: 1.0 - np.eye(r.k)),
    **dict.fromkeys(("cost_fp", "cost_fn"), lambda d, r: d.pick((1.0, 5, 0.1))),
    **dict.fromkeys(("cost_tp", "cost_tn"), lambda d, r: d.pick((0.0, -1))),
    **dict.fromkeys(("results",), lambda d, r: r.rng.random((8, 3))),
    **dict.fromkeys(("p_values",), lambda d, r: r.rng.random(5)),
    **dict.fromkeys(("methods",), lambda d, r: d.pick((None, ["a", "b", "c"]))),
    **dict.fromkeys(("n_train", "n_test"), lambda d, r: d.pick((10, 90.0))),
    **dict.fromkeys(("path",), lambda d, r: str(Path(FOLDER.name) / "file.json")),
    **dict.fromkeys(("document", "content"), lambda d, r: _document(d, r)),
    **dict.fromkeys(("frame",), lambda d, r: d.pick((r.frame(), pl.from_pandas(r.frame())))),
    **dict.fromkeys(("score",), lambda d, r: _score_columns(r)),
    **dict.fromkeys(("label",), lambda d, r: "y"),
    **dict.fromkeys(("output_column",), lambda d, r: _into(r)),
    **dict.fromkeys(("names", "provenance", "metadata"), lambda d, r: None),
    **dict.fromkeys(("column",), lambda d, r: _score_columns(r)),
    **dict.fromkeys(("name", "title"), lambda d, r: d.pick(("calibrate", "beta"))),
    **dict.fromkeys(("ax", "eval_set", "band", "command"), lambda d, r: None),
    **dict.fromkeys(("lower", "upper"), lambda d, r: _map(d, r)),
    **dict.fromkeys(("curves", "curve"), lambda d, r: _result("ReliabilityCurve", d)),
    **dict.fromkeys(("test",), lambda d, r: _result("NemenyiTest", d)),
    **dict.fromkeys(("rate", "prevalence", "c_statistic"), lambda d, r: d.pick((0.1, 0.7, 0.99))),
    **dict.fromkeys(("sensitivity", "specificity"), lambda d, r: d.pick((0.6, 0.9))),
    **dict.fromkeys(("other", "method"), lambda d, r: "identity"),
    **dict.fromkeys(("interval",), lambda d, r: False),
}
"""Sound values by name. Where a name is missing, the type decides."""


def _prior(draw: Draw, rows: Rows) -> Any:
    return draw.pick((0.2, 0.5)) if rows.k == 2 else np.full(rows.k, 1 / rows.k)


def _methods(draw: Draw) -> Any:
    return draw.pick((["identity", "temperature"], ["beta"], {"b": trueodds.BetaCalibrator()}))


def _calibrator(draw: Draw, rows: Rows) -> Any:
    plain = draw.pick((None, trueodds.BetaCalibrator(), trueodds.TreeCalibrator()))
    with contextlib.suppress(*OURS):
        return plain if plain is None or draw.once_in(2) else plain.fit(rows.prob, rows.y)
    return plain


def _monitor() -> trueodds.CalibrationMonitor:
    return trueodds.CalibrationMonitor().update([0.1, 0.8], [0, 1])


def _periods() -> list[dict[str, Any]]:
    line = {"period": "May", "rows": 2, "expected": 0.9, "observed": 1.0, "e_value": 1.0}
    return [line | {"ratio_low": 0.1, "ratio_high": 2.0, "alarm": False}]


def _metric(name: str) -> Any:
    return getattr(metrics, name)


def _table(rows: Rows) -> ScoreTable:
    return ScoreTable.from_arrays(rows.table[:, 1], rows.codes == 1)


def _counted_groups(draw: Draw, rows: Rows) -> Any:
    return [metrics.GroupCounts("g", name, rows.n, _table(rows)) for name in "ab"]


def _score_columns(rows: Rows) -> Any:
    return "p0" if rows.prob.ndim == 1 else [f"p{k}" for k in range(rows.k)]


def _into(rows: Rows) -> Any:
    return "q" if rows.prob.ndim == 1 else [f"q{k}" for k in range(rows.k)]


def _map(draw: Draw, rows: Rows) -> CalibrationMap:
    names = ("identity", "logistic", "isotonic", "beta", "bayesian_smooth", "temperature", "tree")
    kind = _kinds()[draw.pick(names)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted: CalibrationMap = kind().fit(rows.prob, rows.y).map_
        except OURS:
            return trueodds.IdentityCalibrator().fit([0.1, 0.9], [0, 1]).map_
    return fitted


@cache
def _kinds() -> dict[str, type[Any]]:
    return all_calibrators()


def _document(draw: Draw, rows: Rows) -> Any:
    return draw.pick((_map(draw, rows).to_dict(), _monitor().to_dict()))


@dataclass(eq=False)
class Target:
    """Something that can be called."""

    name: str
    function: Any
    owner: type[Any] | None = None
    """The class whose method it is."""

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """Those to pass."""
        found = list(inspect.signature(self.function).parameters.values())
        skipped = self.owner is not None and not inspect.ismethod(self.function)
        return [p for p in found[1 if skipped else 0 :] if p.kind is not p.VAR_POSITIONAL]

    @cached_property
    def hints(self) -> dict[str, Any]:
        """Types of the arguments, as far as they can be found."""
        try:
            return typing.get_type_hints(self.function)
        except (NameError, TypeError, AttributeError):
            return {}


@cache
def targets() -> dict[str, list[Target]]:
    """Everything that is called, by package and class."""
    found: dict[str, dict[str, Target]] = collections.defaultdict(dict)
    packages = [
        f"trueodds.{name}" for name, home in vars(trueodds)["_HOMES"].items() if home == "."
    ]
    for package in ("trueodds", *packages):
        if package in NOT_CALLED:
            continue
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if name in NOT_CALLED:
                continue
            if inspect.isclass(value):
                for target in _of_class(value):
                    found[f"class {value.__name__}"][target.name] = target
            elif callable(value) and value.__module__.startswith("trueodds."):
                found[value.__module__.rsplit("._", 1)[0]][name] = Target(name, value)
    return {group: list(own.values()) for group, own in sorted(found.items()) if own}


def _of_class(kind: type[Any]) -> Iterator[Target]:
    if not inspect.isabstract(kind) and _is_made_by_callers(kind):
        yield Target(kind.__name__, kind)
    for name, value in inspect.getmembers(kind):
        called = inspect.isfunction(value) or inspect.ismethod(value)
        is_public = not name.startswith("_") or (
            name == "__call__" and not inspect.isabstract(kind)
        )
        full_name = f"{kind.__name__}.{name}"
        if called and is_public and not {name, full_name} & NOT_CALLED.keys():
            yield Target(f"{kind.__name__}.{name}", value, kind)


def _is_made_by_callers(kind: type[Any]) -> bool:
    """Calibrators, maps, tables and monitors are; results come from functions."""
    return issubclass(kind, (Calibrator, CalibrationMap)) or kind.__name__ in (
        "CalibratedClassifier",
        "CalibrationMonitor",
        "ForecastComparison",
        "ScoreTable",
    )


@cache
def _makers() -> dict[str, list[Target]]:
    """Functions and class methods by the class that they return."""
    makers: dict[str, list[Target]] = collections.defaultdict(list)
    for own in targets().values():
        for target in own:
            is_free = target.owner is None or inspect.ismethod(target.function)
            kind = inspect.signature(target.function).return_annotation
            if is_free and isinstance(kind, str):
                makers[kind].append(target)
    return makers


def _result(name: str, draw: Draw) -> Any:
    """A result of a sound call."""
    makers = _makers().get(name, [])
    for _ in range(8):
        if not makers:
            break
        target = draw.pick(makers)
        try:
            return _invoke(target, _arguments(target, draw, Rows(draw), 0), None)
        except OURS:
            continue
    return None


def _instance(kind: type[Any], draw: Draw, rows: Rows) -> Any:
    """An object of a class, ready for its methods; None if this time there is none."""
    if kind in (Calibrator, CalibrationMap):
        kind = type(_map(draw, rows)) if kind is CalibrationMap else trueodds.BetaCalibrator
    if issubclass(kind, CalibrationMap):
        learned = _map(draw, rows)
        return learned if isinstance(learned, kind) else draw.pick(_examples(kind))
    if not _is_made_by_callers(kind):
        return _result(kind.__name__, draw)
    target = Target(kind.__name__, kind)
    made = _invoke(target, _arguments(target, draw, rows, draw.pick((0, 0, 0, 1))), None)
    if draw.once_in(8):
        return made
    with contextlib.suppress(NotFittedError):
        if isinstance(made, Calibrator):
            extra = {"features": rows.X} if made.needs_features else {}
            made.fit(rows.prob, rows.y, rows.weight, **extra)
        elif isinstance(made, trueodds.CalibratedClassifier):
            made.fit(rows.X, rows.y)
        elif isinstance(made, trueodds.CalibrationMonitor):
            made.update(rows.prob, rows.codes)
    return made


@cache
def _examples(kind: type[Any]) -> list[Any]:
    """Maps of a family."""
    from support.mutate_maps import examples

    found = [example for example in examples() if isinstance(example, kind)]
    return found or [trueodds.IdentityCalibrator().fit([0.1, 0.9], [0, 1]).map_]


def _sound(parameter: inspect.Parameter, hint: Any, draw: Draw, rows: Rows) -> Any:
    known = ARGUMENTS.get(parameter.name)
    if metrics.GroupCounts in typing.get_args(hint):
        known = _counted_groups
    choices = _choices(hint)
    if parameter.name in ("method", "curve", "score", "band") and choices:
        known = None
    if known is not None:
        return known(draw, rows)
    if parameter.default is not parameter.empty and draw.once_in(2):
        return parameter.default
    if choices:
        return draw.pick(choices)
    return parameter.default if parameter.default is not parameter.empty else 0.5


def _choices(hint: Any) -> list[Any]:
    """Sound values of a type."""
    if hint is bool:
        return [True, False]
    if hint is int:
        return [3, 5, 10]
    if hint is float:
        return [0.1, 0.5, 1.0, 2]
    if hint is str:
        return ["calibrate"]
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [value for part in typing.get_args(hint) for value in _choices(part)]


def _arguments(target: Target, draw: Draw, rows: Rows, n_hostile: int) -> dict[str, Any]:
    hints = target.hints
    given: dict[str, Any] = {}
    for parameter in target.parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        is_optional = parameter.default is not parameter.empty
        if is_optional and parameter.name not in SLOW_DEFAULTS and draw.once_in(2):
            continue
        given[parameter.name] = _sound(parameter, hints.get(parameter.name), draw, rows)
    if target.name.startswith(("CalibratedClassifier", "validate")):
        given.pop("metrics", None)
        if "n_resamples" in given:
            given["n_resamples"] = 2
    theirs = (*THEIRS.get(target.name.split(".")[0], ()), "deep")
    names = [name for name in given if name not in theirs]
    for _ in range(n_hostile if names else 0):
        name = draw.pick(names)
        given[name] = hostile(draw, given[name])
        if name in ("metric", "method", "metrics") and callable(given[name]):
            given[name] = None  # a function of the caller may raise what it likes
    return given


SLOW = {"build_report", "validation_report", "validate_model"}
"""Called less often."""
SLOW_DEFAULTS = {"calibrators", "n_resamples", "max_draws", "n_samples", "cv", "max_iter", "n_jobs"}
SLOW_DEFAULTS |= {"progress", "features"}
"""Always given, for the defaults are large, or all methods, or bars on the terminal."""
THEIRS = {
    "CalibratedClassifier": ("X", "estimator"),
    "validate_model": ("X", "estimator"),
    "ReliabilityDisplay": ("X", "estimator"),
    "logistic_intervals": ("model",),
}
"""Arguments that a model or a figure of the caller refuses in its own words."""


def _invoke(target: Target, given: dict[str, Any], instance: Any) -> Any:
    """Call it as its signature says, positional-only arguments by position."""
    function = target.function
    by_position = [
        given.pop(p.name)
        for p in target.parameters
        if p.kind is p.POSITIONAL_ONLY and p.name in given
    ]
    if instance is not None and not inspect.ismethod(function):
        by_position.insert(0, instance)
    return function(*by_position, **given)


@cache
def _groups(only: str) -> list[list[Target]]:
    """What to draw from: a function is drawn as often as a class with all of its methods."""
    groups = []
    for group, every in targets().items():
        own = [target for target in every if only in target.name]
        if own:
            drawn = [own] if group.startswith("class") else [[target] for target in own]
            for one in drawn:
                groups += [one] * (1 if one[0].name in SLOW else 5)
    return groups


class BrokenPromiseError(AssertionError):
    """What a call did that it must not do; the text names the call."""


class TooSlowError(BaseException):
    """A call took longer than :data:`SLOWEST`; no ``except Exception`` catches it."""


def call(draw: Draw, only: str = "") -> str:
    """One call; returns its name and what came of it."""
    target = draw.pick(draw.pick(_groups(only)))
    rows = Rows(draw)
    n_hostile = draw.pick((0, 1, 1, 2))
    given: dict[str, Any] = {}
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.chdir(FOLDER.name),  # hostile texts are file names where a path is expected
    ):
        warnings.simplefilter("always")
        np.random.seed(0)  # noqa: NPY002  # what random_state=None would draw from
        try:
            instance = None
            if target.owner is not None and not inspect.ismethod(target.function):
                instance = _instance(target.owner, draw, rows)
                if instance is None:
                    return "no instance"
            given = _arguments(target, draw, rows, n_hostile)
            result = _invoke(target, dict(given), instance)
            outcome = "answer"
        except OURS as error:
            _check_message(target, given, error)
            outcome = "our error"
        except OSError:
            if not {"path"} & set(given):
                raise
            outcome = "our error"
        except Exception as error:
            raise BrokenPromiseError(f"{target.name}({_told(given)})") from error
        finally:
            _close_figures()
    for warning in caught:
        if not issubclass(warning.category, TrueoddsWarning) and not _is_theirs(target):
            raise BrokenPromiseError(
                f"{target.name}({_told(given)}) warned: {warning.category.__name__}: "
                f"{warning.message} ({warning.filename}:{warning.lineno})"
            )
    if outcome == "answer":
        _check_answer(target, given, instance, result)
    return outcome


def _is_theirs(target: Target) -> bool:
    """A model of scikit-learn may warn in its own words."""
    return target.name.startswith(("CalibratedClassifier", "validate"))


def _close_figures() -> None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def _told(given: dict[str, Any]) -> str:
    told = []
    for name, value in given.items():
        try:
            text = repr(value)
        except Exception:
            text = f"<{type(value).__name__}>"
        told.append(f"{name}={text if len(text) < 300 else text[:300] + '…'}")
    return ", ".join(told)


def _check_message(target: Target, given: dict[str, Any], error: Exception) -> None:
    text = str(error)
    if not 0 < len(text) < 2_000:
        raise BrokenPromiseError(f"{target.name}({_told(given)}): a message of {len(text)}")


PROBABILITIES = {"predict_proba", "__call__", "adjust_prior", "interval", "predict_interval"}
MAY_BE_INFINITE = {"log_loss", "observed_expected_ratio", "c_statistic", "scaled_brier_score"}
MAY_BE_INFINITE |= {"calibration_slope", "calibration_intercept"}
"""Metrics whose documentation names the case in which they are infinite or NaN."""


def _check_answer(target: Target, given: dict[str, Any], instance: Any, result: Any) -> None:
    name = target.name.split(".")[-1]
    problem = ""
    if name in PROBABILITIES:
        parts = result if isinstance(result, tuple) else (result,)
        for part in parts:
            p = np.asarray(part, dtype=np.float64)
            if not ((p >= 0) & (p <= 1)).all():
                problem = f"probabilities outside [0, 1]: {p[~((p >= 0) & (p <= 1))][:3]}"
            elif name == "predict_proba" and p.ndim == 2 and abs(p.sum(axis=1) - 1).max() > 1e-9:
                problem = "rows that do not sum to 1"
    elif target.owner is None and isinstance(result, float) and name not in MAY_BE_INFINITE:
        problem = "" if math.isfinite(result) else f"{result}"
    if not problem and target.owner is None:
        problem = _disagreement(name, given, result)
    if problem:
        raise BrokenPromiseError(f"{target.name}({_told(given)}) returned {problem}")


def _disagreement(name: str, given: dict[str, Any], result: Any) -> str:
    """Where a metric differs from its oracle, if there is one that can read the arguments."""
    expected = _expected(name, given)
    if expected is None:
        return ""
    parts = expected if isinstance(expected, dict) else {name: expected}
    for part, value in parts.items():
        found = getattr(result, part) if isinstance(expected, dict) else result
        near = np.isclose(found, value, rtol=1e-9, atol=ROUNDING.get(name, 1e-12))
        if math.isfinite(value) and not near:
            return f"{part} {found!r}, but NumPy finds {value!r}"
    return ""


def _expected(name: str, given: dict[str, Any]) -> float | dict[str, float] | None:
    """A metric by NumPy, if NumPy can read the arguments without thinking."""
    try:
        y = _plain(given["y_true"]).ravel()
        p = _plain(given["y_prob"]).astype(np.float64)
        w = given.get("sample_weight")
        weight = np.ones(len(y)) if w is None else _plain(w).astype(np.float64)
        classes = given.get("classes")
        labels = np.unique(y) if classes is None else _plain(classes)
        if p.ndim == 2 and p.shape[1] == 1:
            p = p.ravel()
        table = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
        if table.shape != (len(y), len(labels)) or weight.shape != y.shape:
            return None
        hit = y[:, None] == labels[None, :]
    except (KeyError, TypeError, ValueError):
        return None
    kept = weight > 0
    hit, table, weight = hit[kept], table[kept], weight[kept]
    if name in ORACLES:
        if table.shape[1] == 2:  # of several columns, rows stay as they are
            table = table / table.sum(axis=1, keepdims=True)
        return ORACLES[name](hit, table, weight)
    if name not in OF_TWO_CLASSES or table.shape[1] != 2 or given.get("counts") is not None:
        return None
    if p.ndim == 2 and (table.sum(axis=1) != 1).any():
        return None  # dividing by the sum may move a probability into the next bin
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = table[:, 1] if p.ndim == 2 else p[kept]
        return OF_TWO_CLASSES[name](1.0 * hit[:, 1], positive, weight, given)


def _plain(values: Any) -> Any:
    if isinstance(values, pl.DataFrame | pl.Series):
        return values.to_numpy()
    if isinstance(values, pa.Table):
        return np.stack([column.to_numpy() for column in values.columns], axis=1)
    return np.asarray(values)


def _log_loss(hit: Any, p: Any, w: Any) -> float:
    with np.errstate(divide="ignore"):
        return float(-(w * np.log(p[hit])).sum() / w.sum())


def _brier(hit: Any, p: Any, w: Any) -> float:
    """The binary convention for two classes, the sum over classes for more."""
    total = float((w * ((p - hit) ** 2).sum(axis=1)).sum() / w.sum())
    return total / 2 if p.shape[1] == 2 else total


def _accuracy(hit: Any, p: Any, w: Any) -> float:
    return float((w * hit[np.arange(len(p)), p.argmax(axis=1)]).sum() / w.sum())


def _bins(p: Any, w: Any, options: dict[str, Any], strategy: str, n_bins: int) -> Any:
    n_bins = int(options.get("n_bins", n_bins))
    if options.get("strategy", strategy) == "uniform":
        return oracles.uniform_bins(p, n_bins)
    return oracles.bins_between(p, oracles.quantile_edges(p, w, n_bins))


def _binned(kind: str) -> Callable[..., float | None]:
    def error(y: Any, p: Any, w: Any, options: dict[str, Any]) -> float | None:
        if options.get("ties", "whole") != "whole":
            return None
        weighting = options.get("weighting", kind)
        if weighting == "all_bins":
            return None  # compared with its naive twin in tests/metrics
        place = _bins(p, w, options, "uniform", 10)
        return oracles.calibration_error(y, p, w, place, weighting)

    return error


def _debiased(y: Any, p: Any, w: Any, options: dict[str, Any]) -> float:
    place = _bins(p, w, options, "quantile", 15)
    found = oracles.debiased if not options.get("squared") else oracles.debiased_square
    return found(y, p, w, place)


def _scaled_brier(y: Any, p: Any, w: Any, _: Any) -> float:
    rate = (w * y).sum() / w.sum()
    return float(1 - oracles.brier(y, p, w) / (rate * (1 - rate)))


def _tails(y: Any, p: Any, w: Any, options: dict[str, Any]) -> dict[str, float] | None:
    share = float(options.get("fraction", 0.025))
    if share < 1e-300:  # products with it lose their digits
        return None
    low = oracles.lowest_part(y, p, w, share)
    high = oracles.lowest_part(1 - y, 1 - p, w, share)
    names = ("low_prob", "low_rate", "high_prob", "high_rate")
    return dict(zip(names, (*low, 1 - high[0], 1 - high[1]), strict=True))


def _spiegelhalter(y: Any, p: Any, w: Any, options: dict[str, Any]) -> dict[str, float] | None:
    if options.get("method", "spiegelhalter") != "spiegelhalter" or (w != 1).any():
        return None
    variance = (p * (1 - p) * (1 - 2 * p) ** 2).sum()
    if variance < 1e-12:  # nothing but rounding
        return None
    return dict(zip(("statistic", "p_value"), oracles.spiegelhalter(y, p, w), strict=True))


ORACLES: dict[str, Callable[[Any, Any, Any], float]] = {
    "log_loss": _log_loss,
    "brier_score": _brier,
    "accuracy": _accuracy,
}
OF_TWO_CLASSES: dict[str, Callable[..., float | dict[str, float] | None]] = {
    "root_mean_squared_error": lambda y, p, w, _: math.sqrt(oracles.brier(y, p, w)),
    "c_statistic": lambda y, p, w, _: oracles.auc(y, p, w),
    "scaled_brier_score": _scaled_brier,
    "observed_expected_ratio": lambda y, p, w, _: float((w * y).sum() / (w * p).sum()),
    "expected_calibration_error": _binned("mass"),
    "maximum_calibration_error": _binned("max"),
    "debiased_calibration_error": _debiased,
    "corp_decomposition": lambda y, p, w, options: oracles.corp(
        y, p, w, options.get("loss", "brier")
    ),
    "tail_calibration": _tails,
    "calibration_test": _spiegelhalter,
}
"""By the suite of ``tests/oracle``, which is for two classes."""
ROUNDING = {"debiased_calibration_error": 1e-7}
"""A root of a difference that is nearly 0."""


def seeds() -> list[bytes]:
    """Inputs that choose each group of callables once."""
    return [
        bytes([*group.to_bytes(2, "big"), *range(40)]) for group in range(0, len(_groups("")), 25)
    ]


def change(data: bytes, seed: int) -> bytes | None:
    """Bytes are choices, so the fuzzer may change them as it likes."""
    return None


def check(data: bytes) -> None:
    """The call that the bytes choose."""
    call(Draw(data))


@dataclass
class Tally:
    """What came of many calls."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    faults: dict[str, list[Any]] = field(default_factory=dict)

    def add_fault(self, seed: str, error: BaseException) -> None:
        """Keep the first of each place."""
        cause = error.__cause__ or error
        place = "?"
        for frame in traceback.extract_tb(cause.__traceback__):
            if "/trueodds/" in frame.filename and "/fuzz/" not in frame.filename:
                place = f"{frame.filename.rsplit('/trueodds/')[-1]}:{frame.lineno}"
        key = f"{type(cause).__name__} {place}"
        if place == "?":
            key = f"{type(cause).__name__} {str(error).split('(')[0]}"
        self.outcomes["fault"] += 1
        self.faults.setdefault(key, [0, seed, error, cause])[0] += 1

    def told(self, key: str) -> str:
        """One place, with the call and the error."""
        count, seed, error, cause = self.faults[key]
        call, cause_text = (_middle_cut(str(text)) for text in (error, cause))
        return f"\n{count} × {key}\n  {seed}: {call}\n  {type(cause).__name__}: {cause_text}"


def _middle_cut(text: str) -> str:
    return text if len(text) <= 800 else f"{text[:400]} … {text[-400:]}"


def _limit_time(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


def random_calls(n_calls: int, seed: int, only: str = "", report: bool = False) -> Tally:
    """Calls chosen by chance; faults are collected and not raised."""
    tally = Tally()
    for library in ("torch", "onnx", "onnxruntime", "sqlglot", "duckdb", "matplotlib.pyplot"):
        with contextlib.suppress(ImportError):  # slow to import, and not to be interrupted
            importlib.import_module(library)

    def stop(*_: Any) -> None:
        raise TooSlowError

    before = [(number, signal.signal(number, stop)) for number in (signal.SIGALRM, signal.SIGPROF)]
    try:
        for k in range(n_calls):
            data = f"{seed}-{k}"
            draw = Draw(b"")
            draw.more = random.Random(data)  # noqa: S311
            _limit_time(SLOWEST)
            try:
                tally.outcomes[call(draw, only)] += 1
            except (Exception, TooSlowError) as error:
                _limit_time(0)
                known = len(tally.faults)
                tally.add_fault(data, error)
                if report and len(tally.faults) > known:
                    print(tally.told(list(tally.faults)[-1]), flush=True)
            finally:
                _limit_time(0)
            if report and (k + 1) % 1000 == 0:
                print(k + 1, dict(tally.outcomes), len(tally.faults), flush=True)
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    return tally


def main() -> int:
    """Random calls without a fuzzer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the names of the callables")
    arguments = parser.parse_args()
    tally = random_calls(arguments.calls, arguments.seed, arguments.only, report=True)
    for key in tally.faults:
        print(tally.told(key))
    print(dict(tally.outcomes), f"{len(tally.faults)} kinds of fault")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
