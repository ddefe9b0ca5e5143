"""How many coals: cross-validated log-loss with the rule of one standard error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueodds.calibrators._charcoal_grill.fit import GrillRows, fit_coal_path
from trueodds.inputs import Floats
from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import Design, fit_finite

__all__ = ["choose_n_coals", "fold_shares", "one_standard_error"]

N_FOLDS = 5


def fold_shares(counts: Floats, n_folds: int, unit: float, seed: int) -> Floats:
    """Share each row's weight out to folds, of shape (n_folds, n), unit by unit at random.

    Rows are in the order of their scores, so the result does not depend on the order of the
    input. Units are independent: sharing out neighbors evenly would repeat the noise of one fold
    in all others and favor the most flexible fit.
    """
    rng = np.random.default_rng(seed)
    whole = np.floor(counts / unit * (1 + 1e-12)).astype(np.int64)
    shares = rng.multinomial(whole, np.full(n_folds, 1 / n_folds)).astype(np.float64).T * unit
    rest = np.maximum(counts - whole * unit, 0.0)
    shares[rng.integers(0, n_folds, len(counts)), np.arange(len(counts))] += rest
    return np.asarray(shares)


def one_standard_error(losses: Floats) -> int:
    """The smallest number whose loss exceeds the least by at most one standard error.

    Parameters
    ----------
    losses : ndarray of shape (n_folds, n_candidates)
        In increasing order of complexity. The standard error is that of the difference from the
        best, fold by fold.

    Returns
    -------
    int
        Index of the candidate.
    """
    best = int(losses.mean(axis=0).argmin())
    difference = losses - losses[:, [best]]
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(losses))
    return int(np.argmax(difference.mean(axis=0) <= error))


def choose_n_coals(
    rows: GrillRows, most: int, *, unit: float, bias: bool, fit_width: bool, lam: float
) -> int:
    """Number of coals, 1 … ``most``, by five-fold cross-validation.

    ``unit`` is the mean weight of one row.
    """
    order = np.argsort(rows.z, kind="stable")
    z, n_neg, n_pos = rows.z[order], rows.n_neg[order], rows.n_pos[order]
    neg, pos = fold_shares(n_neg, N_FOLDS, unit, 0), fold_shares(n_pos, N_FOLDS, unit, 1)
    losses = []
    for held_neg, held_pos in zip(neg, pos, strict=True):
        rest_neg, rest_pos = n_neg - held_neg, n_pos - held_pos
        used = rest_neg + rest_pos > 1e-12 * unit
        design: Design = "logistic" if bias else "temperature"
        rest = LogOddsRows(z[used], rest_neg[used], rest_pos[used])
        base = fit_finite(rest, design, nonnegative=True)
        held = float(held_neg.sum() + held_pos.sum())
        if not base.a > 0 or not held > 0:
            continue
        train = replace(
            rows,
            z=rest.z,
            n_neg=rest.n_neg,
            n_pos=rest.n_pos,
            slope=base.a,
            bias=base.c,
        )
        path = fit_coal_path(train, most, bias=bias, fit_width=fit_width, lam=lam)
        test = replace(rows, z=z, n_neg=held_neg, n_pos=held_pos)
        losses.append([test.loss(fit.coals) / held for fit in path])
    return 1 + one_standard_error(np.array(losses)) if len(losses) > 1 else 1
