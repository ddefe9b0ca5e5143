"""The theorems of docs/online.md, against labels that react to the forecast."""

import math

import numpy as np
import pytest

from trueodds import OnlineCalibrator

ROWS = 1500


def hostile(name, p, score, t, rng):
    """A label that knows the forecast, the score, the row and the past."""
    return {
        "opposite of the forecast": p < 0.5,
        "opposite of the score": score < 0.5,
        "always 1": True,
        "alternating": t % 2 == 0,
        "long runs": (t // 200) % 2 == 0,
        "runs of growing length": int(math.log2(t + 1)) % 2 == 0,
        "the forecast's complement at random": rng.random() < 1 - p,
        "against the side of the residuals": rng.random() < (0.9 if p < 0.3 else 0.1),
    }[name]


NAMES = [
    "opposite of the forecast", "opposite of the score", "always 1", "alternating", "long runs",
    "runs of growing length", "the forecast's complement at random",
    "against the side of the residuals",
]  # fmt: skip


def check_bounds(online):
    """Regret against every expert, and residuals at every place, within their bounds."""
    prior = [0.2] + [0.0] + [0.5 / 12] * 12 + [0.1] * 3
    arrays = online._streams[0].arrays
    loss, generations = arrays["clock"][1], arrays["clock"][6]
    second = math.log(4 / 3) + math.log(1 + generations / 300)
    assert loss <= arrays["clock"][2] + second + 1e-6
    for k, mass in enumerate(prior):
        if mass:
            assert loss <= arrays["loss"][k] + second + math.log(3 / mass) + 1e-6
    assert online.regret_ <= online.bound_ + 1e-6
    sizes = np.array([0.9, 0.3, 0.1, 0.03, 0.01, 0.001, 0.0001])
    kappa = (-np.log(1 - sizes) - sizes) / sizes**2
    budget = math.log(2520) + math.log(1 + generations / 300)
    for residual, squares in zip(arrays["residual"], arrays["squares"], strict=True):
        assert abs(residual) <= np.min(budget / sizes + kappa * sizes * squares) + 1e-6
    for place in online.calibration_:
        assert abs(place.residual) <= place.bound + 1e-6
    return online


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_for_hostile_labels(name, spread):
    rng = np.random.default_rng(0)
    online = OnlineCalibrator()
    losses, residual = 0.0, 0.0
    online.update(0.5, 1)
    losses += math.log(2)
    residual += 0.5
    for t in range(ROWS):
        score = 1 / (1 + math.exp(-spread * rng.normal()))
        p = float(online.predict_proba(score)[0, 1])
        y = int(hostile(name, p, score, t, rng))
        online.update(score, y)
        losses -= math.log(p if y else 1 - p)
        residual += y - p
    check_bounds(online)
    assert online._streams[0].clock("loss") == pytest.approx(losses, abs=1e-6)
    assert online.calibration_[-1].residual == pytest.approx(residual, abs=1e-6)


def score_and_label(name, rng, n, p_of, t):
    score = 1 / (1 + np.exp(-2 * rng.normal(size=n)))
    p = p_of(score)
    return score, p, [int(hostile(name, p[i], score[i], t + i, rng)) for i in range(n)]


@pytest.mark.parametrize("name", NAMES)
def test_blocks_of_late_labels_keep_the_bounds(name):
    """Blocks of any size, answered in any order: the means of each block count once."""
    rng = np.random.default_rng(1)
    online = OnlineCalibrator()
    losses = of_scores = residual = 0.0
    begin = blocks = 0
    while begin < ROWS:
        n = int(rng.choice([1, 5, 40, 100]))
        ids = np.arange(begin, begin + n)
        score, p, y = score_and_label(
            name, rng, n, lambda s, ids=ids: online.ask(s, ids=ids)[:, 1], begin
        )
        order = rng.permutation(n)
        assert online.answer(ids[order], np.array(y)[order]) == n
        losses -= np.log(np.where(y, p, 1 - p)).mean()
        of_scores -= np.log(np.where(y, score, 1 - score)).mean()
        residual += (np.array(y) - p).mean()
        begin, blocks = begin + n, blocks + 1
    check_bounds(online)
    arrays = online._streams[0].arrays
    assert arrays["clock"][6] == blocks
    assert arrays["clock"][1] == pytest.approx(losses, abs=1e-6)
    assert arrays["loss"][0] == pytest.approx(of_scores, abs=1e-4)
    assert online.calibration_[-1].residual == pytest.approx(residual, abs=1e-6)
    assert losses <= of_scores + math.log(4 / 3) + math.log(1 + blocks / 300) + math.log(15)


@pytest.mark.parametrize("delay", [3, 60])
@pytest.mark.parametrize("name", NAMES)
def test_labels_that_always_come_late_keep_the_bounds(name, delay):
    """Each label comes ``delay`` rows later, some never: generations that end half-answered."""
    rng = np.random.default_rng(2)
    online = OnlineCalibrator()
    labels = []
    for t in range(ROWS):
        _, _, y = score_and_label(name, rng, 1, lambda s, t=t: online.ask(s, ids=t)[:, 1], t)
        labels += y
        if t >= delay and t % 10:
            online.answer(t - delay, labels[t - delay])
    check_bounds(online)
    generations = online._streams[0].generations
    assert ROWS / (2.5 * delay) < generations < ROWS / delay
    assert online.n_rows == sum(t % 10 > 0 for t in range(delay, ROWS))
    assert online.n_pending == min(ROWS - online.n_rows, 1000)


@pytest.mark.parametrize("switches", [1, 5])
def test_the_loss_is_near_that_of_the_best_sequence_of_experts(switches):
    """L(p) ≤ L(k₁ … k_m) + bound + m·ln(1/α) + … for experts that change at known rows."""
    rng = np.random.default_rng(2)
    n = 6000
    score = rng.uniform(0.05, 0.95, n)
    part = np.arange(n) * (switches + 1) // n
    truth = np.where(part % 2 == 0, score, 1 - score)
    y = (rng.random(n) < truth).astype(int)
    online = OnlineCalibrator()
    p = online.replay(score, y)[:, 1]
    loss = -np.log(np.where(y == 1, p, 1 - p)).sum()
    # The scores in even parts; in odd ones the line with a memory of about 250 rows.
    other, losses = OnlineCalibrator(), np.zeros((n, 17))
    before = np.zeros(17)
    for t in range(n):
        other.update(float(score[t]), int(y[t]))
        after = other._streams[0].arrays["loss"].copy()
        losses[t], before = after - before, after
    line = 2 + 6 + 3
    best = losses[np.arange(n), np.where(part % 2 == 0, 0, line)].sum()
    bounds = []
    for alpha in (0.001, 0.02):
        paths = math.log(3) - math.log(0.2) - switches * math.log(alpha / 24)
        paths -= (n - 1 - switches) * math.log(1 - alpha)
        bounds.append(math.log(4 / 3) + math.log(1 + n / 300) + paths)
    assert loss <= best + min(bounds)


def test_weights_up_to_1_keep_the_bounds_and_larger_ones_have_none():
    rng = np.random.default_rng(3)
    online = OnlineCalibrator()
    for _ in range(800):
        score = float(rng.random())
        y = int(online.predict_proba(score)[0, 1] < 0.5)
        online.update([score], [y], [rng.uniform(0.01, 1.0)])
    check_bounds(online)
    online.update(0.5, 1, counts=2)
    assert online.bound_ == math.inf


def test_large_counts_are_learned():
    online = OnlineCalibrator().update([0.5, 0.5, 0.2], [1, 0, 1], counts=[1e9, 1.0, 1e12])
    p = online.predict_proba([0.2, 0.5])
    assert np.isfinite(p).all()
    assert OnlineCalibrator.from_dict(online.to_dict()).to_dict() == online.to_dict()


def test_the_bound_on_residuals_tends_to_0():
    """After 10⁸ generations the smallest bets shrink: 2·√T·(Λ + κ·(1 + ln(T/10⁸)))."""
    online = OnlineCalibrator().update(0.5, 1)
    stream = online._streams[0]
    found = []
    for generations in (1e9, 1e11, 1e13, 1e15):
        stream.arrays["clock"][6] = stream.arrays["squares"][17] = generations
        budget = math.log(2520) + math.log(1 + generations / 300)
        sizes = np.array([0.9, 0.3, 0.1, 0.03, 0.01, 0.001])
        kappa = (-np.log(1 - sizes) - sizes) / sizes**2
        shrunk = (-math.log(1 - 1e-4) - 1e-4) / 1e-8 * (1 + math.log(generations / 1e8))
        expected = min(
            (budget / sizes + kappa * sizes * generations).min(),
            2 * math.sqrt(generations) * (budget + shrunk),
        )
        assert online.calibration_[-1].bound == pytest.approx(expected)
        found.append(expected / generations)
    assert found == sorted(found, reverse=True)
    assert found[-1] < 5e-6


def test_small_bets_keep_the_mean_residual_below_that_of_the_larger_ones():
    """At 10⁵ rows the bound on the mean residual is below the smallest bet of 0.03."""
    rng = np.random.default_rng(4)
    score = rng.uniform(0.1, 0.9, 100_000)
    online = OnlineCalibrator().update(score, (rng.random(100_000) < score).astype(int))
    whole = online.calibration_[-1]
    assert whole.bound / whole.weight < 0.008
    assert abs(whole.residual) < whole.bound
