"""Random rows of something that is read once, in order, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["sample_positions", "take_positions"]

BLOCK = 1 << 20


def sample_positions(n_rows: int, size: int, seed: int) -> npt.NDArray[np.int64]:
    """``size`` of ``n_rows`` positions in increasing order, every subset equally likely.

    How many fall into each block is drawn first, so memory is that of the sample.

    Parameters
    ----------
    n_rows, size, seed : int

    Returns
    -------
    ndarray of shape (size,)

    Examples
    --------
    >>> sample_positions(1_000_000, 4, seed=0)
    array([269786, 511135, 636960, 850621])
    """
    rng = np.random.default_rng(seed)
    starts = np.arange(0, n_rows, BLOCK)
    lengths = np.minimum(BLOCK, n_rows - starts)
    counts = rng.multivariate_hypergeometric(lengths, size, method="marginals")
    parts = [
        start + np.sort(rng.choice(length, count, replace=False, shuffle=False))
        for start, length, count in zip(starts, lengths, counts, strict=True)
    ]
    return np.concatenate(parts).astype(np.int64)


def take_positions(batches: Iterable[Any], positions: npt.NDArray[np.int64]) -> Iterator[Any]:
    """The rows at increasing positions, from Arrow record batches that follow each other."""
    begin = 0
    for batch in batches:
        end = begin + batch.num_rows
        low, high = np.searchsorted(positions, [begin, end])
        yield batch.take(positions[low:high] - begin)
        begin = end
