"""Isotonic regression."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.kernels.isotonic import pool_adjacent_violators

__all__ = ["block_means", "isotonic_blocks", "isotonic_fit", "laplace_ends"]


def isotonic_fit(n_pos: Floats, weight: Floats) -> tuple[Floats, npt.NDArray[Any]]:
    """The non-decreasing frequencies of highest likelihood.

    Returns
    -------
    values : ndarray of shape (n,)
        In [0, 1].
    blocks : ndarray of shape (n_blocks + 1,)
        Where runs of one value begin; n ends the last.
    """
    values, blocks = pool_adjacent_violators(
        np.ascontiguousarray(n_pos, dtype=np.float64),
        np.ascontiguousarray(weight, dtype=np.float64),
    )
    return np.minimum(values, 1.0, out=values), blocks


def isotonic_blocks(
    n_neg: Floats, n_pos: Floats, ends: Literal["laplace"] | None
) -> tuple[Floats, npt.NDArray[Any], npt.NDArray[Any]]:
    """The fit, with the first and the last place of each block; ends as the calibrators' option."""
    values, blocks = isotonic_fit(n_pos, n_neg + n_pos)
    if ends == "laplace":
        values, blocks = laplace_ends(n_neg, n_pos, blocks)
    return values, blocks[:-1], blocks[1:] - 1


def laplace_ends(
    n_neg: Floats, n_pos: Floats, blocks: npt.NDArray[Any]
) -> tuple[Floats, npt.NDArray[Any]]:
    """An isotonic fit without values of 0 and 1: every block of one class gets one more of each.

    Parameters
    ----------
    n_neg, n_pos : ndarray of shape (n,)
        Weights of the classes.
    blocks : ndarray of shape (n_blocks + 1,)
        The blocks of :func:`isotonic_fit`.

    Returns
    -------
    values, blocks
        As those of :func:`isotonic_fit`; a block that has come out of order is pooled.
    """
    starts = blocks[:-1]
    neg, pos = np.add.reduceat(n_neg, starts), np.add.reduceat(n_pos, starts)
    added = ((neg == 0) | (pos == 0)).astype(np.float64)
    values, outer = isotonic_fit(pos + added, neg + pos + 2 * added)
    return np.repeat(values, np.diff(blocks)), blocks[outer]


def block_means(score: Floats, weight: Floats, starts: npt.NDArray[Any]) -> Floats:
    """The mean finite score of each block; ±inf if it has none."""
    finite = np.isfinite(score)
    mass = np.add.reduceat(np.where(finite, weight, 0.0), starts)
    ends = np.append(starts[1:], len(score)) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        share = weight / np.repeat(mass, np.diff(np.append(starts, len(score))))
        mean = np.add.reduceat(np.where(finite, score * share, 0.0), starts)
    mean[mass == 0] = score[starts][mass == 0]
    # Rounding must not carry a mean out of its block.
    return np.clip(mean, score[starts], score[ends])
