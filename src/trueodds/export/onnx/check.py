"""Whether an ONNX graph gives what its model gives in Python.

Both are run on the rows that a caller has, and on random rows that recombine their values and
numbers in the graph (thresholds of trees, means, stored rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.warned import ignored_warnings
from trueodds.exceptions import InputError, UncheckedGraphWarning, warn_user
from trueodds.export.onnx.columns import columns_of, take, with_numbers
from trueodds.inputs import Floats

__all__ = ["check_graph", "name_of"]

TOLERANCE = {False: 1e-9, True: 1e-6}
SHIFT = {False: 1e-10, True: 1e-5}
"""By which share of itself a base model's score may differ, without and with float32 in the graph;
near 0 by a hundredth of that."""
N_DRAWN = 600
MOST_VALUES = 2000


def check_graph(graph: Any, model: Any, X: Any, *, in_float32: bool) -> None:
    """Raise if the graph does not give the model's probabilities and labels.

    Parameters
    ----------
    graph : onnx.ModelProto
        With the outputs ``label`` and ``probabilities``.
    model : object
        Fitted.
    X : {array, frame} or None
        Rows as the model takes them.
    in_float32 : bool
        Whether something in the graph is computed in float32.
    """
    try:
        import onnxruntime
    except ImportError:
        warn_user(
            "onnxruntime is not installed, so the graph was not compared with the model; run: pip "
            'install "trueodds[onnx]" to have it checked, or pass check=False.',
            UncheckedGraphWarning,
        )
        return
    with np.errstate(all="ignore"), ignored_warnings():  # about rows far out
        Check(onnxruntime, graph, model, X, in_float32=in_float32).run()


def name_of(model: Any) -> str:
    """The name of a model with that of its base model."""
    name = type(model).__name__
    if hasattr(model, "steps"):
        return f"{name}({', '.join(name_of(step) for _, step in model.steps)})"
    if name == "FrozenEstimator":
        return name_of(model.estimator)
    return f"{name}({name_of(model.estimator)})" if name == "CalibratedClassifier" else name


class Check:
    """Runs of a graph and of its model on the same rows."""

    def __init__(
        self, onnxruntime: Any, graph: Any, model: Any, X: Any, *, in_float32: bool
    ) -> None:
        self.graph, self.model, self.in_float32 = graph.graph, model, in_float32
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        with self.refusing():
            self.session = onnxruntime.InferenceSession(
                graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        self.rng = np.random.default_rng(0)
        self.n_rows = self.n_wrong = self.n_wrong_labels = 0
        self.worst = 0.0
        self.like = np.empty((0, int(model.n_features_in_))) if X is None else X
        self.columns = columns_of(self.like)
        self.pools = list(self.make_pools())

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Turns errors of onnxruntime into ours."""
        try:
            yield
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                f"onnxruntime cannot run the ONNX graph of {name_of(self.model)}: {reason}"
            ) from error

    def run(self) -> None:
        """Compare all rows; raise if some differ."""
        missing = np.zeros(len(self.like), dtype=bool)
        for column in self.columns:  # ONNX has no missing text
            missing |= column.missing_texts
        given = take(self.like, np.flatnonzero(~missing)) if missing.any() else self.like
        if len(given):
            self.compare(given, self.model.predict_proba(given))
        if all(map(len, self.pools)):
            for numbers in (self.drawn(N_DRAWN), self.extremes(), self.holes()):
                rows, p = self.judged(numbers)
                if len(rows):
                    self.compare(self.rows(rows), p)
        if not self.n_rows:
            raise InputError(
                f"no rows could be made that {name_of(self.model)} takes, so its graph was not "
                "checked; pass rows as X, or check=False."
            )
        if self.n_wrong or self.n_wrong_labels:
            worst = "NaN" if np.isinf(self.worst) else f"by up to {self.worst:.2g}"
            raise InputError(
                f"the ONNX graph of {name_of(self.model)} is not the model: of {self.n_rows:,} "
                f"rows, {self.n_wrong:,} have another probability ({worst}) and "
                f"{self.n_wrong_labels:,} another label than in Python. Run the base model in "
                "Python and export its map alone, with map.to_onnx()."
            )

    # Comparing ------------------------------------------------------------------------------

    def compare(self, rows: Any, expected: Floats) -> None:
        """Count rows whose probability or label differs."""
        labels = np.asarray(self.model.predict(rows))
        found_labels, found = self.answers(rows)
        for single in range(min(3, len(rows))):  # for one row runtimes take another path
            part = self.answers(take(rows, [single]))
            found_labels[single : single + 1], found[single : single + 1] = part
        if found_labels.dtype.kind in "OU":
            labels = labels.astype(str)
        gap = np.nan_to_num(np.abs(found - expected).max(axis=1), nan=np.inf)
        other = found_labels != labels
        allowed = np.full(len(gap), TOLERANCE[self.in_float32])
        doubtful = np.flatnonzero((gap > allowed) | other)
        if len(doubtful):
            part = take(rows, doubtful)
            allowed[doubtful] += _slack(self.model, part, SHIFT[self.in_float32])
        second, best = np.sort(expected, axis=1)[:, -2:].T
        wrong = gap > allowed
        self.n_rows += len(gap)
        self.n_wrong += int(wrong.sum())
        self.n_wrong_labels += int((other & (best - second > 2 * allowed)).sum())
        self.worst = max(self.worst, gap[wrong].max(initial=0.0))

    def answers(self, rows: Any) -> tuple[npt.NDArray[Any], Floats]:
        """Labels and probabilities of the graph."""
        inputs = self.session.get_inputs()
        if len(inputs) == 1 and not hasattr(rows, "columns"):
            feeds = {inputs[0].name: _as_type(rows, inputs[0].type)}
        else:
            columns = zip(inputs, columns_of(rows), strict=True)
            feeds = {
                given.name: _as_type(column.values[:, np.newaxis], given.type)
                for given, column in columns
            }
        with self.refusing():
            label, p = self.session.run(["label", "probabilities"], feeds)
        if p.shape != (len(rows), p.shape[-1]) or label.shape != (len(rows),):
            raise InputError(
                f"the ONNX graph of {name_of(self.model)} gives probabilities of shape {p.shape} "
                f"and labels of shape {label.shape} for {len(rows)} rows."
            )
        return np.array(label), np.array(p)

    # Making rows ----------------------------------------------------------------------------

    def rows(self, numbers: Floats) -> Any:
        """Numbers as rows like those given; those of texts are places in the rows given."""
        return with_numbers(self.like, self.columns, numbers)

    def make_pools(self) -> Iterator[Floats]:
        """The numbers to try in each column."""
        found: list[list[Floats]] = [[] for _ in self.columns]
        if all(column.is_free for column in self.columns):  # else the graph counts differently
            for place, values in _numbers_in(self.graph, len(self.columns)):
                found[place].append(values)
        for column, parts in zip(self.columns, found, strict=True):
            if not column.is_free:
                yield np.flatnonzero(~column.missing_texts).astype(float)
                continue
            any_column = [*self.rng.normal(size=8), 0.0, 10.0, -10.0, 100.0]
            values = np.concatenate([column.values.astype(float), *parts, any_column])
            values = np.unique(values[np.isfinite(values) & (np.abs(values) < 1e30)])
            few = min(len(values), MOST_VALUES)
            yield self.rng.choice(values, few, replace=False)

    def drawn(self, n: int) -> Floats:
        """Values of the pools; every second number is moved away from them."""
        made = []
        for column, pool in zip(self.columns, self.pools, strict=True):
            values = self.rng.choice(pool, n)
            if column.is_free:
                low, high = np.percentile(pool, [5, 95])
                moved = self.rng.random(n) < 0.5
                values[moved] += self.rng.normal(scale=0.3 * (high - low) or 1.0, size=moved.sum())
            made.append(values)
        return np.column_stack(made)

    def judged(self, numbers: Floats) -> tuple[Floats, Floats]:
        """The rows that Python takes, and their probabilities."""
        try:
            return numbers, np.asarray(self.model.predict_proba(self.rows(numbers)))
        except Exception:  # of any library
            if len(numbers) == 1:
                return numbers[:0], np.zeros((0, 0))
        halves = [self.judged(half) for half in np.array_split(numbers, 2)]
        taken = [half for half in halves if len(half[0])]
        if len(taken) < 2:
            return (taken or halves)[0]
        return np.concatenate([half[0] for half in taken]), np.concatenate(
            [half[1] for half in taken]
        )

    def extremes(self) -> Floats:
        """Zeros, the ends of every pool, and numbers far beyond them."""
        low, high = (np.array([end(pool) for pool in self.pools]) for end in (np.min, np.max))
        wide = high - low
        ends = [low, high, 0 * low]
        ends += [
            end + sign * far * wide for end, sign in ((low, -1), (high, 1)) for far in (1, 10, 1000)
        ]
        mixed = self.rng.integers(0, len(ends), (12, len(low)))
        return np.concatenate([ends, np.choose(mixed, np.array(ends))])

    def holes(self) -> Floats:
        """Rows with missing numbers."""
        numbers = self.drawn(24)
        holes = self.rng.random(numbers.shape) < 0.3
        holes[0], holes[1] = True, False
        holes[:, [not column.is_free for column in self.columns]] = False
        numbers[holes] = np.nan
        return numbers


def _numbers_in(graph: Any, n_columns: int) -> Iterator[tuple[int, Floats]]:
    """Numbers of a graph that belong to features: thresholds, and arrays as wide as the rows."""
    from onnx import numpy_helper
    from onnx.helper import get_attribute_value

    wide = [numpy_helper.to_array(tensor) for tensor in graph.initializer]
    for node in graph.node:
        parts = {item.name: get_attribute_value(item) for item in node.attribute}
        if "nodes_featureids" in parts:
            splits = parts.get("nodes_splits")
            if splits is None:  # rounded to float32: rows on the threshold itself may go either way
                cuts = np.asarray(parts.get("nodes_values", ()), dtype=float)
                cuts = cuts + 1e-5 * (np.abs(cuts) + 1)
            else:
                cuts = numpy_helper.to_array(splits).astype(float)
            places = np.asarray(parts["nodes_featureids"])[: len(cuts)]
            for place in range(n_columns):
                yield place, cuts[places == place]
        names = {"support_vectors", "offset", "scale"}.intersection(parts)
        wide.extend(np.asarray(parts[name], dtype=float) for name in names)
    for array in wide:
        if array.dtype.kind != "f" or not array.ndim or not array.size or array.size % n_columns:
            continue
        if array.ndim == 1 or array.shape[-1] == n_columns:
            rows = array.reshape(-1, n_columns)
        elif array.shape[0] == n_columns:
            rows = array.reshape(n_columns, -1).T
        else:
            continue
        for place in range(n_columns):
            yield place, rows[:, place].astype(float)


def _as_type(values: Any, kind: str) -> npt.NDArray[Any]:
    """Values in the type of a graph's input, such as ``tensor(int64)``."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    dtype = {"double": "float64", "float": "float32", "string": "str"}.get(name, name)
    return np.asarray(np.asarray(values).astype(dtype), order="C")


def _slack(model: Any, rows: Any, share: float) -> Floats:
    """How far a probability moves if each base model's score is moved by this share of itself."""
    if hasattr(model, "steps"):
        if len(model.steps) > 1:
            rows = model[:-1].transform(rows)
        return _slack(model.steps[-1][1], rows, share)
    members = getattr(model, "calibrated_classifiers_", ())
    if not members or not hasattr(members[0], "calibrate"):
        return np.full(len(rows), share)
    total = np.zeros(len(rows))
    for member in members:
        scores = member.scores(rows)
        p = member.calibrate(scores, rows)
        is_probability = member.method == "predict_proba"
        step = share * (np.abs(scores) + (0.01 if is_probability else 1.0))
        for which in np.eye(scores.shape[1]) if scores.ndim == 2 else (1.0,):
            ends = [scores - step * which, scores + step * which]
            if is_probability:
                ends = [np.clip(end, 0.0, 1.0) for end in ends]
            moved = [np.abs(member.calibrate(end, rows) - p).max(axis=1) for end in ends]
            total += np.maximum(*moved)
    return np.asarray(total / len(members))
