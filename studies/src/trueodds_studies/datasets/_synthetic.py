"""Generators of the papers' synthetic experiments, with the true probability of every label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, logit

from trueodds.exceptions import InputError
from trueodds.inputs import Floats

__all__ = [
    "LabeledRows",
    "ScoredLabels",
    "make_beta_mixture",
    "make_beta_scores",
    "make_compressed_scores",
    "make_disc_and_ring",
    "make_led24",
    "make_regions",
    "make_repeated_evidence",
    "make_sea",
]

Ints = npt.NDArray[np.int64]


class ScoredLabels(NamedTuple):
    """Scores in [0, 1], labels, and the probability that each label was drawn with.

    Attributes
    ----------
    scores : ndarray of shape (n,)
    y : ndarray of int, shape (n,)
    probability : ndarray of shape (n,)
        Probability of a positive, given the score: the result of a perfect calibration map.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_beta_scores
    >>> rows = make_beta_scores(5)
    >>> rows.scores.shape, rows.y.shape, rows.probability.shape
    ((5,), (5,), (5,))
    """

    scores: Floats
    y: Ints
    probability: Floats


class LabeledRows(NamedTuple):
    """Features, labels, and the probability that each label was drawn with.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of int, shape (n,)
    probability : ndarray of shape (n,) or (n, n_classes)
        Probability of a positive, or of each class, given the features.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_regions
    >>> rows = make_regions(5)
    >>> rows.X.shape, rows.y.shape, rows.probability.shape
    ((5, 2), (5,), (5,))
    """

    X: Floats
    y: Ints
    probability: Floats


def _begin(n: Any, random_state: Any) -> np.random.Generator:
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n must be a whole number of at least 1; got {n!r}.")
    return np.random.default_rng(random_state)


def _draw(rng: np.random.Generator, probability: Floats) -> Ints:
    return (rng.random(len(probability)) < probability).astype(np.int64)


def make_repeated_evidence(
    n: int = 1000, *, copies: int = 3, random_state: Any = 0
) -> ScoredLabels:
    """A calibrated attribute that naive Bayes counts several times over.

    x is uniform on (0, 1) and calibrated; the score is xᵏ/(xᵏ + (1 − x)ᵏ). The perfect map is beta
    calibration with a = b = 1/k and c = 0.

    Parameters
    ----------
    n : int, default=1000
    copies : int, default=3
        k.
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Kull, Silva Filho and Flach (2017), section 3.2.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_repeated_evidence
    >>> sample = make_repeated_evidence(5, copies=1)
    >>> bool((sample.scores == sample.probability).all())
    True
    """
    rng = _begin(n, random_state)
    x = rng.random(n)
    scores = x if copies == 1 else expit(copies * logit(x))
    return ScoredLabels(np.asarray(scores), _draw(rng, x), x)


def make_beta_scores(
    n: int = 1000,
    *,
    negative: tuple[float, float] = (1.0, 3.0),
    positive: tuple[float, float] = (3.0, 1.0),
    prevalence: float = 0.5,
    random_state: Any = 0,
) -> ScoredLabels:
    """Scores that have a beta distribution in each class: the assumption of beta calibration.

    Parameters
    ----------
    n : int, default=1000
    negative, positive : (alpha, beta), default=(1, 3) and (3, 1)
    prevalence : float, default=0.5
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Kull, Silva Filho and Flach (2017), section 3.1.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_beta_scores
    >>> rows = make_beta_scores(6)
    >>> rows.scores.shape
    (6,)
    """
    from scipy.stats import beta  # slow to import

    rng = _begin(n, random_state)
    y = (rng.random(n) < prevalence).astype(np.int64)
    scores = np.where(y == 1, rng.beta(*positive, n), rng.beta(*negative, n))
    odds = prevalence / (1 - prevalence)
    log_ratio = beta.logpdf(scores, *positive) - beta.logpdf(scores, *negative)
    return ScoredLabels(scores, y, np.asarray(expit(log_ratio + np.log(odds))))


def make_beta_mixture(
    n: int = 1000, *, balanced: bool = True, random_state: Any = 0
) -> ScoredLabels:
    """Scores whose perfect map no parametric method can represent.

    Negatives are Beta(1, 3), positives half Beta(1.5, 3) and half Beta(30, 3).

    Parameters
    ----------
    n : int, default=1000
    balanced : bool, default=True
        Exactly half of the rows are positive, which is our reading of the paper. False draws every
        label with probability 0.5, as intervals assume.
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Allikivi and Kull (2019), Non-parametric Bayesian isotonic calibration, section 5.1.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_beta_mixture
    >>> rows = make_beta_mixture(6)
    >>> int(rows.y.sum())
    3
    """
    from scipy.stats import beta  # slow to import

    rng = _begin(n, random_state)
    y = (np.arange(n) < n // 2) if balanced else (rng.random(n) < 0.5)
    upper = rng.random(n) < 0.5
    of_positive = np.where(upper, rng.beta(30, 3, n), rng.beta(1.5, 3, n))
    scores = np.where(y, of_positive, rng.beta(1, 3, n))
    density = (beta.pdf(scores, 1.5, 3) + beta.pdf(scores, 30, 3)) / 2
    probability = density / (density + beta.pdf(scores, 1, 3))
    return ScoredLabels(scores, y.astype(np.int64), probability)


def make_compressed_scores(
    n: int = 1000, *, temperature: float = 5.0, random_state: Any = 0
) -> ScoredLabels:
    """Uniform scores that are calibrated below 0.5 and overconfident above.

    With z the log-odds of the score, the true log-odds are z up to 0 and z/T above.

    Parameters
    ----------
    n : int, default=1000
    temperature : float, default=5
        T.
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Charcoal Grill Scaling, section 3, equation 5.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_compressed_scores
    >>> rows = make_compressed_scores(6)
    >>> rows.scores.shape
    (6,)
    """
    if not temperature > 0:
        raise InputError(f"temperature must be positive; got {temperature!r}.")
    rng = _begin(n, random_state)
    scores = rng.uniform(size=n)
    z = logit(scores)
    probability = np.asarray(expit(np.where(z > 0, z / temperature, z)))
    return ScoredLabels(scores, _draw(rng, probability), probability)


def make_disc_and_ring(n: int = 1000, *, random_state: Any = 0) -> LabeledRows:
    """Positives (36%) in a disc, negatives on a ring around it: no linear score can order them.

    The paper describes its data by a figure and prints no recipe; the share makes the accuracy of a
    linear SVM that of its Table I.

    Parameters
    ----------
    n : int, default=1000
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, section IV.B and figure 2.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_disc_and_ring
    >>> rows = make_disc_and_ring(6)
    >>> rows.X.shape
    (6, 2)
    """
    from scipy.stats import norm  # slow to import

    share, disc, radius, width = 0.36, 0.53, 2.0, 0.22
    rng = _begin(n, random_state)
    y = rng.random(n) < share
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = rng.normal(radius, width, n)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where(y[:, None], rng.normal(0, disc, (n, 2)), ring)
    r = np.hypot(X[:, 0], X[:, 1])
    # Densities in the plane; a negative radius (9 standard deviations off) is neglected.
    log_disc = -0.5 * (r / disc) ** 2 - np.log(2 * np.pi * disc**2)
    log_ring = norm.logpdf(r, radius, width) - np.log(2 * np.pi * r)
    log_odds = log_disc - log_ring + np.log(share / (1 - share))
    return LabeledRows(X, y.astype(np.int64), np.asarray(expit(log_odds)))


def make_regions(n: int = 1000, *, random_state: Any = 0) -> LabeledRows:
    """Uniform points of the unit square whose probability depends on the region they lie in.

    The paper's artificial example has such regions, in a figure only; these are ours.

    Parameters
    ----------
    n : int, default=1000
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Leathart, Frank, Holmes and Pfahringer (2017), Probability calibration trees, section 4.3.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_regions
    >>> rows = make_regions(6)
    >>> rows.X.shape
    (6, 2)
    """
    rng = _begin(n, random_state)
    X = rng.random((n, 2))
    across, up = X[:, 0], X[:, 1]
    regions = [
        (across <= 0.4) & (up > 0.5),
        (across > 0.4) & (up <= 0.3),
        (across > 0.7) & (up > 0.8),
    ]
    probability = np.select(regions, [0.9, 0.8, 0.65], 0.1)
    return LabeledRows(X, _draw(rng, probability), probability)


_DISPLAY = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"
SEGMENTS = np.array([[int(bit) for bit in digit] for digit in _DISPLAY.split()])
"""Which of the seven segments each digit lights."""


def make_led24(n: int = 5000, *, noise: float = 0.1, random_state: Any = 0) -> LabeledRows:
    """Digits on a display of seven segments that fail, and seventeen lamps that mean nothing.

    Parameters
    ----------
    n : int, default=5000
    noise : float, default=0.1
        Probability that a segment shows the opposite.
    random_state : int, sequence of int or numpy Generator, default=0

    References
    ----------
    Breiman et al. (1984), the LED generator with 24 attributes, ``led24`` in Leathart et al.
    (2017), Table 1.

    Examples
    --------
    >>> from trueodds_studies.datasets import make_led24
    >>> rows = make_led24(6)
    >>> rows.X.shape
    (6, 24)
    """
    if not 0 < noise < 1:
        raise InputError(f"noise must lie between 0 and 1; got {noise!r}.")
    rng = _begin(n, random_state)
    y = rng.integers(0, 10, n)
    shown = SEGMENTS[y] ^ (rng.random((n, 7)) < noise)
    lamps = rng.integers(0, 2, (n, 17))
    wrong = (shown[:, None, :] != SEGMENTS[None]).sum(axis=2)
    log_likelihood = wrong * np.log(noise) + (7 - wrong) * np.log1p(-noise)
    probability = np.exp(log_softmax(log_likelihood, axis=1))
    X = np.column_stack([shown, lamps]).astype(np.float64)
    return LabeledRows(X, y.astype(np.int64), np.asarray(probability))


def make_sea(n: int = 20_000, *, noise: float = 0.1, random_state: Any = 0) -> LabeledRows:
    """The SEA stream: positive if x₀ + x₁ is at most a bound that changes three times.

    Parameters
    ----------
    n : int, default=20000
        Four equal parts with the bounds 8, 9, 7 and 9.5.
    noise : float, default=0.1
        Share of labels that are turned round.
    random_state : int, sequence of int or numpy Generator, default=0

    Notes
    -----
    ``probability`` depends on the part of the stream that a row is from, which X does not contain.

    References
    ----------
    Street and Kim (2001), A streaming ensemble algorithm; SEA(50) in Allikivi and Kull (2019).

    Examples
    --------
    >>> from trueodds_studies.datasets import make_sea
    >>> rows = make_sea(8)
    >>> rows.X.shape, rows.y.shape
    ((8, 3), (8,))
    """
    rng = _begin(n, random_state)
    X = rng.uniform(0, 10, (n, 3))
    bound = np.array([8.0, 9.0, 7.0, 9.5])[np.minimum(4 * np.arange(n) // n, 3)]
    inside = X[:, 0] + X[:, 1] <= bound
    probability = np.where(inside, 1 - noise, noise)
    return LabeledRows(X, _draw(rng, probability), probability)
