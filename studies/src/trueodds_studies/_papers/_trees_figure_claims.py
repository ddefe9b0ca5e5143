"""Verdicts of the calibration trees study on figures 2, 4 and 5."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds_studies._papers._trees_artificial import artificial_claims
from trueodds_studies._papers._trees_numbers import METHODS
from trueodds_studies._papers._trees_rdg import example_claim
from trueodds_studies._report import Claim
from trueodds_studies._study import Results, pick_rows

__all__ = ["figure_claims"]

LINES = ("base", *METHODS)


def figure_claims(results: Results) -> list[Claim]:
    """What the paper says of its figures."""
    parts = set(results.frame["part"])
    claims = [example_claim(results)] if "rdg1" in parts else []
    claims += artificial_claims(results) if "artificial" in parts else []
    return claims + (_reliability_claims(results) if "reliability" in parts else [])


def _curves(results: Results) -> tuple[Any, Any]:
    """Sets × methods: distance from the diagonal by weight, and how often it is crossed."""
    lines = pick_rows(results.frame, part="reliability")
    gap = lines["observed"] - lines["predicted"]
    lines = lines.assign(gap=gap, size=gap.abs() * lines["weight"])
    groups = lines.groupby(["set", "method"], sort=False)
    distance = groups["size"].sum() / groups["weight"].sum()
    crossings = groups["gap"].agg(_sign_changes)
    return distance.unstack("method")[list(LINES)], crossings.unstack("method")[list(LINES)]


def _sign_changes(gaps: Any) -> int:
    signs = np.sign(gaps.to_numpy())
    return int((signs[1:] * signs[:-1] < 0).sum())


def _reliability_claims(results: Results) -> list[Claim]:
    distance, crossings = _curves(results)
    shown = "; ".join(
        f"{name} {' / '.join(f'{line[m]:.3f}' for m in LINES)}"
        for name, line in distance.iterrows()
    )
    words = f"mean distance from the diagonal, naive Bayes / PCT / PS / IR: {shown}"
    n = len(distance)
    poor = distance["base"] > distance["PCT"]
    closer = distance["PS"] < distance["base"]
    behind = distance["PCT"] < distance["PS"]
    jagged = crossings["IR"] >= crossings["PS"]
    means = distance.mean()
    return [
        _figure_5(
            "The probabilities of naive Bayes are poorly calibrated on all five sets.",
            bool(poor.all()),
            f"{words}; judged: further from the diagonal than PCT's on every set",
        ),
        _figure_5(
            "The curve of Platt scaling is typically closer to the diagonal than the original, "
            "but keeps some of its shape, which the curve of PCT does not.",
            bool(closer.sum() > n / 2 and behind.sum() > n / 2),
            f"closer than the original on {int(closer.sum())} of {n} sets, further off than PCT's "
            f"on {int(behind.sum())}; judged: both on most sets",
        ),
        _figure_5(
            "Isotonic regression crosses the diagonal many times.",
            bool(jagged.sum() > n / 2),
            "crossings, naive Bayes / PCT / PS / IR: "
            + "; ".join(
                f"{name} {' / '.join(str(int(line[m])) for m in LINES)}"
                for name, line in crossings.iterrows()
            )
            + "; judged: at least as many as Platt scaling's on most sets",
        ),
        _figure_5(
            "PCT generally follows the diagonal closely, in comparison with the others.",
            bool(means["PCT"] == means.min()),
            "mean distance over the sets: "
            + ", ".join(f"{m} {means[m]:.3f}" for m in LINES)
            + "; judged: the least. Smoothness is for the eye",
        ),
    ]


def _figure_5(text: str, holds: bool, evidence: str) -> Claim:
    return Claim(text, "section 5.2, figure 5", holds, evidence, None if holds else "criterion")
