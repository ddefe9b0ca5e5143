"""Scores chosen to hurt, with rows that cannot be used, and what every target must give.

A row is usable by the rule of the docs, written here once more: probabilities in [0, 1] whose rows
sum to 1 within 0.05, finite margins, log-odds that are not NaN (of several classes: below +inf, not
all −inf). There every target gives what NumPy gives; elsewhere it gives a missing value.
"""

from typing import Any

import numpy as np
import pandas as pd

from support.map_examples import INF, Example, attributes
from trueodds.export import SqlDialect
from trueodds.maps import CalibrationMap, TreeMap

NAN = np.nan
TOLERANCE = 1e-12
BAD = [NAN, INF, -INF, 1.2, -1e-17, float(np.nextafter(1, 2)), -0.1, float(np.float32(1.0000001))]
TINY = [5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-291, 1e-289, 1e-17]
HUGE = [1e16, 1e20, 1e100, 1e299, 1.1e300, 7e307, 1e308, 1.7976931348623157e308]


def huge_for(m: CalibrationMap) -> list[float]:
    """Finite log-odds beyond ±1e300 count as infinite in exports, and in trees margins do."""
    most = 1e300 if m.scale == "logit" or isinstance(m, TreeMap) else INF
    return [x for x in HUGE if x < most]


def numbers_in(value: Any) -> list[float]:
    """Every number of a map's document: edges, knots, slopes, means."""
    if isinstance(value, dict):
        value = [part for key, part in value.items() if key != "metadata"]
    if isinstance(value, list):
        return [number for part in value for number in numbers_in(part)]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return [float(value)] if is_number else []


def one_score(m: CalibrationMap) -> np.ndarray:
    own = np.array(numbers_in(m.to_dict()))[:60]
    own = np.concatenate([own, np.nextafter(own, -INF), np.nextafter(own, INF)])
    drawn = np.random.default_rng(0).random(40).astype(np.float32).astype(float)
    scores = [0.0, -0.0, 1.0, float(np.nextafter(1, 0)), 0.5, *TINY, *BAD, *own, *drawn]
    if m.scale != "probability":
        huge = huge_for(m)
        scores += [-x for x in TINY] + huge + [-x for x in huge] + [-3.0, 40.0, -800.0]
    return np.array(scores)


def several_scores(m: CalibrationMap, k: int) -> np.ndarray:
    rng = np.random.default_rng(k)
    rest = [0.0] * (k - 2)
    if m.scale == "probability":
        rows = [[1.0, tiny, *rest] for tiny in (0.0, -0.0, *TINY)]
        rows += [[0.98, 0.02, 0.05, *rest[1:]][:k], [0.9, 0.05, *rest], [0.95, 0.0, *rest]]
        rows += [[0.05, 0.9, 0.1, *rest[1:]][:k], [0.06, 0.9, 0.1, *rest[1:]][:k]]
        rows += [[0.5, 0.44, *rest], [0.0, 0.0, *rest]]
        rows += [[bad, 0.0, *rest] for bad in BAD] + [[1 / k] * k]
        drawn = rng.dirichlet(np.ones(k) / 3, 30)
        return np.concatenate([rows, drawn, drawn.astype(np.float32).astype(float)])
    huge = huge_for(m)
    rows = [[big, 0.0, *rest] for big in huge] + [[-big, 0.0, *rest] for big in huge]
    rows += [[big, -big, *rest] for big in huge] + [[big, big / 4, *rest] for big in huge]
    rows += [[tiny, 0.0, *rest] for tiny in TINY] + [[-tiny, tiny, *rest] for tiny in TINY]
    rows += [[bad, 0.0, *rest] for bad in BAD] + [[-INF] * k, [-INF] * (k - 1) + [3.0], [0.0] * k]
    return np.concatenate([rows, rng.normal(0, 5, (30, k)), 300 * rng.normal(0, 5, (10, k))])


def is_usable(m: CalibrationMap, scores: np.ndarray) -> np.ndarray:
    rows = scores.reshape(len(scores), -1)
    several = rows.shape[1] > 1
    if m.scale == "probability":
        good = [all(0 <= x <= 1 for x in row) for row in rows.tolist()]
        if several and m.rows_sum_to_one:
            off = [abs(sum(row) - 1) for row in rows.tolist()]
            good = [is_in and gap < 0.0500001 for is_in, gap in zip(good, off, strict=True)]
        return np.array(good)
    if m.scale == "raw":
        return np.asarray(np.isfinite(rows).all(axis=1))
    if several:
        top = np.asarray(rows.max(axis=1))  # NaN if any is
        return (top < INF) & (top > -INF)
    return np.asarray(~np.isnan(rows).any(axis=1))


class Case:
    """Scores, attributes where there are some, and what NumPy gives."""

    def __init__(self, example: Example) -> None:
        m = example.map
        self.map, self.n_scores, self.name = m, example.n_scores, example.name
        self.scores = one_score(m) if self.n_scores == 1 else several_scores(m, self.n_scores)
        self.features: pd.DataFrame | None = None
        if m.features:
            rows = np.arange(len(self.scores)) % 200
            self.features = attributes().iloc[rows].reset_index(drop=True)
        usable = is_usable(m, self.scores)
        self.expected = np.full(self.scores.shape, NAN)
        extra = {} if self.features is None else {"features": self.features[usable]}
        self.expected[usable] = m(self.scores[usable], **extra)
        assert 0 < usable.sum() < len(usable)

    def frame(self) -> pd.DataFrame:
        table = self.scores.reshape(len(self.scores), -1)
        rows = pd.DataFrame(table, columns=[f"s{k}" for k in range(table.shape[1])])
        return rows if self.features is None else pd.concat([rows, self.features], axis=1)

    def sql(self, dialect: SqlDialect) -> list[str]:
        if self.n_scores == 1:
            return [self.map.to_sql("s0", dialect=dialect)]
        return self.map.to_sql([f"s{k}" for k in range(self.n_scores)], dialect=dialect)

    def check(self, found: Any) -> None:
        array = np.asarray(found, dtype=float).reshape(self.expected.shape)
        worst = np.flatnonzero(
            ~np.isclose(array, self.expected, rtol=0, atol=TOLERANCE, equal_nan=True)
            .reshape(len(array), -1).all(axis=1)
        )  # fmt: skip
        shown = [(self.scores[i], array[i], self.expected[i]) for i in worst[:5]]
        assert not len(worst), f"scores, found, expected: {shown}"
