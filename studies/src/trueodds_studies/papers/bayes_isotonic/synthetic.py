"""Claims of the paper about synthetic scores (section 5.1), judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from trueodds_studies._report import Claim
from trueodds_studies.datasets import make_beta_mixture
from trueodds_studies.papers.bayes_isotonic.findings import (
    CHANCE,
    COMPARED,
    LOSSES,
    Findings,
    Gap,
    in_words,
)
from trueodds_studies.papers.bayes_isotonic.numbers import SIZES, table_1

__all__ = ["synthetic_claims", "true_map"]

PRINTED = (100, 3000)
"""The sizes of Table 1."""
PARAMETRIC = ("beta(-platt)", "log-platt")
TEN = 10
"""Samples that the paper averages."""
N_DRAWS = 10_000


def synthetic_claims(found: Findings) -> list[Claim]:
    """Table 1 and figures 5 and 6."""
    return [
        _ideal(found),
        _bayes_first(found),
        _beta_second(found),
        _dominance(found),
        _same_ranks(found),
        _learned_maps(found),
        *_run_claims(found),
    ]


def _ideal(found: Findings) -> Claim:
    """Judge whether the ideal losses agree up to the noise of a test set of the paper's size."""
    printed = table_1().loc["ideal"]
    losses = {loss: found.sample_losses(loss, 3000, ("ideal",))["ideal"] for loss in LOSSES}
    columns = {"brier_score": "Brier, 3000", "log_loss": "log-loss, 3000"}
    good = all(
        abs(losses[loss].mean() - printed[column]) <= CHANCE * losses[loss].std() + 5e-5
        for loss, column in columns.items()
    )
    words = ", ".join(
        f"{LOSSES[loss]} {values.mean():.4f} (standard deviation between test sets "
        f"{values.std():.4f})"
        for loss, values in losses.items()
    )
    return Claim(
        "The ideal losses are 0.1621 (Brier score) and 0.4741 (log-loss).",
        "Table 1",
        good,
        f"{words}; the text of section 5.1 swaps their names",
        None if good else "data",
    )


Comparison = tuple[str, int, str, str]
"""A loss, a size, the method that should be better, and the other."""


def _judged(found: Findings, claim: Claim, comparisons: Iterable[Comparison]) -> Claim:
    """Confirm if every difference has the paper's sign and is significant."""
    gaps = {key: found.gap(*key) for key in comparisons}
    against = {key: gap for key, gap in gaps.items() if gap.sign < 0}
    if against:
        words = f"{claim.evidence}. Against it: {_listed(against)}"
        return replace(claim, verdict=False, evidence=words, reason="refuted")
    unclear = {key: gap for key, gap in gaps.items() if gap.sign == 0}
    if unclear:
        needed = max(gap.needed for gap in unclear.values())
        words = (
            f"{claim.evidence}. Not more than chance: {_listed(unclear)}; {in_words(needed)} "
            "samples would show differences of this size in 80% of studies"
        )
        return replace(claim, verdict="inconclusive", evidence=words, reason="data")
    return claim


def _listed(gaps: dict[Comparison, Gap]) -> str:
    return "; ".join(
        f"{second} less {first} {gap} ({LOSSES[loss]}, {n})"
        for (loss, n, first, second), gap in gaps.items()
    )


def _orders(found: Findings, sizes: Iterable[int]) -> str:
    return "; ".join(
        f"{words}, {n}: {', '.join(found.order(loss, n))}"
        for n in sizes
        for loss, words in LOSSES.items()
    )


def _bayes_first(found: Findings) -> Claim:
    rivals = [(loss, n, "bayes-iso", rival) for n in PRINTED for loss in LOSSES
              for rival in COMPARED[1:]]  # fmt: skip
    share = 100 * _share_of_tens(found, "bayes-iso", 0, PRINTED)
    claim = Claim(
        "On synthetic data Bayes-Iso wins over all other methods.",
        "section 5.1, Table 1",
        True,
        f"{_orders(found, PRINTED)}. Of draws of ten of our {found.n_replicates} samples, "
        f"{share:.0f}% have Bayes-Iso first in all four columns, as in Table 1",
    )
    return _judged(found, claim, rivals)


def _beta_second(found: Findings) -> Claim:
    """Second: better than three methods, and not better than Bayes-Iso."""
    others = ("enir-platt", "iso-platt", "log-platt")
    better = [(loss, 100, "beta(-platt)", other) for loss in LOSSES for other in others]
    first = [(loss, 100, "bayes-iso", "beta(-platt)") for loss in LOSSES]
    share = 100 * _share_of_tens(found, "beta(-platt)", 1, (100,))
    claim = Claim(
        "Beta calibration is second with 100 rows.",
        "section 5.1, Table 1",
        True,
        f"{_orders(found, (100,))}. It is second by both losses in {share:.0f}% of draws of ten "
        "of our samples",
    )
    return _judged(found, claim, [*better, *first])


def _share_of_tens(found: Findings, name: str, place: int, sizes: Iterable[int]) -> float:
    """How often ten samples, as many as the paper has, put a method in a place by both losses."""
    rng = np.random.default_rng(0)
    passed = np.ones(N_DRAWS, dtype=bool)
    for n in sizes:
        tens = rng.integers(found.n_replicates, size=(N_DRAWS, TEN))
        for loss in LOSSES:
            means = found.sample_losses(loss, n).to_numpy()[tens].mean(axis=1)
            passed &= np.argsort(means, axis=1)[:, place] == COMPARED.index(name)
    return float(passed.mean())


def _dominance(found: Findings) -> Claim:
    free = [name for name in COMPARED if name not in PARAMETRIC]
    comparisons = [
        (loss, 3000, first, second) for loss in LOSSES for first in free for second in PARAMETRIC
    ]
    claim = Claim(
        "With 3000 rows non-parametric methods dominate parametric ones.",
        "section 5.1, Table 1",
        True,
        _orders(found, (3000,)),
    )
    return _judged(found, claim, comparisons)


def _same_ranks(found: Findings) -> Claim:
    """Judge orders as equal if they differ only in pairs that chance may have swapped."""
    swapped = [
        (loss, first, second)
        for loss in LOSSES
        for i, first in enumerate(found.order(loss, 3000))
        for second in found.order(loss, 3000)[i + 1 :]
        if found.order(loss, 1000).index(first) > found.order(loss, 1000).index(second)
    ]
    real = [
        f"{first} and {second} ({LOSSES[loss]})"
        for loss, first, second in swapped
        if found.gap(loss, 1000, first, second).sign and found.gap(loss, 3000, first, second).sign
    ]
    words = _orders(found, (1000, 3000))
    if swapped:
        pairs = "; ".join(
            f"{first} and {second} change places by {LOSSES[loss]}: "
            f"{found.gap(loss, 1000, first, second)} at 1000, "
            f"{found.gap(loss, 3000, first, second)} at 3000"
            for loss, first, second in swapped
        )
        words = f"{words}. {pairs}"
    return Claim(
        "With 1000 rows the methods rank as with 3000.",
        "section 5.1",
        False if real else "inconclusive" if swapped else True,
        words,
        "refuted" if real else "data" if swapped else None,
    )


@cache
def true_map() -> tuple[Any, Any]:
    """Scores and their true probabilities."""
    data = make_beta_mixture(20_000, random_state=0)
    order = np.argsort(data.scores)
    return data.scores[order], data.probability[order]


def _learned_maps(found: Findings) -> Claim:
    """Judge figure 5: the distance of the mean map from the true one, averaged over the scores."""
    scores, truth = true_map()
    bias = {}
    for method, lines in found.curves.groupby("method", sort=False):
        mean = lines.groupby("score")["probability"].mean()
        errors = np.interp(scores, mean.index, mean) - truth
        bias[str(method)] = float(np.sqrt(np.mean(errors**2)))
    parametric, free = ("beta", "log-platt"), ("bayes-iso", "enir-platt", "iso-platt")
    good = min(bias[m] for m in parametric) > 2 * max(bias[m] for m in free)
    return Claim(
        "With 1000 rows parametric methods clearly cannot learn the true map, non-parametric "
        "ones can.",
        "section 5.1, figure 5",
        good,
        "root mean square distance of the mean map from the true one: "
        + ", ".join(f"{method} {value:.3f}" for method, value in bias.items())
        + "; judged: both parametric ones at least twice as far",
        None if good else "criterion",
    )


def _run_claims(found: Findings) -> list[Claim]:
    spread = found.runs.groupby(["n", "score"])["probability"].std().groupby("n").mean()
    rows = found.rows[found.rows["method"] == "bayes-iso"]
    heaviest = rows.groupby("n")["heaviest"].mean()
    words = ", ".join(f"{n}: {spread[n]:.4f}" for n in SIZES)
    small, rising = bool(spread.max() < 0.02), bool(spread[100] < spread[1000] < spread[3000])
    return [
        Claim(
            "Runs on the same data differ very little.",
            "section 5.1, figure 6",
            small,
            f"mean standard deviation between runs by rows: {words}; judged: below 0.02",
            None if small else "criterion",
        ),
        Claim(
            "The larger the calibration data, the more the runs differ.",
            "section 5.1, figure 6",
            rising,
            f"{words}; mean weight of the heaviest map: "
            + ", ".join(f"{n}: {heaviest[n]:.2f}" for n in SIZES),
            None if rising else "data",
        ),
    ]
