"""Every figure of the product once more, from its documented definition, in plain NumPy and SciPy.

Nothing here imports trueodds. Rows are arrays ``y`` (0 or 1), ``p`` and ``w`` (all ones without
weights). Slow and short is right here: the product is compared with these, never the reverse.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

STEPS = 2  # of a spread: what the test of the slope rounds log-odds to
Floats = npt.NDArray[Any]
Whole = npt.NDArray[Any]


# --- losses and ranking ---------------------------------------------------------------------


def losses(y: Floats, p: Floats, kind: str = "log") -> Floats:
    """Log-loss or squared error of each row."""
    if kind == "brier":
        return (p - y) ** 2
    with np.errstate(divide="ignore"):
        return np.where(y == 1, -np.log(p), -np.log1p(-p))


def mean(values: Floats, w: Floats) -> float:
    held = w > 0  # an infinite loss of a row without weight does not count
    return float(np.sum(w[held] * values[held]) / w.sum())


def log_loss(y: Floats, p: Floats, w: Floats) -> float:
    return mean(losses(y, p), w)


def brier(y: Floats, p: Floats, w: Floats) -> float:
    return mean(losses(y, p, "brier"), w)


def auc(y: Floats, p: Floats, w: Floats) -> float:
    """Share of ⟨positive, negative⟩ pairs in the right order; ties are half."""
    score, place = np.unique(p, return_inverse=True)
    pos = np.bincount(place, w * y, len(score))
    neg = np.bincount(place, w * (1 - y), len(score))
    below = np.cumsum(neg) - neg
    pairs = pos.sum() * neg.sum()
    return float(np.sum(pos * (below + neg / 2)) / pairs) if pairs else np.nan


def class_losses(codes: Whole, q: Floats) -> dict[str, Floats]:
    """Losses of each row with several classes."""
    rows = np.arange(len(codes))
    truth = np.eye(q.shape[1])[codes]
    with np.errstate(divide="ignore"):
        log = -np.log(q[rows, codes])
    squared = ((q - truth) ** 2).sum(1)
    return {"log_loss": log, "brier_score": squared, "accuracy": 1.0 * (q.argmax(1) == codes)}


# --- bins -------------------------------------------------------------------------------------


def uniform_bins(p: Floats, n_bins: int) -> Whole:
    """Bins of equal width, closed on the left; 1 belongs to the last."""
    return np.searchsorted(np.arange(1, n_bins) / n_bins, p, side="right")


def quantile_edges(p: Floats, w: Floats, n_bins: int) -> Floats:
    """Edges of bins of equal mass; equal values stay together.

    The distinct values are cut where the weight below comes nearest to k/n_bins of all; of two
    cuts that are equally near, the upper one. An edge is the first value of the bin above it.
    """
    score, place = np.unique(p[w > 0], return_inverse=True)
    after = np.cumsum(np.bincount(place, w[w > 0]))
    goals = after[-1] * np.arange(1, n_bins) / n_bins
    row = np.searchsorted(after, goals * (1 - 1e-14))
    before = after[row] - np.diff(after, prepend=0)[row]
    cut = np.where(goals - before < after[row] - goals, row, row + 1)
    return np.asarray(score[np.unique(cut[(cut > 0) & (cut < len(score))])])


def bins_between(p: Floats, edges: Floats) -> Whole:
    return np.searchsorted(edges, p, side="right")


def bin_table(y: Floats, p: Floats, w: Floats, place: Whole) -> tuple[Floats, Floats, Floats]:
    """Mean probability, frequency and weight of each bin that is not empty."""
    weight = np.bincount(place, w)
    held = weight > 0
    predicted = np.bincount(place, w * p)[held] / weight[held]
    observed = np.bincount(place, w * y)[held] / weight[held]
    return predicted, observed, weight[held]


def calibration_error(y: Floats, p: Floats, w: Floats, place: Whole, kind: str = "mass") -> float:
    """ECE over given bins: weighted by mass, or every bin alike, or the greatest gap."""
    predicted, observed, weight = bin_table(y, p, w, place)
    gap = np.abs(predicted - observed)
    if kind == "max":
        return float(gap.max())
    return float(gap.mean() if kind == "equal" else np.sum(weight * gap) / weight.sum())


def debiased_square(
    y: Floats, p: Floats, w: Floats, place: Whole, squares: Floats | None = None
) -> float:
    """Σ_b (w_b/w)·[d̄_b² − s_b²/n_b] over bins of more than one row, where d = y − p.

    The rows of a bin are n_b = (Σw)²/Σw²; ``squares`` are w², or w of counts (the default).
    """
    squares = w if squares is None else squares
    total = held = 0.0
    for b in np.unique(place[w > 0]):
        d, k = (y - p)[place == b], w[place == b]
        n = k.sum() ** 2 / squares[place == b].sum()
        if n > 1 + 1e-9:
            middle = np.average(d, weights=k)
            held += k.sum()
            chance = np.average((d - middle) ** 2, weights=k) / (n - 1)
            total += k.sum() * (middle**2 - chance)
    return float(total / held) if held else 0.0


def debiased(y: Floats, p: Floats, w: Floats, place: Whole, squares: Floats | None = None) -> float:
    return float(np.sqrt(max(debiased_square(y, p, w, place, squares), 0.0)))


def metrics(
    y: Floats, p: Floats, w: Floats, squares: Floats | None = None, n_bins: int = 10
) -> dict[str, float]:
    """What ``evaluate`` shows of two classes."""
    even = uniform_bins(p, n_bins)
    equal = bins_between(p, quantile_edges(p, w, 15))
    return {
        "log_loss": log_loss(y, p, w),
        "brier_score": brier(y, p, w),
        "roc_auc": auc(y, p, w),
        "expected_calibration_error": calibration_error(y, p, w, even),
        "debiased_calibration_error": debiased(y, p, w, equal, squares),
        "maximum_calibration_error": calibration_error(y, p, w, even, "max"),
    }


# --- smooth errors and decompositions ---------------------------------------------------------


def smooth_error(y: Floats, p: Floats, w: Floats, sigma: float, points: int = 8001) -> float:
    """∫|Σ w(p − y)·K(t, p)|dt with a Gaussian that is reflected at 0 and 1."""
    t = (np.arange(points) + 0.5) / points
    total = np.zeros(points)
    for value, residual in zip(p, w * (p - y) / w.sum(), strict=True):
        reach = int(np.ceil(5 * sigma)) + 1
        for k in range(-reach, reach + 1):
            for image in (2 * k + value, 2 * k - value):
                total += residual * np.exp(-0.5 * ((t - image) / sigma) ** 2)
    return float(np.abs(total).mean() / (sigma * np.sqrt(2 * np.pi)))


def smooth_calibration_error(y: Floats, p: Floats, w: Floats) -> float:
    """The σ at which smECE_σ = σ."""
    return float(
        optimize.brentq(lambda s: smooth_error(y, p, w, s, 2001) - s, 5e-3, 1.0, xtol=1e-7)
    )


def isotonic(y: Floats, p: Floats, w: Floats) -> Floats:
    """The non-decreasing fit, by pooling neighbors that are out of order."""
    place = np.unique(p, return_inverse=True)[1]
    blocks: list[list[float]] = []  # mean, weight, how many distinct values
    for positive, weight in zip(np.bincount(place, w * y), np.bincount(place, w), strict=True):
        blocks.append([positive / weight, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            m, v, k = blocks.pop()
            blocks[-1] = [
                (blocks[-1][0] * blocks[-1][1] + m * v) / (blocks[-1][1] + v),
                blocks[-1][1] + v,
                blocks[-1][2] + k,
            ]
    fitted = np.repeat([b[0] for b in blocks], [int(b[2]) for b in blocks])
    return np.asarray(fitted[place], dtype=np.float64)


def corp(y: Floats, p: Floats, w: Floats, kind: str) -> dict[str, float]:
    score = mean(losses(y, p, kind), w)
    again = mean(losses(y, np.clip(isotonic(y, p, w), 0, 1), kind), w)
    rate = np.full(len(y), np.sum(w * y) / w.sum())
    base = mean(losses(y, rate, kind), w)
    return {
        "score": score,
        "miscalibration": score - again,
        "discrimination": base - again,
        "uncertainty": base,
    }


def refinement(y: Floats, p: Floats, w: Floats, place: Whole, kind: str) -> dict[str, float]:
    """Divergence of p from the frequency of its bin, and the loss of that frequency."""
    rate = (np.bincount(place, w * y) / np.maximum(np.bincount(place, w), 1e-300))[place]
    score = mean(losses(y, p, kind), w)
    if kind == "brier":
        divergence, entropy = (p - rate) ** 2, rate * (1 - rate)
    else:
        divergence = special.rel_entr(rate, p) + special.rel_entr(1 - rate, 1 - p)
        entropy = special.entr(rate) + special.entr(1 - rate)
    calibration, refined = mean(divergence, w), mean(entropy, w)
    return {
        "score": score,
        "calibration_loss": calibration,
        "refinement_loss": refined,
        "within_bins": score - calibration - refined if np.isfinite(score) else 0.0,
    }


def lowest_part(y: Floats, p: Floats, w: Floats, share: float) -> tuple[float, float]:
    """Mean probability and frequency of the lowest ``share`` of the weight; ties count alike."""
    left = share * w.sum()
    predicted = observed = 0.0
    for value in np.unique(p):
        here = p == value
        taken = min(left, w[here].sum())
        predicted += taken * value
        observed += taken * np.average(y[here], weights=w[here]) if taken else 0.0
        left -= taken
    return predicted / (share * w.sum()), observed / (share * w.sum())


# --- tests ------------------------------------------------------------------------------------


def spiegelhalter(
    y: Floats, p: Floats, w: Floats, squares: Floats | None = None
) -> tuple[float, float]:
    """z and its two-sided p-value; weights are counts, unless ``squares`` are their squares."""
    squares = w if squares is None else squares
    z = float(
        np.sum(w * (y - p) * (1 - 2 * p))
        / np.sqrt(np.sum(squares * (1 - 2 * p) ** 2 * p * (1 - p)))
    )
    return z, float(2 * stats.norm.sf(abs(z)))


def spiegelhalter_classes(codes: Whole, q: Floats, w: Floats) -> tuple[float, float]:
    """With several classes, each row one observation of weight w."""
    squares, cubes = (q**2).sum(1), (q**3).sum(1)
    top = np.sum(w * (squares - q[np.arange(len(codes)), codes]))
    z = float(top / np.sqrt(np.sum(w**2 * (cubes - squares**2))))
    return z, float(2 * stats.norm.sf(abs(z)))


def poisson_binomial(p: Floats, counts: Floats) -> Floats:
    """Probability of each number of positives among independent rows, by convolution."""
    parts = [
        stats.binom.pmf(np.arange(int(k) + 1), int(k), value)
        for value, k in zip(p, counts, strict=True)
        if k > 0
    ]
    while len(parts) > 1:
        parts = [
            np.convolve(parts[i], parts[i + 1]) if i + 1 < len(parts) else parts[i]
            for i in range(0, len(parts), 2)
        ]
    return np.asarray(parts[0], dtype=np.float64)


def mean_test(y: Floats, p: Floats, counts: Floats) -> float:
    """Two-sided exact p-value of the number of positives: twice the smaller tail, at most 1."""
    chance = poisson_binomial(p, counts)
    seen = round(float(np.sum(counts * y)))
    return float(min(1.0, 2 * min(chance[: seen + 1].sum(), chance[seen:].sum())))


def sum_test(y: Floats, p: Floats, counts: Floats, gain: Whole) -> tuple[float, float]:
    """Two-sided exact p-value of Σ gain·positives, and the least that any labels could give.

    Twice the smaller tail, at most 1. The distribution is that of a sum of independent whole
    numbers, by convolution over the values of ``gain``.
    """
    total, start = np.ones(1), 0
    for value in np.unique(gain):
        here = gain == value
        if value == 0:
            continue
        part = poisson_binomial(p[here], counts[here])
        spread = np.zeros(abs(int(value)) * (len(part) - 1) + 1)
        spread[:: abs(int(value))] = part if value > 0 else part[::-1]
        start += min(int(value), 0) * (len(part) - 1)
        total = np.convolve(total, spread)
    seen = round(float(np.sum(counts * gain * y))) - start
    p_value = min(1.0, 2 * min(total[: seen + 1].sum(), total[seen:].sum()))
    possible = total[total > 0]
    return float(p_value), float(min(1.0, 2 * min(possible[0], possible[-1])))


def slope_gain(p: Floats, counts: Floats) -> Whole:
    """Log-odds less their mean, in whole steps of half their spread, from −8 to 8.

    Mean and spread weigh each row by its variance p(1 − p); scores of 0 and 1 count nothing.
    """
    v = counts * p * (1 - p)
    z = np.where(v > 0, special.logit(np.clip(p, 1e-300, 1 - 1e-16)), 0.0)
    z = np.where(v > 0, z - np.sum(v * z) / np.sum(v), 0.0)
    step = min(np.sqrt(np.sum(v * z**2) / np.sum(v)) / STEPS, np.abs(z).max())
    return np.asarray(np.clip(np.rint(z / step), -8, 8).astype(int))


def exact_test(y: Floats, p: Floats, counts: Floats) -> dict[str, Any]:
    """Mean, slope and up to five bins of 100 rows or more, by Bonferroni.

    The smallest p-value of the bins counts as many times as there are bins, and the smallest of
    mean, slope and bins as many times as there are of these.
    """
    y, p, counts = y[counts > 0], p[counts > 0], counts[counts > 0]
    one = np.ones(len(p), dtype=int)
    found = [sum_test(y, p, counts, one)]
    result: dict[str, Any] = {"mean": found[0][0], "slope": None, "bins": None}
    if len(np.unique(p)) > 1:
        found.append(sum_test(y, p, counts, slope_gain(p, counts)))
        result["slope"] = found[1][0]
    n_bins = min(5, int(counts.sum() // 100))
    edges = quantile_edges(p, counts, n_bins) if n_bins > 1 else np.empty(0)
    if len(edges):
        place = bins_between(p, edges)
        each = [
            sum_test(y[place == b], p[place == b], counts[place == b], one[place == b])
            for b in np.unique(place)
        ]
        found.append(
            (len(each) * min(one[0] for one in each), len(each) * min(one[1] for one in each))
        )
        predicted, observed, weight = bin_table(y, p, counts, place)
        below = [p[p < edge].max() for edge in edges]
        cuts = [0.0, *((a + b) / 2 for a, b in zip(below, edges, strict=True)), 1.0]
        result["bins"] = [
            {
                "low": cuts[b],
                "high": cuts[b + 1],
                "weight": weight[b],
                "mean_prob": predicted[b],
                "frequency": observed[b],
                "p_value": each[b][0],
            }
            for b in range(len(each))
        ]
    impossible = np.any((p == 0) & (y == 1)) or np.any((p == 1) & (y == 0))
    number = len(found)
    result["p_value"] = 0.0 if impossible else min(1.0, number * min(one[0] for one in found))
    result["least"] = min(1.0, number * min(one[1] for one in found))
    return result


def normal_test(y: Floats, p: Floats, w: Floats, gain: Floats) -> float:
    """Σ w·gain·(y − p) over its standard deviation, each row being one observation."""
    error = np.sqrt(np.sum(w**2 * gain**2 * p * (1 - p)))
    return float(2 * stats.norm.sf(abs(np.sum(w * gain * (y - p))) / error))


def importance_test(y: Floats, p: Floats, w: Floats) -> dict[str, Any]:
    """As ``exact_test``, with importance weights: normal tests of (Σw)²/Σw² rows."""
    one, share = np.ones(len(p)), w.sum() / np.sum(w**2)
    w = w * share
    mean, slope = (normal_test(y, p, w, gain) for gain in (one, 1.0 * slope_gain(p, w)))
    n_bins = min(5, int(w.sum() // 100))
    edges = quantile_edges(p, w, n_bins)
    place = bins_between(p, edges)
    each = [
        normal_test(y[place == b], p[place == b], w[place == b], one[place == b])
        for b in np.unique(place)
    ]
    predicted, observed, weight = bin_table(y, p, w, place)
    below = [p[p < edge].max() for edge in edges]
    cuts = [0.0, *((a + b) / 2 for a, b in zip(below, edges, strict=True)), 1.0]
    bins = [
        {
            "low": cuts[b],
            "high": cuts[b + 1],
            "weight": weight[b],
            "mean_prob": predicted[b],
            "frequency": observed[b],
            "p_value": each[b],
        }
        for b in range(len(each))
    ]
    found = [mean, slope, len(each) * min(each)]
    p_value = min(1.0, len(found) * min(found))
    return {"mean": mean, "slope": slope, "bins": bins, "p_value": p_value}


def tarone_holm(p_values: Floats, least: Floats, alpha: float) -> list[float | None]:
    """Holm's adjusted p-values of the hypotheses that could be rejected at all; None for others."""
    k = next(k for k in range(1, len(least) + 1) if np.sum(least <= alpha / k) <= k)
    testable = least <= alpha / k
    adjusted: list[float | None] = [None] * len(least)
    for i, value in zip(np.flatnonzero(testable), holm(p_values[testable]), strict=True):
        adjusted[i] = float(value)
    return adjusted


def wilson(y: Floats, w: Floats, level: float) -> tuple[float, float]:
    """Wilson's interval of a frequency."""
    n, z = w.sum(), stats.norm.ppf(0.5 + level / 2)
    f = np.sum(w * y) / n
    middle = (f + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(f * (1 - f) / n + z**2 / (4 * n**2))
    return float(middle - half), float(middle + half)


def logistic(X: Floats, y: Floats, w: Floats, offset: Floats | float = 0.0) -> Any:
    """Maximum likelihood by Newton's method: coefficients, covariance, log-likelihood."""
    beta = np.zeros(X.shape[1])
    for _ in range(100):
        eta = X @ beta + offset
        mu = special.expit(eta)
        inverse = np.linalg.inv((X * (w * mu * (1 - mu))[:, None]).T @ X)
        step = inverse @ (X.T @ (w * (y - mu)))
        size = float(np.abs(step).max())
        beta = beta + step * min(1.0, 5.0 / max(size, 1e-300))
        if size < 1e-12:
            break
    eta = X @ beta + offset
    return beta, inverse, float(np.sum(w * (y * eta - np.logaddexp(0, eta))))


def inner_rows(y: Floats, p: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows with log-odds. Probabilities of exactly 0 and 1 that were right say nothing."""
    inner = (p > 0) & (p < 1) & (w > 0)
    return y[inner], p[inner], w[inner]


def intercept(y: Floats, p: Floats, w: Floats) -> tuple[float, float]:
    """Calibration in the large with its standard error."""
    y, p, w = inner_rows(y, p, w)
    beta, covariance, _ = logistic(np.ones((len(y), 1)), y, w, special.logit(p))
    return float(beta[0]), float(np.sqrt(covariance[0, 0]))


def slope(y: Floats, p: Floats, w: Floats) -> tuple[float, float]:
    y, p, w = inner_rows(y, p, w)
    beta, covariance, _ = logistic(np.column_stack([np.ones(len(y)), special.logit(p)]), y, w)
    return float(beta[1]), float(np.sqrt(covariance[1, 1]))


def cox(y: Floats, p: Floats, counts: Floats) -> tuple[float, float]:
    """Likelihood ratio of a free intercept and slope, χ² with two degrees of freedom."""
    y, p, counts = inner_rows(y, p, counts)
    z = special.logit(p)
    best = logistic(np.column_stack([np.ones(len(y)), z]), y, counts)[2]
    chi = 2 * (best - float(np.sum(counts * (y * z - np.logaddexp(0, z)))))
    return chi, float(stats.chi2.sf(chi, 2))


def hosmer_lemeshow(y: Floats, p: Floats, w: Floats, n_bins: int = 10) -> tuple[float, float]:
    """χ² with as many degrees of freedom as groups of equal mass."""
    place = bins_between(p, quantile_edges(p, w, n_bins))
    predicted, observed, n = bin_table(y, p, w, place)
    chi = float(np.sum(n * (observed - predicted) ** 2 / (predicted * (1 - predicted))))
    return chi, float(stats.chi2.sf(chi, len(n)))


def holm(p_values: Floats) -> Floats:
    """Adjusted p-values, one hypothesis at a time."""
    order = np.argsort(p_values, kind="stable")
    m = len(p_values)
    adjusted, worst = np.empty(m), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (m - rank) * p_values[i]))
        adjusted[i] = worst
    return adjusted


# --- intervals --------------------------------------------------------------------------------


def wald(estimate: float, error: float, level: float) -> dict[str, float]:
    z = stats.norm.ppf(0.5 + level / 2)
    return {"estimate": estimate, "low": estimate - z * error, "high": estimate + z * error}


def hall(
    estimate: float, influence: Floats, w: Floats, level: float, *, importances: bool = False
) -> dict[str, float]:
    """Student's interval after Hall's cubic transformation, whose root is found by bisection."""
    total = float(w.sum())
    term, times = (w * influence, 1.0) if importances else (influence, w)
    n = total**2 / np.sum(w**2) if importances else total
    second, third, fourth = (float(np.sum(times * (term / total) ** k)) for k in (2, 3, 4))
    error, skewness = float(np.sqrt(second * n / (n - 1))), third / second**1.5
    freedom = float(np.clip(2 * second**2 / (fourth - second**2 / n), 2, n - 1))
    quantile = stats.t.ppf(0.5 + level / 2, freedom)

    def transformed(t: float) -> float:
        return float(t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6)

    low, high = (
        estimate - error * optimize.brentq(lambda t, x=x: transformed(t) - x, -1e3, 1e3)
        for x in (quantile, -quantile)
    )
    return {"estimate": estimate, "low": low, "high": high, "standard_error": float(error)}


def mean_interval(values: Floats, level: float, w: Floats | None = None, **kind: Any) -> Any:
    """Of a mean over rows."""
    w = np.ones(len(values)) if w is None else w
    middle = mean(values, w)
    return hall(middle, values - middle, w, level, **kind)


def observed_expected(y: Floats, p: Floats, level: float) -> dict[str, float]:
    """O:E as a ratio of two sums over the same rows."""
    ratio = float(y.sum() / p.sum())
    return hall(ratio, (y - ratio * p) / p.mean(), np.ones(len(y)), level)


def intercept_interval(y: Floats, p: Floats, level: float) -> dict[str, float]:
    """The intercept by its estimating equation, whatever the variance of the labels."""
    w = np.ones(len(y))
    value = intercept(y, p, w)[0]
    shifted = special.expit(special.logit(p) + value)
    return hall(value, (y - shifted) / np.mean(shifted * (1 - shifted)), w, level)


def scaled_brier(y: Floats, p: Floats, level: float) -> dict[str, float]:
    """1 − Brier/(f·(1 − f)) by the delta method, with derivatives by small differences."""
    square, w = (p - y) ** 2, np.ones(len(y))

    def value(brier: float, f: float) -> float:
        return float(1 - brier / (f * (1 - f)))

    b, f, h = square.mean(), y.mean(), 1e-6
    by_b = (value(b + h, f) - value(b - h, f)) / (2 * h)
    by_f = (value(b, f + h) - value(b, f - h)) / (2 * h)
    return hall(value(b, f), by_b * (square - b) + by_f * (y - f), w, level)


def c_interval(y: Floats, p: Floats, level: float, w: Floats | None = None) -> dict[str, float]:
    """DeLong's, symmetric in log-odds; ``w`` counts rows."""
    if w is not None:
        times = w.astype(int)
        y, p = np.repeat(y, times), np.repeat(p, times)
    a, b = p[y == 1], p[y == 0]
    wins = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    c, n = wins.mean(), len(y)
    of_events, of_others = wins.mean(1) - c, wins.mean(0) - c
    term = np.concatenate(
        [
            of_events / np.sqrt(len(a) * (len(a) - 1)),
            of_others / np.sqrt(len(b) * (len(b) - 1)),
        ]
    )
    second, fourth = np.sum(term**2), np.sum(term**4)
    if second == 0:
        return {"estimate": c, "low": c, "high": c, "standard_error": 0.0}
    freedom = np.clip(2 * second**2 / (fourth - second**2 / n), 2, n - 1)
    half = stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(second) / (c * (1 - c))
    ends = special.expit(special.logit(c) + np.array([-half, half]))
    return {"estimate": c, "low": ends[0], "high": ends[1], "standard_error": np.sqrt(second)}


def delong(y: Floats, p: Floats) -> tuple[float, float]:
    """AUC and its standard error from the placements of each row."""
    a, b = p[y == 1], p[y == 0]
    wins = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    variance = wins.mean(1).var(ddof=1) / len(a) + wins.mean(0).var(ddof=1) / len(b)
    return float(wins.mean()), float(np.sqrt(variance))


class Resamples:
    """Bootstrap samples of weighted rows: each of as many rows as the weights sum to."""

    def __init__(
        self, y: Floats, p: Floats, w: Floats, n_resamples: int, n_rows: float | None = None
    ) -> None:
        order = np.argsort(p, kind="stable")
        self.y, self.p, self.w = y[order], p[order], w[order]
        rng, n = np.random.default_rng(99), len(y)
        self.w = self.w * ((n_rows or w.sum()) / w.sum())
        rows, share = round(float(self.w.sum())), np.cumsum(self.w) / self.w.sum()
        drawn = np.searchsorted(share, rng.random((n_resamples, rows)) * (1 - 1e-12), side="right")
        flat = drawn + n * np.arange(n_resamples)[:, None]
        self.drawn = np.bincount(flat.ravel(), minlength=n_resamples * n).reshape(-1, n) * 1.0

    def squares(self, counts: Floats) -> Floats:
        """The square of the debiased error for each row of counts."""
        y, p = self.y, self.p
        edges = quantile_edges(p, self.w, 15)
        member = np.eye(len(edges) + 1)[np.searchsorted(edges, p, side="right")]
        n = counts @ member
        gap = (counts * (y - p)) @ member / np.maximum(n, 1e-300)
        squares = (counts * (y - p) ** 2) @ member - n * gap**2
        held = n > 1
        chance = np.where(held, squares / np.where(held, (n - 1) * n, 1), 0)
        inner = (np.where(held, n, 0) * (gap**2 - chance)).sum(1)
        return np.asarray(inner / np.where(held, n, 0).sum(1), dtype=np.float64)

    def width(self, level: float, estimate: float) -> float:
        """Of the debiased error, between quantiles that are centered on its square."""
        found = self.squares(self.drawn)
        found = found[np.isfinite(found)]
        ends = np.quantile(found + estimate**2 - found.mean(), [0.5 - level / 2, 0.5 + level / 2])
        low, high = np.sqrt(np.maximum(ends, 0))
        return float(high - low)


# --- flexible curves --------------------------------------------------------------------------


def loess(y: Floats, p: Floats, w: Floats, at: Floats, span: float, kernel: str) -> Floats:
    """Local parabolas through the nearest share of the rows, kept within [0, 1]."""
    fitted = []
    for place in at:
        distance = np.abs(p - place)
        reach = np.sort(distance)[int(np.floor(span * len(p) + 1e-9)) - 1]
        u = np.minimum(distance / reach, 1)
        k = w * ((1 - u**3) ** 3 if kernel == "tricube" else 1 - u**2)
        X = np.vander(p - place, 3, increasing=True) * np.sqrt(k)[:, None]
        fitted.append(np.linalg.lstsq(X, y * np.sqrt(k), rcond=None)[0][0])
    return np.asarray(np.clip(np.array(fitted), 0, 1))


HARRELL = {
    3: [0.1, 0.5, 0.9],
    4: [0.05, 0.35, 0.65, 0.95],
    5: [0.05, 0.275, 0.5, 0.725, 0.95],
}


def spline_basis(z: Floats, knots: Floats) -> Floats:
    """Harrell's restricted cubic spline: intercept, line, and cubes that end as lines."""
    t, last, before = knots, knots[-1], knots[-2]
    scale = (last - t[0]) ** 2

    def cube(x: Floats) -> Floats:
        return np.maximum(x, 0) ** 3

    columns = [np.ones(len(z)), z]
    columns += [
        (
            cube(z - k)
            - cube(z - before) * (last - k) / (last - before)
            + cube(z - last) * (before - k) / (last - before)
        )
        / scale
        for k in t[:-2]
    ]
    return np.column_stack(columns)


def spline_curve(y: Floats, p: Floats, w: Floats, n_knots: int = 5) -> Floats:
    z = special.logit(p)
    X = spline_basis(z, np.quantile(z, HARRELL[n_knots]))
    return np.asarray(special.expit(X @ logistic(X, y, w)[0]), dtype=np.float64)


def curve_errors(p: Floats, fitted: Floats, y: Floats) -> dict[str, float]:
    distance = np.abs(p - fitted)
    return {
        "ici": float(distance.mean()),
        "e50": float(np.median(distance)),
        "e90": float(np.quantile(distance, 0.9)),
        "emax": float(distance.max()),
        "eci": float(np.mean(distance**2) / np.mean((p - y.mean()) ** 2)),
    }


def calibration_band(y: Floats, p: Floats, level: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's bounds of all runs of distinct values, Bonferroni, at each value."""
    score, place = np.unique(p, return_inverse=True)
    n = np.concatenate([[0], np.cumsum(np.bincount(place))])
    s = np.concatenate([[0], np.cumsum(np.bincount(place, y))])
    m = len(score)
    alpha = (1 - level) / (m * (m + 1))
    lower, upper = np.zeros(m), np.ones(m)
    for i in range(m):
        for j in range(i, m):
            rows, hits = n[j + 1] - n[i], s[j + 1] - s[i]
            low = stats.beta.ppf(alpha, hits, rows - hits + 1) if hits else 0.0
            high = stats.beta.isf(alpha, hits + 1, rows - hits) if hits < rows else 1.0
            lower[j:] = np.maximum(lower[j:], low)
            upper[: i + 1] = np.minimum(upper[: i + 1], high)
    fit = isotonic(y, p, np.ones(len(y)))[np.unique(p, return_index=True)[1]]
    return np.minimum(lower, fit), np.maximum(upper, fit)  # the band holds the isotonic fit


# --- decisions --------------------------------------------------------------------------------


def benefit_rows(y: Floats, p: Floats, t: float) -> Floats:
    """What each row adds to the net benefit of acting where p ≥ t."""
    return (p >= t) * np.where(y == 1, 1.0, -t / (1 - t))


def benefit(y: Floats, p: Floats, t: float, level: float) -> dict[str, float]:
    """Net benefit and avoided interventions, with normal intervals paired by row."""
    rows = benefit_rows(y, p, t)
    z = stats.norm.ppf(0.5 + level / 2) / np.sqrt(len(y))
    avoided = (rows - benefit_rows(y, np.ones(len(y)), t)) * (1 - t) / t if t else rows * np.nan
    return {
        "net_benefit": float(rows.mean()),
        "low": float(rows.mean() - z * rows.std()),
        "high": float(rows.mean() + z * rows.std()),
        "avoided": float(avoided.mean()),
        "avoided_low": float(avoided.mean() - z * avoided.std()),
        "avoided_high": float(avoided.mean() + z * avoided.std()),
    }


def standardized_benefit(y: Floats, p: Floats, t: float, level: float) -> dict[str, float]:
    """Net benefit over the frequency of events; the delta method for their ratio."""
    rows, f = benefit_rows(y, p, t), y.mean()
    ratio = float(rows.mean() / f)
    z = stats.norm.ppf(0.5 + level / 2) * np.std((rows - ratio * y) / f) / np.sqrt(len(y))
    return {"net_benefit": ratio, "low": ratio - z, "high": ratio + z}


def sample_sizes(
    p: Floats, prevalence: float, c: float, level: float, threshold: float, sens: float, spec: float
) -> dict[str, float]:
    """Riley et al. (2021): rows before rounding up, for widths 0.2, 0.2, 0.1 and 0.2."""
    z, f = stats.norm.ppf(0.5 + level / 2), prevalence
    lp, v = special.logit(p), p * (1 - p)
    a, b, ab = v.mean(), (v * lp**2).mean(), (v * lp).mean()

    def c_error(n: float) -> float:
        inner = 1 + (n / 2 - 1) * (1 - c) / (2 - c) + (n / 2 - 1) * c / (1 + c)
        return float(np.sqrt(c * (1 - c) * inner / (n**2 * f * (1 - f))))

    odds = (1 - f) / f * threshold / (1 - threshold)
    one_row = (
        sens * (1 - sens) / f
        + odds**2 * spec * (1 - spec) / (1 - f)
        + odds**2 * (1 - spec) ** 2 / (f * (1 - f))
    )
    return {
        "observed_expected": (1 - f) / f * (z / np.arcsinh(0.1)) ** 2,
        "slope": a / ((0.1 / z) ** 2 * (a * b - ab**2)),
        "c_statistic": float(optimize.brentq(lambda n: c_error(n) - 0.05 / z, 4, 1e9)),
        "net_benefit": one_row * (z / 0.1) ** 2,
    }


# --- maps -------------------------------------------------------------------------------------


def temperature(y: Floats, p: Floats, w: Floats) -> float:
    """1/T of temperature scaling: the factor of the log-odds with the lowest log-loss."""
    z = special.logit(p)
    beta = logistic(z[:, None], y, w)[0]
    return float(beta[0])


def beta_map(y: Floats, p: Floats, w: Floats) -> Floats:
    """a, b, c of σ(a·ln p − b·ln(1 − p) + c) with the lowest log-loss."""
    X = np.column_stack([np.log(p), -np.log1p(-p), np.ones(len(p))])
    return np.asarray(logistic(X, y, w)[0], dtype=np.float64)


# Segments and groups ------------------------------------------------------------------------


def segment_level(values: list[Any], own: Any, most: int = 3) -> list[str]:
    """Each row's value as text: numbers in bands of equal mass, texts by frequency.

    ``own`` are the rows that count.
    """
    missing = [v is None or v != v for v in values]
    kept = [v for v, gone, counts in zip(values, missing, own, strict=True) if counts and not gone]
    if isinstance(values[0], float) and len(set(kept)) > most:
        cuts = {np.quantile(kept, k / most, method="higher") for k in range(1, most)} - {min(kept)}
        return ["?" if v != v else str(sum(v >= cut for cut in cuts)) for v in values]
    names = sorted(set(kept), key=lambda v: (-kept.count(v), str(v)))
    top = names if len(names) <= most else names[: most - 1]
    return [
        "?" if gone else str(v) if v in top else "rest"
        for v, gone in zip(values, missing, strict=True)
    ]


def segments(
    columns: dict[str, Any], depth: int = 3, min_rows: int = 10, own: Any = None
) -> dict[Any, Any]:
    """Masks of all segments by what they are; ``own`` are the rows that count."""
    n = len(next(iter(columns.values())))
    own = np.ones(n, dtype=bool) if own is None else own
    levels = {name: np.array(segment_level(list(v), own)) for name, v in columns.items()}
    found = {}
    for size in range(depth + 1):
        for names in itertools.combinations(levels, size):
            for values in itertools.product(*(sorted(set(levels[name])) for name in names)):
                mask = own.copy()
                for name, value in zip(names, values, strict=True):
                    mask &= levels[name] == value
                if mask.sum() >= (min_rows if size else 1):
                    found[tuple(zip(names, values, strict=True))] = mask
    return found


def cumulative_range(y: Any, p: Any, w: Any) -> tuple[float, float, tuple[float, float]]:
    """Range of the sums of w(y − p) over p ≤ s, its deviation, and the interval where it is."""
    scores = np.unique(p)
    sums = np.array([0.0, *(np.sum((w * (y - p))[p <= s]) for s in scores)])
    first, last = sorted((int(sums.argmin()), int(sums.argmax())))
    between = scores[min(first, len(scores) - 1)], scores[max(last - 1, 0)]
    return np.ptp(sums), np.sqrt(np.sum(w**2 * p * (1 - p))), between


def multicalibration(
    y: Any, p: Any, columns: dict[str, Any], w: Any = None
) -> tuple[float, float, dict[Any, Any]]:
    """Deviations of the worst segment, the scale of all rows, and each segment's figures."""
    w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
    found = {}
    for name, mask in segments(columns, own=w > 0).items():
        size, spread, between = cumulative_range(y[mask], p[mask], w[mask])
        found[name] = {
            "rows": int(mask.sum()),
            "predicted": np.average(p[mask], weights=w[mask]),
            "observed": np.average(y[mask], weights=w[mask]),
            "error": size / w[mask].sum(),
            "deviations": size / spread,
            "between": list(between),
        }
    scale = np.sqrt(np.sum(w**2 * p * (1 - p))) / w.sum()
    return max(one["deviations"] for one in found.values()), scale, found


def group_gaps(y: Any, p: Any, group: Any, level: float, n_joint: int) -> dict[Any, Any]:
    """Value → gap and its Clopper–Pearson interval, corrected for the number of groups."""
    tail = (1 - level) / n_joint / 2
    found = {}
    for value in sorted(set(group)):
        own = group == value
        n, k, mean = own.sum(), y[own].sum(), p[own].mean()
        low = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
        high = stats.beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
        found[value] = {
            "rows": int(n),
            "predicted": mean,
            "observed": k / n,
            "low": low,
            "high": high,
            "gap_low": mean - high,
            "gap_high": mean - low,
            "gap": mean - k / n,
            "gap_at_least": max(0.0, mean - high, low - mean),
            "ratio": k / n / mean,
            "ratio_low": low / mean,
            "ratio_high": high / mean,
        }
    return found
