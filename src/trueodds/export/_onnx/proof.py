"""Whether an ONNX graph gives what its model gives in Python.

Both are run on the rows that a caller has, and on rows made from numbers in the graph (thresholds
of trees, means, stored rows). A search leads from these to the rows of the highest probability for
each class and to the border between classes, as random rows seldom reach them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.warned import ignored_warnings
from trueodds.exceptions import InputError, UncheckedGraphWarning, warn_user
from trueodds.inputs import Floats

__all__ = ["name_of", "prove"]

TOLERANCE = {False: 1e-9, True: 1e-6}
SHIFT = {False: 1e-10, True: 1e-5}
"""By which share of itself a base model's score may differ, without and with float32 in the graph;
near 0 by a hundredth of that."""
N_DRAWN = 400
N_PARENTS, N_CHILDREN, N_ROUNDS = 16, 24, 3
N_PAIRS, N_HALVINGS = 16, 10
MOST_CLASSES = 8
MOST_VALUES = 2000


def prove(graph: Any, model: Any, X: Any, *, in_float32: bool) -> None:
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
        _Trial(onnxruntime, graph, model, in_float32=in_float32).run(X)


def name_of(model: Any) -> str:
    """The name of a model with that of its base model."""
    name = type(model).__name__
    if hasattr(model, "steps"):
        return f"{name}({', '.join(name_of(step) for _, step in model.steps)})"
    if name == "FrozenEstimator":
        return name_of(model.estimator)
    return f"{name}({name_of(model.estimator)})" if name == "CalibratedClassifier" else name


@dataclass(frozen=True, eq=False)
class _Column:
    """A feature: its type, and numbers to try; those of texts are places among their values."""

    dtype: Any
    pool: Floats
    texts: npt.NDArray[Any] | None = None

    def drawn(self, n: int, rng: np.random.Generator) -> Floats:
        """Values of the pool; every second number is moved away from them."""
        values = rng.choice(self.pool, n)
        if self.texts is None:
            low, high = np.percentile(self.pool, [5, 95])
            moved = rng.random(n) < 0.5
            values[moved] += rng.normal(scale=0.3 * (high - low) or 1.0, size=moved.sum())
        return np.asarray(values)

    def made(self, numbers: Floats) -> npt.NDArray[Any]:
        """Numbers as values of this column."""
        if self.texts is not None:
            places = np.clip(np.rint(numbers), 0, len(self.texts) - 1).astype(int)
            return np.asarray(self.texts[places])
        kind = getattr(self.dtype, "kind", "f")
        if kind == "b":
            return np.asarray(numbers > np.median(self.pool))
        if kind in "iu":
            numbers = np.rint(np.nan_to_num(numbers))
            ends = np.iinfo(getattr(self.dtype, "numpy_dtype", self.dtype))
            numbers = np.clip(numbers, max(ends.min, -(2.0**53)), min(ends.max, 2.0**53))
        return numbers.astype(getattr(self.dtype, "numpy_dtype", self.dtype))


class _Trial:
    """Runs of a graph and of its model on the same rows."""

    def __init__(self, onnxruntime: Any, graph: Any, model: Any, *, in_float32: bool) -> None:
        self.graph = graph.graph
        self.model = model
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        with self.refusing():
            self.session = onnxruntime.InferenceSession(
                graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        self.in_float32 = in_float32
        self.rng = np.random.default_rng(0)
        self.n_rows = self.n_wrong = self.n_wrong_labels = 0
        self.worst = 0.0

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

    def run(self, X: Any) -> None:
        if X is not None:
            kept = _without_missing_texts(X)
            if len(kept):
                self.compare(kept, self.model.predict_proba(kept))
        self.like = X
        self.columns = list(self.columns_of(X))
        if all(len(column.pool) for column in self.columns):
            for numbers, p in (
                self.searched(),
                self.judged(self.extremes()),
                self.judged(self.missing()),
            ):
                if len(numbers):
                    self.compare(self.rows(numbers), p)
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
        labels = np.asarray(self.model.predict(rows))
        found_labels, found = self.answers(rows)
        for single in range(min(3, len(rows))):  # for one row runtimes take another path
            part = rows.iloc[[single]] if hasattr(rows, "iloc") else rows[[single]]
            found_labels[single : single + 1], found[single : single + 1] = self.answers(part)
        if found_labels.dtype.kind in "OU":
            labels = labels.astype(str)
        gap = np.nan_to_num(np.abs(found - expected).max(axis=1), nan=np.inf)
        other = found_labels != labels
        allowed = np.full(len(gap), TOLERANCE[self.in_float32])
        doubtful = np.flatnonzero((gap > allowed) | other)
        if len(doubtful):
            part = rows.iloc[doubtful] if hasattr(rows, "iloc") else rows[doubtful]
            allowed[doubtful] += _slack(self.model, part, SHIFT[self.in_float32])
        second, best = np.sort(expected, axis=1)[:, -2:].T
        wrong = gap > allowed
        self.n_rows += len(gap)
        self.n_wrong += int(wrong.sum())
        self.n_wrong_labels += int((other & (best - second > 2 * allowed)).sum())
        self.worst = max(self.worst, gap[wrong].max(initial=0.0))

    def answers(self, rows: Any) -> tuple[npt.NDArray[Any], Floats]:
        inputs = self.session.get_inputs()
        if hasattr(rows, "iloc"):
            feeds = {
                given.name: _as_type(rows.iloc[:, [place]].to_numpy(), given.type)
                for place, given in enumerate(inputs)
            }
        else:
            feeds = {inputs[0].name: _as_type(rows, inputs[0].type)}
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
        made = [column.made(part) for column, part in zip(self.columns, numbers.T, strict=True)]
        if not hasattr(self.like, "iloc"):
            return np.column_stack(made)
        named = dict(zip(range(len(made)), made, strict=True))
        frame = type(self.like)(named).astype(dict(enumerate(self.like.dtypes)))
        frame.columns = self.like.columns
        return frame

    def columns_of(self, X: Any) -> Iterator[_Column]:
        """Columns as wide as the rows given, with the numbers that the graph has for each."""
        if X is None:
            given = [np.zeros(0)] * int(self.model.n_features_in_)
            dtypes = [np.dtype(float)] * len(given)
        elif hasattr(X, "iloc"):
            given = [X.iloc[:, place].dropna().to_numpy() for place in range(X.shape[1])]
            dtypes = list(X.dtypes)
        else:
            rows = np.asarray(X)
            given, dtypes = list(rows.T), [rows.dtype] * rows.shape[1]
        numeric = [getattr(dtype, "kind", "O") in "biuf" for dtype in dtypes]
        found: list[list[Floats]] = [[] for _ in given]
        if all(numeric):  # else the graph counts columns differently
            for place, values in _numbers_in(self.graph, len(given)):
                found[place].append(values)
        for own, dtype, is_number, parts in zip(given, dtypes, numeric, found, strict=True):
            if is_number:
                yield _Column(dtype, self.pool([own.astype(float), *parts]))
            else:
                texts = np.unique(own.astype(object))
                yield _Column(dtype, np.arange(len(texts), dtype=float), texts)

    def pool(self, parts: list[Floats]) -> Floats:
        values = np.concatenate([*parts, self.rng.normal(size=8), [0.0, 10.0, -10.0, 100.0]])
        values = np.unique(values[np.isfinite(values) & (np.abs(values) < 1e30)])
        if len(values) > MOST_VALUES:
            values = self.rng.choice(values, MOST_VALUES, replace=False)
        return values

    def searched(self) -> tuple[Floats, Floats]:
        """Rows from the pools, then rows of ever higher probability, then those at borders."""
        numbers, p = self.judged(self.drawn(N_DRAWN))
        for _ in range(N_ROUNDS if len(p) else 0):
            classes = self.rng.permutation(p.shape[1])[:MOST_CLASSES]
            children = [self.children(numbers[np.argsort(-p[:, k])[:N_PARENTS]]) for k in classes]
            more, q = self.judged(np.concatenate(children))
            if len(more):
                numbers, p = np.concatenate([numbers, more]), np.concatenate([p, q])
        parts = [(numbers, p), *self.borders(numbers, p)]
        return np.concatenate([part for part, _ in parts]), np.concatenate([q for _, q in parts])

    def drawn(self, n: int) -> Floats:
        return np.column_stack([column.drawn(n, self.rng) for column in self.columns])

    def children(self, parents: Floats) -> Floats:
        """Rows that take each value from one of two parents, and one in ten anew."""
        pairs = self.rng.integers(0, len(parents), (2, N_CHILDREN))
        shape = N_CHILDREN, parents.shape[1]
        result = np.where(self.rng.random(shape) < 0.5, parents[pairs[0]], parents[pairs[1]])
        return np.where(self.rng.random(shape) < 0.1, self.drawn(N_CHILDREN), result)

    def borders(self, numbers: Floats, p: Floats) -> Iterator[tuple[Floats, Floats]]:
        """What lies between rows of two labels, ever closer to where the label changes."""
        label = p.argmax(axis=1) if len(p) else np.zeros(0)
        if len(np.unique(label)) < 2:
            return
        first = self.rng.integers(0, len(numbers), N_PAIRS)
        other = [self.rng.choice(np.flatnonzero(label != label[row])) for row in first]
        a, b, side = numbers[first], numbers[other], label[first]
        for _ in range(N_HALVINGS):
            middle, q = self.judged((a + b) / 2)
            if len(middle) < N_PAIRS:
                return
            yield middle, q
            same = (q.argmax(axis=1) == side)[:, np.newaxis]
            a, b = np.where(same, middle, a), np.where(same, b, middle)

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
        low, high = (
            np.array([end(column.pool) for column in self.columns]) for end in (np.min, np.max)
        )
        wide = high - low
        ends = [low, high, 0 * low]
        ends += [
            end + sign * far * wide for end, sign in ((low, -1), (high, 1)) for far in (1, 10, 1000)
        ]
        mixed = self.rng.integers(0, len(ends), (12, len(low)))
        return np.concatenate([ends, np.choose(mixed, np.array(ends))])

    def missing(self) -> Floats:
        numbers = self.drawn(24)
        holes = self.rng.random(numbers.shape) < 0.3
        holes[0], holes[1] = True, False
        holes[:, [column.texts is not None for column in self.columns]] = False
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


def _without_missing_texts(X: Any) -> Any:
    """Rows without missing texts, for which ONNX has no value."""
    if not hasattr(X, "iloc"):
        return np.asarray(X)
    texts = [place for place, dtype in enumerate(X.dtypes) if getattr(dtype, "kind", "O") == "O"]
    kept: Any = X[X.iloc[:, texts].notna().all(axis=1).to_numpy()]
    return kept


def _as_type(values: Any, kind: str) -> npt.NDArray[Any]:
    """Values in the type of a graph's input."""
    types: dict[str, Any] = {
        "tensor(double)": np.float64,
        "tensor(float)": np.float32,
        "tensor(int64)": np.int64,
        "tensor(int32)": np.int32,
        "tensor(bool)": np.bool_,
    }
    values = np.asarray(values)
    return np.asarray(
        values.astype(types[kind]) if kind in types else values.astype(str), order="C"
    )


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
