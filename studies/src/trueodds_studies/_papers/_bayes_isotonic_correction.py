"""What the paper says of Platt's correction and of over-confidence (section 3), judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueodds.compare import friedman_test
from trueodds_studies._optional import need
from trueodds_studies._papers._bayes_isotonic_findings import (
    CHANCE,
    LOSSES,
    NINE,
    PAIRS,
    PROGRAM,
    Findings,
    Ranking,
    Share,
)
from trueodds_studies._papers._bayes_isotonic_numbers import CORRECTION, SIZES
from trueodds_studies._papers._bayes_isotonic_verdicts import (
    above,
    by_both,
    by_set_of,
    claim_of,
    judged_leads,
)
from trueodds_studies._report import Claim

__all__ = ["correction_claims"]

NAMES = {"iso": "isotonic calibration", "enir": "ENIR"}


def correction_claims(found: Findings) -> list[Claim]:
    """Section 3 and figures 2 and 3."""
    return [*_correction_claims(found), _infinite(found), *_confidence_claims(found)]


# Section 3: Platt's correction.


def _correction_claims(found: Findings) -> list[Claim]:
    shares = {
        (method, loss): Share.of([found.improved(method, loss, n) for n in SIZES])
        for method in PAIRS
        for loss in LOSSES
    }
    figures = {
        method: "; ".join(
            f"{words} {shares[method, loss].cases} of {shares[method, loss].total} cases, "
            f"{shares[method, loss]}" + _printed(method, loss)
            for loss, words in LOSSES.items()
        )
        for method in PAIRS
    }
    lead = f"means of {found.n_folds('iso')} folds (paper: 25): "
    judged = [
        above(
            claim_of("iso", True, f"{lead}{figures['iso']}. {_size_of_change(found, 'iso')}"),
            [(shares["iso", loss], 0.9, 424 / 459) for loss in LOSSES],
        ),
        above(
            claim_of("enir", True, f"{lead}{figures['enir']}. {_size_of_change(found, 'enir')}. "
                   f"{_program_enir(found)}"),
            [(shares["enir", loss], 0.9, None) for loss in LOSSES],
        ),
        above(
            claim_of("log", True, lead + figures["log"]),
            [(shares["log", loss], 0.5, None) for loss in LOSSES],
        ),
    ]  # fmt: skip
    brier, log = shares["beta", "brier_score"], shares["beta", "log_loss"]
    useful, half = log.mean > 0.5, brier.sign(0.5) == 0
    refuted = log.sign(0.5) < 0 or (not half and abs(brier.mean - 0.5) > 0.1)
    judged.append(
        claim_of(
            "beta",
            True if useful and half else False if refuted else "inconclusive",
            lead + figures["beta"],
            None if useful and half else "refuted" if refuted else "data",
        )
    )
    return judged


def _printed(method: str, loss: str) -> str:
    if (method, loss) not in CORRECTION:
        return ""
    return " (paper: {} of {})".format(*CORRECTION[method, loss])


def _program_enir(found: Findings) -> str:
    corrected = PROGRAM["enir-platt"]
    words = ", ".join(
        f"{words} {Share.of([found.improved('enir', loss, n, corrected) for n in SIZES])}"
        for loss, words in LOSSES.items()
    )
    return f"With ENIR-Platt as in the authors' program: {words}"


def _size_of_change(found: Findings, method: str) -> str:
    """How large the changes are: where a 0 or 1 was wrong the gain is large, else all is small."""
    tables = [found.means("log_loss", n, (method, f"{method}-platt")) for n in SIZES]
    change = np.concatenate([t[f"{method}-platt"] - t[method] for t in tables])
    falls, rises = change[change < 0], change[change >= 0]
    words = [f"falls by {-np.median(falls):.2g} where it falls"] if len(falls) else []
    words += [f"rises by {np.median(rises):.2g} where it rises"] if len(rises) else []
    return f"In the median log-loss {' and '.join(words)}"


def _infinite(found: Findings) -> Claim:
    shares = {
        method: float(np.mean([
            (found.folds("impossible", n)[method].dropna() > 0).mean() for n in SIZES
        ]))
        for method in ("iso", "enir")
    }  # fmt: skip
    often = {method: share > 0.25 for method, share in shares.items()}
    words = ", ".join(f"{NAMES[m]} {share:.0%}" for m, share in shares.items())
    return claim_of(
        "infinite",
        all(often.values()),
        f"of single fits (all sizes), this happens to {words}; ENIR's own program, ours and that "
        "of the paper's experiments draw every bin towards the scores in it, which keeps ENIR off "
        "0 and 1 (`smoothing=None` does not); judged: a quarter of the fits",
        None if all(often.values()) else "solver",
    )


# Section 3: over- and under-confidence.


def _confidence_claims(found: Findings) -> list[Claim]:
    def judged(judge: Callable[[Findings, Ranking], Claim]) -> Claim:
        return by_both(
            lambda program: judge(found, "_by_map" if program else ""),
            "by the ranking of scores",
            "by that of calibrated probabilities (the authors' program)",
        )

    return [judged(_moved), judged(_over_confident), judged(_balance), judged(_most_equal)]


def _shown(ends: Any, methods: Sequence[str]) -> dict[str, str]:
    return {
        m: f"{m} {ends.loc[m, 'over-over']:.0%} / {ends.loc[m, 'under-under']:.0%}" for m in methods
    }


def _moved(found: Findings, ranking: Ranking) -> Claim:
    methods = [m for m in NINE if m != "bayes-iso"]
    ends = found.mean_ends(methods, ranking)
    moved = [
        ends.loc[f"{m}-platt", "over-over"] <= ends.loc[m, "over-over"]
        and ends.loc[f"{m}-platt", "under-under"] >= ends.loc[m, "under-under"]
        for m in PAIRS
    ]
    shown = _shown(ends, methods)
    return claim_of(
        "moved",
        all(moved),
        "over-over / under-under, all sizes: "
        + ", ".join(f"{shown[m]} → {shown[f'{m}-platt']}" for m in PAIRS),
        None if all(moved) else "data",
    )


def _over_confident(found: Findings, ranking: Ranking) -> Claim:
    """More pairs over-confident at both ends than under-confident at both, as figure 3 counts."""
    leads, words = [], []
    for method in ("iso", "enir"):
        kinds = [found.over(n, (method,), ranking) for n in SIZES]
        balance = [low[method].astype(int) + high[method].astype(int) - 1 for low, high in kinds]
        gap = by_set_of(need("pandas").concat(balance))
        leads.append(gap)
        both = found.mean_ends((method,), ranking)
        words.append(
            f"{_shown(both, (method,))[method]} (difference {100 * gap.mean:+.0f} ± "
            f"{100 * gap.error:.0f} points)"
        )
    claim = claim_of("over", True, "over-over / under-under, all sizes: " + ", ".join(words))
    return judged_leads(claim, leads, "measure")


def _balance(found: Findings, ranking: Ranking) -> Claim:
    """Friedman's test on the number of over-confident ends of each pair and size."""
    tables = []
    for n in SIZES:
        low, high = found.over(n, NINE, ranking)
        tables.append(low.astype(float) + high.astype(float))
    test = friedman_test(need("pandas").concat(tables), better="lower")
    ends = found.mean_ends(NINE, ranking)["over-over"]
    good = bool(test.chi_square_p_value < 0.05)
    return claim_of(
        "varies",
        good,
        f"over-confident at both ends: from {ends.min():.0%} ({ends.idxmin()}) to "
        f"{ends.max():.0%} ({ends.idxmax()}); Friedman's test of the number of over-confident "
        f"ends, p = {test.chi_square_p_value:.1g}",
        None if good else "data",
    )


def _most_equal(found: Findings, ranking: Ranking) -> Claim:
    ends = found.mean_ends(NINE, ranking)
    distance = (ends["over-over"] - ends["under-under"]).abs().sort_values(kind="stable")
    good = bool(distance.index[0] == "bayes-iso")
    words = "difference between the shares over-over and under-under: " + ", ".join(
        f"{m} {value:.2f}" for m, value in distance.items()
    )
    if good:
        return claim_of("equal", True, words)
    lead, error = _lead_of(found, str(distance.index[0]), ranking)
    beaten = lead > CHANCE * error
    return claim_of(
        "equal",
        False if beaten else "inconclusive",
        f"{words}; {distance.index[0]} leads Bayes-Iso by {lead:.2f} ± {error:.2f} (jackknife over "
        "sets)",
        "refuted" if beaten else "data",
    )


def _lead_of(found: Findings, method: str, ranking: Ranking) -> tuple[float, float]:
    """By how much a method's shares are more equal than those of Bayes-Iso, and its error."""
    balances = []
    for n in SIZES:
        low, high = found.over(n, (method, "bayes-iso"), ranking)
        balances.append(low.astype(float) + high.astype(float) - 1)
    table = need("pandas").concat(balances)

    def lead(rows: Any) -> float:
        return float(abs(rows["bayes-iso"].mean()) - abs(rows[method].mean()))

    names = table.index.get_level_values(0)
    without = np.array([lead(table[names != name]) for name in dict.fromkeys(names)])
    k = len(without)
    return lead(table), float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))
