"""Diagnosis and comparison against slow twins: every start, bet and row by itself."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit, logsumexp

from support import naive_monitor as naive
from trueodds import CalibrationMonitor
from trueodds.exceptions import StateFormatError
from trueodds.monitoring import ForecastComparison
from trueodds.monitoring._bets import History, kept_for_later

LEVELS = np.array([0.02, 0.15, 0.3, 0.6, 0.85])
"""One forecast in each of five score ranges, so that counts lose nothing of the rows."""


def changed(n, start, shift, seed=0, slope=1.0):
    """Forecasts and labels; from ``start`` on the true log-odds are ``shift + slope·z``."""
    rng = np.random.default_rng(seed)
    p = LEVELS[rng.integers(0, len(LEVELS), n)]
    z = np.where(np.arange(n) < start, logit(p), shift + slope * logit(p))
    return p, (rng.random(n) < expit(z)).astype(int)


def left(rows):
    """The share of the stake that is kept for starts after this many rows."""
    return 1.0 if rows == 0 else 0.5 / (1 + math.log(1 + (rows - 1) / 100))


def posterior_of_starts(p, y, starts, alarm_row, tolerance):
    """Which of the starts begins the miscalibration: prior times the e-value of all rows since."""
    center = np.mean(logit(p))
    up, down = np.minimum(p + tolerance, 1), np.maximum(p - tolerance, 0)

    def gain(tilt):  # of each row, in nats
        edge = np.where(tilt > 0, up, down)
        return tilt * y - np.log(1 - edge + edge * np.exp(tilt))

    bets = []  # share of the stake, and gains of all rows
    for sign in (1, -1):
        for shift in naive.SHIFTS:
            rows = gain(np.full(len(p), sign * shift))
            bets.append((0.95 / 4 / 8, rows))
            inside = np.searchsorted(naive.EDGES, p, side="right")
            bets += [(0.05 / 28 / 8, np.where(inside == part, rows, 0)) for part in range(14)]
        for factor in naive.FACTORS:
            tilt = (factor**sign - 1) * (logit(p) - center)
            bets.append((0.95 / 4 / 8, gain(np.clip(tilt, -4, 4))))
    ends = [*starts[1:], alarm_row]
    logs = [
        math.log(left(start) - left(end))
        + logsumexp([math.log(share) + rows[start:].sum() for share, rows in bets])
        for start, end in zip(starts, ends, strict=True)
    ]
    return np.exp(np.array(logs) - logsumexp(logs))


@pytest.mark.parametrize(
    ("start", "shift", "slope", "tolerance", "alpha"),
    [
        (1000, 0.7, 1.0, 0.0, 0.05),
        (1500, -0.9, 1.0, 0.02, 0.05),
        (1200, 0.0, 0.4, 0.0, 0.01),
        (0, 0.5, 1.0, 0.0, 0.05),
    ],
)
def test_the_change_point_is_the_most_probable_start(start, shift, slope, tolerance, alpha):
    n = 2900  # 46 stretches of 64 rows, of which none is merged yet
    p, y = changed(n, start, shift, seed=start, slope=slope)
    times = np.arange(n) * 10
    monitor = CalibrationMonitor(alpha=alpha, tolerance=tolerance).update(p, y, time=times)
    starts = [row for row in range(0, n, 64) if row < monitor.alarm_row]
    posterior = posterior_of_starts(p, y, starts, monitor.alarm_row, tolerance)
    best, below = int(np.argmax(posterior)), np.cumsum(posterior)
    low = next(k for k in range(len(starts)) if below[k] >= 0.025 or k == best)
    high = next(k for k in range(best, len(starts)) if below[k] >= 0.975)
    # A change within a stretch looks like one at either of its ends.
    ends = [*starts[1:], monitor.alarm_row]
    found = monitor.change_point
    assert (found.row, found.time) == (starts[best] + 1, 10 * starts[best])
    assert (found.low, found.high) == (starts[max(low - 1, 0)] + 1, ends[high])
    assert found.time_low == 10 * starts[max(low - 1, 0)]
    # The history knows the time of the row after the stretch, not that of its last one.
    assert found.time_high == 10 * (ends[high] - (high == len(starts) - 1))
    assert found.from_start == (low == 0)
    assert found.low <= start + 1 <= found.high


def test_a_great_change_long_ago_is_dated_still():
    p, y = changed(24_000, 14_000, 2.0)
    change = CalibrationMonitor().update(p, y).change_point
    assert change.low <= 14_001 <= change.high
    assert change.high - change.low < 2000


@pytest.mark.parametrize(("weight", "share"), [(40, 0.05), (500, 0.4), (6000, 0.9)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_ends_of_observed_over_expected_have_evidence_of_one_over_alpha(weight, share, alpha):
    """One row for each, so O:E is exact; at its ends the mixture of 28 bets is just refuted."""
    y = np.arange(weight) < share * weight
    off = CalibrationMonitor(alpha=alpha).update(np.full(weight, 0.25), y).miscalibration(1)
    powers = 2.0 ** np.arange(-12, 2)
    bets = np.concatenate([powers, -powers])

    def evidence(mean):  # in nats, beyond what refutes the mean
        logs = bets * y.sum() - weight * np.log1p(mean * np.expm1(bets))
        # Half of alpha is for intervals from the first row on, a third of that for each of three.
        return logsumexp(logs) - math.log(28) + math.log(alpha / 2 / 3)

    middle = y.mean()
    low = brentq(evidence, 1e-12, middle, xtol=1e-15) if evidence(1e-12) > 0 else 0.0
    high = brentq(evidence, middle, 1 - 1e-12, xtol=1e-15) if evidence(1 - 1e-12) > 0 else 1.0
    assert off.ratio == pytest.approx(y.mean() / 0.25)
    assert (off.ratio_low, off.ratio_high) == pytest.approx((low / 0.25, high / 0.25), rel=1e-9)


def test_what_is_kept_for_later_starts_is_what_the_kernel_keeps():
    rows = np.array([0, 1, 2, 3, 10, 101, 5000])
    np.testing.assert_allclose(kept_for_later(rows), [left(int(row)) for row in rows])
    state = CalibrationMonitor().update([0.3, 0.6, 0.2], [0, 1, 0]).to_dict()
    # Bets on all rows have had three; what is left is for starts after them.
    np.testing.assert_allclose(state["stream"]["open_share"][:4], left(3))


def test_stretches_are_merged_where_they_are_shortest_for_their_age():
    history, rows = History(), 0
    starts = []
    for _ in range(400):
        history.open(rows, rows)
        starts.append(rows)
        if len(starts) > 48:
            ends = [*starts[1:-1], rows]
            # Of two neighbors: their length together, relative to the age of the first.
            ratios = [
                (ends[k + 1] - starts[k]) / (rows - starts[k]) for k in range(len(starts) - 2)
            ]
            del starts[int(np.argmin(ratios)) + 1]
        assert history.starts == history.moments == starts
        room = history.room(rows)
        assert room == max(64, rows // 512)
        history.cells[-1][3] += [room, 0.1 * room, 0, 0.01 * room]
        assert history.room(rows + room) == 0
        assert history.room(rows + room - 1) == 1
        rows += room
    kept = history.stack()[:, 3, 0]
    assert kept.tolist() == np.diff([*starts, rows]).tolist()


def compare(old, new, y):
    """Wealth of both bets after each row, and the mean difference of the squared errors."""
    capital = np.ones((2, 14))
    wealth = []
    for p, q, label in zip(old, new, y, strict=True):
        gain = (p - label) ** 2 - (q - label) ** 2
        worst = max(abs((p - k) ** 2 - (q - k) ** 2) for k in (0, 1))
        for k, power in enumerate(range(-5, 9)):
            bet = min(2.0**power, 0.75 / worst) if worst else 2.0**power
            capital[0, k] *= 1 + bet * gain
            capital[1, k] *= 1 - bet * gain
        wealth.append(capital.mean(axis=1))
    return np.array(wealth), np.mean((old - y) ** 2 - (new - y) ** 2)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_comparison_is_the_mean_wealth_of_fourteen_bets(swapped):
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.98, 700)
    q = expit(0.8 * logit(p) + rng.normal(0, 0.8, 700))
    q[::50] = p[::50]  # rows that no forecast wins
    y = (rng.random(700) < p).astype(int)
    old, new = (p, q) if swapped else (q, p)
    wealth, mean = compare(old, new, y)
    duel = ForecastComparison(alpha=0.05)
    for row in range(60):
        duel.update(old[row], new[row], y[row])
        assert (duel.e_value_new, duel.e_value_old) == pytest.approx(wealth[row], rel=1e-9)
    duel.update(old[60:], new[60:], y[60:])
    assert (duel.e_value_new, duel.e_value_old) == pytest.approx(wealth[-1], rel=1e-9)
    assert duel.mean_difference == pytest.approx(mean)
    assert duel.n_rows == 700
    first = int(np.flatnonzero((wealth >= 20).any(axis=1))[0])
    assert duel.winner == ("new", "old")[int(np.argmax(wealth[first]))]
    # It has no winner before the first row at which one reaches 1/alpha.
    assert ForecastComparison().update(old[:first], new[:first], y[:first]).winner is None
    done = ForecastComparison().update(old[: first + 1], new[: first + 1], y[: first + 1])
    assert done.winner == duel.winner


def test_a_comparison_without_rows_says_nothing_and_keeps_its_state():
    empty = ForecastComparison()
    assert (empty.winner, empty.mean_difference, empty.n_rows) == (None, 0.0, 0)
    assert (empty.e_value_new, empty.e_value_old) == pytest.approx((1.0, 1.0))
    duel = ForecastComparison(alpha=0.2).update([0.2, 0.9], [0.3, 0.8], [0, 1])
    again = ForecastComparison.from_dict(duel.to_dict())
    assert again.to_dict() == duel.to_dict()
    assert again.alpha == 0.2
    for winner in ("new", "old", None):
        content = duel.to_dict() | {"winner": winner}
        assert ForecastComparison.from_dict(content).winner == winner
    with pytest.raises(StateFormatError, match="winner"):
        ForecastComparison.from_dict(duel.to_dict() | {"winner": "both"})


@pytest.fixture
def state():
    p, y = changed(200, 0, 0.5)
    return CalibrationMonitor().update(p, y).to_dict()


def test_a_history_begins_with_0_and_increases_to_a_row_that_exists(state):
    stretches = state["stream"]["history"]
    assert stretches["starts"] == [0, 64, 128, 192]
    assert CalibrationMonitor.from_dict(state).to_dict() == state
    for wrong in ([0, 64, 128, 200], [0, 64, 64, 192], [64, 0, 128, 192], [1, 64, 128, 192]):
        stretches["starts"] = wrong
        with pytest.raises(StateFormatError, match=r"history\.starts must"):
            CalibrationMonitor.from_dict(state)
    stretches["starts"] = [0, 64, 128, 199]
    assert CalibrationMonitor.from_dict(state).n_rows == 200
    for key in ("starts", "moments", "cells"):
        stretches[key] = []
    with pytest.raises(StateFormatError, match=r"history\.starts must begin with 0"):
        CalibrationMonitor.from_dict(state)


def test_a_history_has_a_time_for_each_start_and_no_more_positives_than_rows(state):
    stretches = state["stream"]["history"]
    stretches["moments"] = stretches["moments"][:-1]
    with pytest.raises(StateFormatError, match="one time for each start"):
        CalibrationMonitor.from_dict(state)
    stretches["moments"] = [None, 1, 2, "2026-01-01"]
    CalibrationMonitor.from_dict(state)
    weight = stretches["cells"][1][5][0]
    for place in (1, 2, 3):
        before = stretches["cells"][1][5][place]
        stretches["cells"][1][5][place] = weight + 0.001
        with pytest.raises(StateFormatError, match="more positives than rows"):
            CalibrationMonitor.from_dict(state)
        stretches["cells"][1][5][place] = before
    stretches["moments"] = [None, 1, 2, [3]]
    with pytest.raises(StateFormatError, match="one time for each start"):
        CalibrationMonitor.from_dict(state)
