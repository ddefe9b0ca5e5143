r"""A structured softmax: its features, its linear predictor by blocks, and its probabilities.

.. math:: η_k = \ln q_k + b_k + Σ_j W_{kj} z_j + Σ_j V_{kj}(q_j - 1/K) + Σ_m s_m f_{mk}

where z = (ln q − center)/unit. Blocks: shared (s), intercepts (b), the diagonal and the rest of W,
the diagonal and the rest of V. One variance belongs to each. Identity is all zeros; temperature
scaling is s₁ alone, vector scaling b and the diagonal of W, matrix scaling b and W.

The four shared features f of class k have one coefficient for all classes:

- ln q_k: a further temperature;
- ln q_k·(H − 0.3), with the entropy H of the row divided by ln k: a temperature that depends on how
  undecided the row is. At H = 0.3 it changes nothing, so that the two are nearly orthogonal;
- √q_k: what is lost or gained at the low end, and stays finite there;
- whether k is the largest: confidence in the decision itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.rows import ClassRows

__all__ = [
    "ENTROPY_CENTER",
    "N_SHARED",
    "Block",
    "Coefficients",
    "Design",
    "Layout",
    "layout_for",
    "make_design",
    "relative_entropy",
    "shared_features",
    "structured_probabilities",
]

Layout = Literal["full", "logs", "diagonal", "shared"]
"""All blocks; all but those of q; intercepts and diagonal of W; the shared features alone."""
MOST_FULL, MOST_LOGS, MOST_DIAGONAL = 16, 32, 256
"""The most classes with each layout. A Hessian takes (number of parameters)² · rows operations:
532², 1,060² and 516² at these limits, so 10⁴ rows take some seconds at most. Beyond, a class has
too few rows in any calibration set for separate coefficients."""

LEAST_UNIT = 0.3
"""Logarithms that hardly spread are not blown up: e^0.3 is a third more."""
CHUNK_VALUES = 1 << 19
"""Numbers in the largest temporary array of a Hessian: 4 MB."""


class Block(IntEnum):
    """Coefficients with a variance in common."""

    SHARED = 0
    INTERCEPT = 1
    LOG_DIAGONAL = 2
    LOG_OTHERS = 3
    PROBABILITY_DIAGONAL = 4
    PROBABILITY_OTHERS = 5


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a predictor, of ln q and q unscaled.

    Parameters
    ----------
    bias : ndarray of shape (k,)
    on_logs : ndarray of shape (k,) or (k, k)
        Coefficients of ln q: a diagonal, or all of W.
    on_probabilities : ndarray of shape (0,) or (k, k)
        Coefficients of q; empty if there is no such block.
    shared : ndarray of shape (4,)
    """

    bias: Floats
    on_logs: Floats
    on_probabilities: Floats
    shared: Floats


@dataclass(frozen=True, eq=False)
class Design:
    """Columns, features, and which coefficients there are.

    Parameters
    ----------
    offset : ndarray of shape (k, n)
        ln q.
    columns : ndarray of shape (d, n)
        1, z, and q − 1/k if these have a block.
    features : ndarray of shape (4, k, n)
    block : ndarray of shape (k, d)
        The block of each coefficient of a class and a column; −1 if there is none.
    center, unit : float
        z = (ln q − center)/unit.
    """

    offset: Floats
    columns: Floats
    features: Floats
    block: npt.NDArray[np.int8]
    center: float
    unit: float

    @cached_property
    def is_there(self) -> npt.NDArray[np.bool_]:
        """Which coefficients there are, of shape (k, d)."""
        return np.asarray(self.block >= 0)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether class k has no coefficients but an intercept and that of z_k."""
        return not bool((self.block > Block.LOG_DIAGONAL).any())

    @cached_property
    def blocks(self) -> npt.NDArray[np.int8]:
        """The block of each parameter: the shared ones first, then class by class."""
        return np.concatenate([np.zeros(N_SHARED, np.int8), self.block[self.is_there]])

    @cached_property
    def places(self) -> list[npt.NDArray[np.intp]]:
        """For each class the columns that it has coefficients of."""
        return [np.flatnonzero(row) for row in self.is_there]

    def predictor(self, theta: Floats) -> Floats:
        """What the parameters add to the offset, of shape (k, n)."""
        shared, weights = self._split(theta)
        eta = np.tensordot(shared, self.features, axes=1)
        if not self.is_diagonal:
            eta += weights @ self.columns
        elif self.is_there.any():
            eta += self._own_columns * np.diagonal(weights[:, 1:])[:, None]
            eta += weights[:, :1]
        return np.asarray(eta)

    def gradient(self, residual: Floats) -> Floats:
        """Σ residual·∂η/∂θ, for residuals of shape (k, n)."""
        shared = np.array([np.vdot(feature, residual) for feature in self.features])
        if not self.is_there.any():
            return shared
        if self.is_diagonal:
            own = np.einsum("kn,kn->k", residual, self._own_columns)
            by_class = np.column_stack([residual.sum(axis=1), own]).ravel()
        else:
            by_class = (residual @ self.columns.T)[self.is_there]
        return np.concatenate([shared, by_class])

    @property
    def _own_columns(self) -> Floats:
        return self.columns[1 : len(self.block) + 1]

    def hessian(self, p: Floats, weight: Floats) -> Floats:
        """Σ weight·∂ηᵀ(diag p − p·pᵀ)∂η, for probabilities of shape (k, n)."""
        size = len(self.blocks)
        result = np.zeros((size, size))
        add = self._add_full_chunk if self.is_there.all() else self._add_chunk
        for rows in self._chunks():
            add(result, p[:, rows], weight[rows], rows)
        return result

    def _add_full_chunk(self, result: Floats, p: Floats, weight: Floats, rows: slice) -> None:
        """The same if every class has a coefficient of every column.

        All sums Σ weight·p_k·x·xᵀ and Σ weight·p_k·p_l·x·xᵀ, with x the columns of a row, are one
        product of matrices, and symmetric in classes and in columns: half of the work.
        """
        columns, features = self.columns[:, rows], self.features[:, :, rows]
        (k, d), n = self.block.shape, p.shape[1]
        one, other = np.triu_indices(k)
        weighted = p * weight
        factors = np.concatenate([weighted, products_of_pairs(weighted, p)])
        sums = factors @ products_of_pairs(columns, columns).T
        sums[k:] *= -1
        squares = sums[:, self._places_of_pairs]
        classes = result[N_SHARED:, N_SHARED:].reshape(k, d, k, d)
        classes[one, :, other] += squares[k:]
        apart = one != other
        classes[other[apart], :, one[apart]] += squares[k:][apart]
        classes[np.arange(k), :, np.arange(k)] += squares[:k]
        # Σ_k p_k·feature_k, and what features of class k have beyond it.
        mean = np.einsum("mkn,kn->mn", features, p)
        beyond = (features - mean[:, None]) * weighted
        cross = (beyond.reshape(-1, n) @ columns.T).reshape(N_SHARED, k * d)
        result[:N_SHARED, N_SHARED:] += cross
        result[N_SHARED:, :N_SHARED] += cross.T
        shared = beyond.reshape(N_SHARED, -1) @ features.reshape(N_SHARED, -1).T
        result[:N_SHARED, :N_SHARED] += shared

    def _add_chunk(self, result: Floats, p: Floats, weight: Floats, rows: slice) -> None:
        columns, features = self.columns[:, rows], self.features[:, :, rows]
        mean = np.empty((len(result), p.shape[1]))  # Σ_k p_k·∂η_k
        np.einsum("mkn,kn->mn", features, p, out=mean[:N_SHARED])
        start = N_SHARED
        for k, place in enumerate(self.places):
            own, stop = columns[place], start + len(place)
            np.multiply(own, p[k], out=mean[start:stop])
            scaled = mean[start:stop] * weight
            result[start:stop, start:stop] += scaled @ own.T
            cross = scaled @ features[:, k].T
            result[start:stop, :N_SHARED] += cross
            result[:N_SHARED, start:stop] += cross.T
            result[:N_SHARED, :N_SHARED] += (features[:, k] * (p[k] * weight)) @ features[:, k].T
            start = stop
        mean *= np.sqrt(weight)
        result -= mean @ mean.T

    @cached_property
    def _places_of_pairs(self) -> npt.NDArray[np.intp]:
        """Index of two columns in :func:`products_of_pairs`, of shape (d, d)."""
        size = len(self.columns)
        first, second = np.triu_indices(size)
        places = np.empty((size, size), np.intp)
        places[first, second] = places[second, first] = np.arange(len(first))
        return places

    def _chunks(self) -> Iterator[slice]:
        n, step = self.columns.shape[1], max(CHUNK_VALUES // len(self.blocks), 1)
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _split(self, theta: Floats) -> tuple[Floats, Floats]:
        weights = np.zeros(self.block.shape)
        weights[self.is_there] = theta[N_SHARED:]
        return theta[:N_SHARED], weights

    def coefficients(self, theta: Floats) -> Coefficients:
        """The same predictor in ln q and q themselves, up to what a row's classes share."""
        shared, weights = self._split(theta)
        k = len(weights)
        on_logs = weights[:, 1 : k + 1] / self.unit
        on_probabilities = weights[:, k + 1 :]
        bias = weights[:, 0] - self.center * on_logs.sum(axis=1) - on_probabilities.sum(axis=1) / k
        if self.is_diagonal:
            on_logs = np.diagonal(on_logs).copy()
        if not on_probabilities.size:
            on_probabilities = np.zeros(0)
        scales = np.array([self.unit, self.unit, 1.0, 1.0])
        return Coefficients(bias, on_logs, on_probabilities, shared / scales)


def products_of_pairs(x: Floats, y: Floats) -> Floats:
    """Row i of x times row j of y for all i ≤ j, in the order of ``np.triu_indices``."""
    size = len(x)
    result = np.empty((size * (size + 1) // 2, x.shape[1]))
    start = 0
    for i in range(size):
        stop = start + size - i
        np.multiply(x[i], y[i:], out=result[start:stop])
        start = stop
    return result


def layout_for(n_classes: int) -> Layout:
    """The richest layout whose cost is bounded with this many classes."""
    if n_classes <= MOST_FULL:
        return "full"
    if n_classes <= MOST_LOGS:
        return "logs"
    return "diagonal" if n_classes <= MOST_DIAGONAL else "shared"


def make_design(rows: ClassRows, base: Base, layout: Layout) -> Design:
    """The design of rows on a base."""
    q = base.mixed(rows.p)
    logs = np.log(q)
    k = len(q)
    share = rows.weight / (k * rows.weight.sum())
    center = float(logs.sum(axis=0) @ share)
    variance = float(((logs - center) ** 2).sum(axis=0) @ share)
    unit = max(math.sqrt(variance), LEAST_UNIT)
    parts = [np.ones((1, q.shape[1])), (logs - center) / unit]
    if layout == "full":
        parts.append(q - 1 / k)
    return Design(
        offset=logs,
        columns=np.concatenate(parts),
        features=shared_features(q, logs, rows.top, unit),
        block=_blocks_of(layout, k),
        center=center,
        unit=unit,
    )


def _blocks_of(layout: Layout, k: int) -> npt.NDArray[np.int8]:
    block = np.full((k, 1 + k * (2 if layout == "full" else 1)), -1, np.int8)
    if layout == "shared":
        return block
    own = np.eye(k, dtype=bool)
    block[:, 0] = Block.INTERCEPT
    rest = -1 if layout == "diagonal" else Block.LOG_OTHERS
    block[:, 1 : k + 1] = np.where(own, Block.LOG_DIAGONAL, rest)
    if layout == "full":
        block[:, k + 1 :] = np.where(own, Block.PROBABILITY_DIAGONAL, Block.PROBABILITY_OTHERS)
    return block


ENTROPY_CENTER = 0.3
"""A typical relative entropy of a row; only where the two temperatures meet depends on it."""
N_SHARED = 4


def relative_entropy(q: Floats, logs: Floats) -> Floats:
    """−Σ q·ln q / ln k of probabilities of shape (k, n): 0 if decided, 1 if uniform."""
    return np.asarray(-np.einsum("kn,kn->n", q, logs) / math.log(len(q)))


def shared_features(q: Floats, logs: Floats, top: npt.NDArray[np.bool_], unit: float) -> Floats:
    """The four features of each class and row, of shape (4, k, n); logarithms in ``unit``."""
    features = np.empty((N_SHARED, *q.shape))
    # What all classes of a row have in common drops out of the softmax; the mean is taken off so
    # that the numbers stay small.
    np.subtract(logs, logs.mean(axis=0), out=features[0])
    features[0] /= unit
    np.multiply(features[0], relative_entropy(q, logs) - ENTROPY_CENTER, out=features[1])
    np.sqrt(q, out=features[2])
    features[3] = top
    return features


def structured_probabilities(
    p: Floats, top: npt.NDArray[np.bool_], base: Base, coefficients: Coefficients
) -> Floats:
    """Calibrated probabilities of shape (k, n).

    Parameters
    ----------
    p : ndarray of shape (k, n)
    top : ndarray of shape (k, n)
        Whether a class is the most probable of its row.
    base : Base
    coefficients : Coefficients
    """
    q = base.mixed(p)
    logs = np.log(q)
    slope, by_entropy, on_root, on_top = coefficients.shared
    steepness = 1 + slope + by_entropy * (relative_entropy(q, logs) - ENTROPY_CENTER)
    eta = logs * steepness
    eta += on_root * np.sqrt(q)
    eta += on_top * top
    eta += coefficients.bias[:, None]
    if coefficients.on_logs.ndim == 1:
        eta += coefficients.on_logs[:, None] * logs
    else:
        eta += coefficients.on_logs @ logs
    if coefficients.on_probabilities.size:
        eta += coefficients.on_probabilities @ q
    eta -= eta.max(axis=0)
    np.exp(eta, out=eta)
    eta /= eta.sum(axis=0)
    return np.asarray(eta)
